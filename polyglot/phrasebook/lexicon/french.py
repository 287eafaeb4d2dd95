"""French words: all their forms, by sense."""

from __future__ import annotations

from polyglot.phrasebook.lexicon.table import phrases, rows

# gender, singular, plural, preposition of place, preposition of direction
NOUNS = rows("""
teacher m professeur professeurs - -
doctor m médecin médecins - -
student m étudiant étudiants - -
lawyer m avocat avocats - -
neighbour m voisin voisins - -
farmer m paysan paysans - -
man m homme hommes - -
woman f femme femmes - -
boy m garçon garçons - -
girl f fille filles - -
child m enfant enfants - -
mother f mère mères - -
father m père pères - -
brother m frère frères - -
sister f sœur sœurs - -
friend m ami amis - -
dog m chien chiens - -
cat m chat chats - -
horse m cheval chevaux - -
bird m oiseau oiseaux - -
bat.animal f chauve-souris chauves-souris - -
apple f pomme pommes - -
pear f poire poires - -
avocado m avocat avocats - -
cake m gâteau gâteaux - -
bread m pain pains - -
cheese m fromage fromages - -
soup f soupe soupes - -
coffee m café cafés - -
tea m thé thés - -
water f eau eaux - -
milk m lait laits - -
book m livre livres - -
newspaper m journal journaux - -
letter.mail f lettre lettres - -
letter.alphabet f lettre lettres - -
word m mot mots - -
piano m piano pianos - -
guitar f guitare guitares - -
violin m violon violons - -
football m football - - -
chess m - échecs - -
tennis m tennis - - -
car f voiture voitures - -
bicycle m vélo vélos - -
boat m bateau bateaux sur -
train m train trains dans -
bus m bus bus dans -
suitcase f valise valises dans -
bag m sac sacs dans -
box f boîte boîtes dans -
key f clé clés - -
ball f balle balles - -
bat.sport f batte battes - -
chair f chaise chaises sur -
table f table tables sur -
bed m lit lits dans -
bench m banc bancs sur -
candle f bougie bougies - -
match.fire f allumette allumettes - -
match.game m match matchs - -
film m film films - -
picture m tableau tableaux - -
shirt f chemise chemises - -
flower f fleur fleurs - -
plant.flower f plante plantes - -
glass m verre verres - -
door f porte portes - -
window f fenêtre fenêtres - -
lock f serrure serrures - -
wall m mur murs sur -
colour f couleur couleurs - -
song f chanson chansons - -
question f question questions - -
answer f réponse réponses - -
hand f main mains - -
foot m pied pieds - -
house f maison maisons dans -
school f école écoles à à
museum m musée musées dans à
castle m château châteaux dans à
bank.money f banque banques à -
bank.river f rive rives sur -
garden m jardin jardins dans dans
park m parc parcs dans à
kitchen f cuisine cuisines dans dans
station f gare gares à à
lake m lac lacs dans à
forest f forêt forêts dans dans
plant.factory f usine usines à -
church f église églises dans à
hotel m hôtel hôtels dans à
spruce m sapin sapins dans -
spring.water f source sources - -
money m argent - - -
euro m euro euros - -
day m jour jours - -
week f semaine semaines - -
""")

CITIES = rows("""
berlin Berlin
paris Paris
london Londres
madrid Madrid
prague Prague
helsinki Helsinki
vienna Vienne
rome Rome
lisbon Lisbonne
munich Munich
""")

PROFESSIONS = {
    "teacher": "professeure",
    "doctor": "médecin",
    "student": "étudiante",
    "lawyer": "avocate",
}  # of a woman

