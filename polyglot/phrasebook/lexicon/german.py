"""German words: all their forms, by sense."""

from __future__ import annotations

from polyglot.phrasebook.lexicon.table import phrases, rows

# gender, nominative singular, other cases of the singular (weak nouns), plural, dative plural,
# preposition of place (with the dative), preposition of direction (and its case)
NOUNS = rows("""
teacher m Lehrer Lehrer Lehrer Lehrern - -
doctor m Arzt Arzt Ärzte Ärzten - -
student m Student Studenten Studenten Studenten - -
lawyer m Anwalt Anwalt Anwälte Anwälten - -
neighbour m Nachbar Nachbarn Nachbarn Nachbarn - -
farmer m Bauer Bauern Bauern Bauern - -
man m Mann Mann Männer Männern - -
woman f Frau Frau Frauen Frauen - -
boy m Junge Jungen Jungen Jungen - -
girl n Mädchen Mädchen Mädchen Mädchen - -
child n Kind Kind Kinder Kindern - -
mother f Mutter Mutter Mütter Müttern - -
father m Vater Vater Väter Vätern - -
brother m Bruder Bruder Brüder Brüdern - -
sister f Schwester Schwester Schwestern Schwestern - -
friend m Freund Freund Freunde Freunden - -
dog m Hund Hund Hunde Hunden - -
cat f Katze Katze Katzen Katzen - -
horse n Pferd Pferd Pferde Pferden - -
bird m Vogel Vogel Vögel Vögeln - -
bat.animal f Fledermaus Fledermaus Fledermäuse Fledermäusen - -
apple m Apfel Apfel Äpfel Äpfeln - -
pear f Birne Birne Birnen Birnen - -
avocado f Avocado Avocado Avocados Avocados - -
cake m Kuchen Kuchen Kuchen Kuchen - -
bread n Brot Brot Brote Broten - -
cheese m Käse Käse Käse Käsen - -
soup f Suppe Suppe Suppen Suppen - -
coffee m Kaffee Kaffee Kaffees Kaffees - -
tea m Tee Tee Tees Tees - -
water n Wasser Wasser Wasser Wassern - -
milk f Milch Milch - - - -
book n Buch Buch Bücher Büchern - -
newspaper f Zeitung Zeitung Zeitungen Zeitungen - -
letter.mail m Brief Brief Briefe Briefen - -
letter.alphabet m Buchstabe Buchstaben Buchstaben Buchstaben - -
word n Wort Wort Wörter Wörtern - -
piano n Klavier Klavier Klaviere Klavieren - -
guitar f Gitarre Gitarre Gitarren Gitarren - -
violin f Geige Geige Geigen Geigen - -
football m Fußball Fußball - - - -
chess n Schach Schach - - - -
tennis n Tennis Tennis - - - -
car n Auto Auto Autos Autos - -
bicycle n Fahrrad Fahrrad Fahrräder Fahrrädern - -
boat n Boot Boot Boote Booten auf -
train m Zug Zug Züge Zügen in -
bus m Bus Bus Busse Bussen in -
suitcase m Koffer Koffer Koffer Koffern in -
bag f Tasche Tasche Taschen Taschen in -
box f Kiste Kiste Kisten Kisten in -
key m Schlüssel Schlüssel Schlüssel Schlüsseln - -
ball m Ball Ball Bälle Bällen - -
bat.sport m Schläger Schläger Schläger Schlägern - -
chair m Stuhl Stuhl Stühle Stühlen auf -
table m Tisch Tisch Tische Tischen auf -
bed n Bett Bett Betten Betten in -
bench f Bank Bank Bänke Bänken auf -
candle f Kerze Kerze Kerzen Kerzen - -
match.fire n Streichholz Streichholz Streichhölzer Streichhölzern - -
match.game n Spiel Spiel Spiele Spielen - -
film m Film Film Filme Filmen - -
picture n Bild Bild Bilder Bildern - -
shirt n Hemd Hemd Hemden Hemden - -
flower f Blume Blume Blumen Blumen - -
plant.flower f Pflanze Pflanze Pflanzen Pflanzen - -
glass n Glas Glas Gläser Gläsern - -
door f Tür Tür Türen Türen - -
window n Fenster Fenster Fenster Fenstern - -
lock n Schloss Schloss Schlösser Schlössern - -
wall f Wand Wand Wände Wänden an -
colour f Farbe Farbe Farben Farben - -
song n Lied Lied Lieder Liedern - -
question f Frage Frage Fragen Fragen - -
answer f Antwort Antwort Antworten Antworten - -
hand f Hand Hand Hände Händen - -
foot m Fuß Fuß Füße Füßen - -
house n Haus Haus Häuser Häusern in -
school f Schule Schule Schulen Schulen in zu:dative
museum n Museum Museum Museen Museen in in:accusative
castle n Schloss Schloss Schlösser Schlössern in zu:dative
bank.money f Bank Bank Banken Banken in -
bank.river n Ufer Ufer Ufer Ufern an -
garden m Garten Garten Gärten Gärten in in:accusative
park m Park Park Parks Parks in in:accusative
kitchen f Küche Küche Küchen Küchen in in:accusative
station m Bahnhof Bahnhof Bahnhöfe Bahnhöfen an zu:dative
lake m See See Seen Seen in zu:dative
forest m Wald Wald Wälder Wäldern in in:accusative
plant.factory f Fabrik Fabrik Fabriken Fabriken in -
church f Kirche Kirche Kirchen Kirchen in in:accusative
hotel n Hotel Hotel Hotels Hotels in zu:dative
spruce f Fichte Fichte Fichten Fichten in -
spring.water f Quelle Quelle Quellen Quellen - -
money n Geld Geld - - - -
euro m Euro Euro Euro Euro - -
day m Tag Tag Tage Tagen - -
week f Woche Woche Wochen Wochen - -
""")

CITIES = rows("""
berlin Berlin
paris Paris
london London
madrid Madrid
prague Prag
helsinki Helsinki
vienna Wien
rome Rom
lisbon Lissabon
munich München
""")

PROFESSIONS = {
    "teacher": "Lehrerin",
    "doctor": "Ärztin",
    "student": "Studentin",
    "lawyer": "Anwältin",
}  # of a woman

# predicative form, stem of the attributive forms
ADJECTIVES = rows("""
old alt alt
new neu neu
young jung jung
small klein klein
big groß groß
beautiful schön schön
red rot rot
green grün grün
black schwarz schwarz
white weiß weiß
expensive teuer teur
heavy schwer schwer
light.weight leicht leicht
light.colour hell hell
hard.solid hart hart
hard.difficult schwer schwer
right.correct richtig richtig
right.side recht recht
cold kalt kalt
warm warm warm
interesting interessant interessant
long lang lang
famous berühmt berühmt
strong stark stark
tired müde müd
happy glücklich glücklich
sick krank krank
open offen offen
closed geschlossen geschlossen
""")

# infinitive, ich, er, past ich/er, past sie, separable prefix,
# preposition of the object (with the accusative)
VERBS = rows("""
buy kaufen kaufe kauft kaufte kauften - -
sell verkaufen verkaufe verkauft verkaufte verkauften - -
read lesen lese liest las lasen - -
write schreiben schreibe schreibt schrieb schrieben - -
eat essen esse isst aß aßen - -
drink trinken trinke trinkt trank tranken - -
find finden finde findet fand fanden - -
lose verlieren verliere verliert verlor verloren - -
see sehen sehe sieht sah sahen - -
open öffnen öffne öffnet öffnete öffneten - -
love lieben liebe liebt liebte liebten - -
carry tragen trage trägt trug trugen - -
visit besuchen besuche besucht besuchte besuchten - -
play.instrument spielen spiele spielt spielte spielten - -
play.game spielen spiele spielt spielte spielten - -
know.person kennen kenne kennt kannte kannten - -
know.fact wissen weiß weiß wusste wussten - -
say sagen sage sagt sagte sagten - -
think glauben glaube glaubt glaubte glaubten - -
watch schauen schaue schaut schaute schauten - -
save.money sparen spare spart sparte sparten - -
save.person retten rette rettet rettete retteten - -
spend.money geben gebe gibt gab gaben aus -
spend.time verbringen verbringe verbringt verbrachte verbrachten - -
give geben gebe gibt gab gaben - -
send schicken schicke schickt schickte schickten - -
show zeigen zeige zeigt zeigte zeigten - -
look_for suchen suche sucht suchte suchten - -
wait_for warten warte wartet wartete warteten - auf
forget vergessen vergesse vergisst vergaß vergaßen - -
miss verpassen verpasse verpasst verpasste verpassten - -
light zünden zünde zündet zündete zündeten an -
hit schlagen schlage schlägt schlug schlugen - -
sleep schlafen schlafe schläft schlief schliefen - -
work arbeiten arbeite arbeitet arbeitete arbeiteten - -
live wohnen wohne wohnt wohnte wohnten - -
sit sitzen sitze sitzt saß saßen - -
fly fliegen fliege fliegt flog flogen - -
swim schwimmen schwimme schwimmt schwamm schwammen - -
sing singen singe singt sang sangen - -
go gehen gehe geht ging gingen - -
return kehren kehre kehrt kehrte kehrten zurück -
arrive kommen komme kommt kam kamen an -
have haben habe hat hatte hatten - -
have.part haben habe hat hatte hatten - -
repair reparieren repariere repariert reparierte reparierten - -
water gießen gieße gießt goss gossen - -
learn lernen lerne lernt lernte lernten - -
teach bringen bringe bringt brachte brachten bei -
be sein bin ist war waren - -
want wollen will will wollte wollten - -
can können kann kann konnte konnten - -
""")

TIMES = phrases("""
yesterday = *gestern/ADV
today = *heute/ADV
now = *jetzt/ADV
day.every = jeden/DET *Tag/NOUN
week.last = letzte/ADJ *Woche/NOUN
year.last = letztes/ADJ *Jahr/NOUN
morning = am/ADP *Morgen/NOUN
night = in/ADP der/DET *Nacht/NOUN
monday = am/ADP *Montag/PROPN
friday = am/ADP *Freitag/PROPN
sunday = am/ADP *Sonntag/PROPN
spring.season = im/ADP *Frühling/NOUN
summer = im/ADP *Sommer/NOUN
winter = im/ADP *Winter/NOUN
clock = um/ADP {}/NUM *Uhr/NOUN
year = im/ADP Jahr/NOUN *{}/NUM
""")

FREQUENCIES = {"often": "oft", "always": "immer", "sometimes": "manchmal"}
NUMBERS = {2: "zwei", 3: "drei", 4: "vier", 5: "fünf", 6: "sechs"}