# masculine, masculine before a vowel, feminine, masculine plural, before (1) or after (0) the noun
ADJECTIVES = rows("""
old vieux vieil vieille vieux 1
new nouveau nouvel nouvelle nouveaux 1
young jeune jeune jeune jeunes 1
small petit petit petite petits 1
big grand grand grande grands 1
beautiful beau bel belle beaux 1
red rouge rouge rouge rouges 0
green vert vert verte verts 0
black noir noir noire noirs 0
white blanc blanc blanche blancs 0
expensive cher cher chère chers 0
heavy lourd lourd lourde lourds 0
light.weight léger léger légère légers 0
light.colour clair clair claire clairs 0
hard.solid dur dur dure durs 0
hard.difficult difficile difficile difficile difficiles 0
right.correct bon bon bonne bons 1
right.side droit droit droite droits 0
cold froid froid froide froids 0
warm chaud chaud chaude chauds 0
interesting intéressant intéressant intéressante intéressants 0
long long long longue longs 1
famous célèbre célèbre célèbre célèbres 0
strong fort fort forte forts 0
tired fatigué fatigué fatiguée fatigués 0
happy heureux heureux heureuse heureux 0
sick malade malade malade malades 0
open ouvert ouvert ouverte ouverts 0
closed fermé fermé fermée fermés 0
""")

# infinitive, je, il, ils, past participle or stem of the imperfect,
# past (a: with avoir, e: with être, i: imperfect),
# preposition of the object
VERBS = rows("""
buy acheter achète achète achètent acheté a -
sell vendre vends vend vendent vendu a -
read lire lis lit lisent lu a -
write écrire écris écrit écrivent écrit a -
eat manger mange mange mangent mangé a -
drink boire bois boit boivent bu a -
find trouver trouve trouve trouvent trouvé a -
lose perdre perds perd perdent perdu a -
see voir vois voit voient vu a -
open ouvrir ouvre ouvre ouvrent ouvert a -
love aimer aime aime aiment aim i -
carry porter porte porte portent porté a -
visit visiter visite visite visitent visité a -
play.instrument jouer joue joue jouent joué a de
play.game jouer joue joue jouent joué a à
know.person connaître connais connaît connaissent connaiss i -
know.fact savoir sais sait savent sav i -
say dire dis dit disent dit a -
think penser pense pense pensent pens i -
watch regarder regarde regarde regardent regardé a -
save.money économiser économise économise économisent économisé a -
save.person sauver sauve sauve sauvent sauvé a -
spend.money dépenser dépense dépense dépensent dépensé a -
spend.time passer passe passe passent passé a -
give donner donne donne donnent donné a -
send envoyer envoie envoie envoient envoyé a -
show montrer montre montre montrent montré a -
look_for chercher cherche cherche cherchent cherché a -
wait_for attendre attends attend attendent attendu a -
forget oublier oublie oublie oublient oublié a -
miss rater rate rate ratent raté a -
light allumer allume allume allument allumé a -
hit frapper frappe frappe frappent frappé a -
sleep dormir dors dort dorment dormi a -
work travailler travaille travaille travaillent travaillé a -
live habiter habite habite habitent habit i -
sit être suis est sont ét i -
fly voler vole vole volent volé a -
swim nager nage nage nagent nagé a -
sing chanter chante chante chantent chanté a -
go aller vais va vont allé e -
return rentrer rentre rentre rentrent rentré e -
arrive arriver arrive arrive arrivent arrivé e -
have avoir ai a ont av i -
have.part avoir ai a ont av i -
repair réparer répare répare réparent réparé a -
water arroser arrose arrose arrosent arrosé a -
learn apprendre apprends apprend apprennent appris a -
teach apprendre apprends apprend apprennent appris a -
be être suis est sont ét i -
want vouloir veux veut veulent voul i -
can pouvoir peux peut peuvent pouv i -
""")

TIMES = phrases("""
yesterday = *hier/ADV
today = *aujourd'hui/ADV
now = *maintenant/ADV
day.every = tous/ADJ les/DET *jours/NOUN
week.last = la/DET *semaine/NOUN dernière/ADJ
year.last = l'/DET *année/NOUN dernière/ADJ
morning = le/DET *matin/NOUN
night = la/DET *nuit/NOUN
monday = *lundi/NOUN
friday = *vendredi/NOUN
sunday = *dimanche/NOUN
spring.season = au/ADP *printemps/NOUN
summer = en/ADP *été/NOUN
winter = en/ADP *hiver/NOUN
clock = à/ADP {}/NUM *heures/NOUN
year = en/ADP *{}/NUM
""")

FREQUENCIES = {"often": "souvent", "always": "toujours", "sometimes": "parfois"}
NUMBERS = {2: "deux", 3: "trois", 4: "quatre", 5: "cinq", 6: "six"}
