"""Czech words: all their forms, by sense."""

from __future__ import annotations

from polyglot.phrasebook.lexicon.table import phrases, rows

# gender (a: masculine animate, i: masculine inanimate, f, n);
# singular: nominative, genitive, dative, accusative, locative, instrumental;
# plural: nominative, genitive, accusative;
# preposition of place (with the locative), preposition of direction (with its case)
NOUNS = rows("""
teacher a učitel učitele učiteli učitele učiteli učitelem učitelé učitelů učitele - -
doctor a lékař lékaře lékaři lékaře lékaři lékařem lékaři lékařů lékaře - -
student a student studenta studentovi studenta studentovi studentem studenti studentů studenty - -
lawyer a právník právníka právníkovi právníka právníkovi právníkem právníci právníků právníky - -
neighbour a soused souseda sousedovi souseda sousedovi sousedem sousedé sousedů sousedy - -
farmer a sedlák sedláka sedlákovi sedláka sedlákovi sedlákem sedláci sedláků sedláky - -
man a muž muže muži muže muži mužem muži mužů muže - -
woman f žena ženy ženě ženu ženě ženou ženy žen ženy - -
boy a chlapec chlapce chlapci chlapce chlapci chlapcem chlapci chlapců chlapce - -
girl f dívka dívky dívce dívku dívce dívkou dívky dívek dívky - -
child n dítě dítěte dítěti dítě dítěti dítětem děti dětí děti - -
mother f matka matky matce matku matce matkou matky matek matky - -
father a otec otce otci otce otci otcem otcové otců otce - -
brother a bratr bratra bratrovi bratra bratrovi bratrem bratři bratrů bratry - -
sister f sestra sestry sestře sestru sestře sestrou sestry sester sestry - -
friend a přítel přítele příteli přítele příteli přítelem přátelé přátel přátele - -
dog a pes psa psovi psa psovi psem psi psů psy - -
cat f kočka kočky kočce kočku kočce kočkou kočky koček kočky - -
horse a kůň koně koni koně koni koněm koně koní koně - -
bird a pták ptáka ptákovi ptáka ptákovi ptákem ptáci ptáků ptáky - -
bat.animal a netopýr netopýra netopýrovi netopýra netopýrovi netopýrem \
netopýři netopýrů netopýry - -
apple n jablko jablka jablku jablko jablku jablkem jablka jablek jablka - -
pear f hruška hrušky hrušce hrušku hrušce hruškou hrušky hrušek hrušky - -
avocado n avokádo avokáda avokádu avokádo avokádu avokádem avokáda avokád avokáda - -
cake i dort dortu dortu dort dortu dortem dorty dortů dorty - -
bread i chléb chleba chlebu chléb chlebu chlebem chleby chlebů chleby - -
cheese i sýr sýra sýru sýr sýru sýrem sýry sýrů sýry - -
soup f polévka polévky polévce polévku polévce polévkou polévky polévek polévky - -
coffee f káva kávy kávě kávu kávě kávou kávy káv kávy - -
tea i čaj čaje čaji čaj čaji čajem čaje čajů čaje - -
water f voda vody vodě vodu vodě vodou vody vod vody - -
milk n mléko mléka mléku mléko mléku mlékem mléka mlék mléka - -
book f kniha knihy knize knihu knize knihou knihy knih knihy - -
newspaper f - - - - - - noviny novin noviny - -
letter.mail i dopis dopisu dopisu dopis dopisu dopisem dopisy dopisů dopisy - -
letter.alphabet n písmeno písmena písmenu písmeno písmenu písmenem písmena písmen písmena - -
word n slovo slova slovu slovo slově slovem slova slov slova - -
piano i klavír klavíru klavíru klavír klavíru klavírem klavíry klavírů klavíry - -
guitar f kytara kytary kytaře kytaru kytaře kytarou kytary kytar kytary - -
violin f - - - - - - housle houslí housle - -
football i fotbal fotbalu fotbalu fotbal fotbalu fotbalem - - - - -
chess i - - - - - - šachy šachů šachy - -
tennis i tenis tenisu tenisu tenis tenisu tenisem - - - - -
car n auto auta autu auto autě autem auta aut auta - -
bicycle n kolo kola kolu kolo kole kolem kola kol kola - -
boat f loď lodi lodi loď lodi lodí lodě lodí lodě na -
train i vlak vlaku vlaku vlak vlaku vlakem vlaky vlaků vlaky v -
bus i autobus autobusu autobusu autobus autobusu autobusem autobusy autobusů autobusy v -
suitcase i kufr kufru kufru kufr kufru kufrem kufry kufrů kufry v -
bag f taška tašky tašce tašku tašce taškou tašky tašek tašky v -
box f krabice krabice krabici krabici krabici krabicí krabice krabic krabice v -
key i klíč klíče klíči klíč klíči klíčem klíče klíčů klíče - -
ball i míč míče míči míč míči míčem míče míčů míče - -
bat.sport f pálka pálky pálce pálku pálce pálkou pálky pálek pálky - -
chair f židle židle židli židli židli židlí židle židlí židle na -
table i stůl stolu stolu stůl stole stolem stoly stolů stoly na -
bed f postel postele posteli postel posteli postelí postele postelí postele v -
bench f lavička lavičky lavičce lavičku lavičce lavičkou lavičky laviček lavičky na -
candle f svíčka svíčky svíčce svíčku svíčce svíčkou svíčky svíček svíčky - -
match.fire f zápalka zápalky zápalce zápalku zápalce zápalkou zápalky zápalek zápalky - -
match.game i zápas zápasu zápasu zápas zápase zápasem zápasy zápasů zápasy - -
film i film filmu filmu film filmu filmem filmy filmů filmy - -
picture i obraz obrazu obrazu obraz obraze obrazem obrazy obrazů obrazy - -
shirt f košile košile košili košili košili košilí košile košil košile - -
flower f květina květiny květině květinu květině květinou květiny květin květiny - -
plant.flower f rostlina rostliny rostlině rostlinu rostlině rostlinou rostliny rostlin rostliny - -
glass f sklenice sklenice sklenici sklenici sklenici sklenicí sklenice sklenic sklenice - -
door f - - - - - - dveře dveří dveře - -
window n okno okna oknu okno okně oknem okna oken okna - -
lock i zámek zámku zámku zámek zámku zámkem zámky zámků zámky - -
wall f zeď zdi zdi zeď zdi zdí zdi zdí zdi na -
colour f barva barvy barvě barvu barvě barvou barvy barev barvy - -
song f píseň písně písni píseň písni písní písně písní písně - -
question f otázka otázky otázce otázku otázce otázkou otázky otázek otázky - -
answer f odpověď odpovědi odpovědi odpověď odpovědi odpovědí odpovědi odpovědí odpovědi - -
hand f ruka ruky ruce ruku ruce rukou ruce rukou ruce - -
foot f noha nohy noze nohu noze nohou nohy nohou nohy - -
house i dům domu domu dům domě domem domy domů domy v -
school f škola školy škole školu škole školou školy škol školy v do:genitive
museum n muzeum muzea muzeu muzeum muzeu muzeem muzea muzeí muzea v do:genitive
castle i zámek zámku zámku zámek zámku zámkem zámky zámků zámky v do:genitive
bank.money f banka banky bance banku bance bankou banky bank banky v -
bank.river i břeh břehu břehu břeh břehu břehem břehy břehů břehy na -
garden f zahrada zahrady zahradě zahradu zahradě zahradou zahrady zahrad zahrady na na:accusative
park i park parku parku park parku parkem parky parků parky v do:genitive
kitchen f kuchyně kuchyně kuchyni kuchyni kuchyni kuchyní kuchyně kuchyní kuchyně v do:genitive
station n nádraží nádraží nádraží nádraží nádraží nádražím nádraží nádraží nádraží na na:accusative
lake n jezero jezera jezeru jezero jezeře jezerem jezera jezer jezera v k:dative
forest i les lesa lesu les lese lesem lesy lesů lesy v do:genitive
plant.factory f továrna továrny továrně továrnu továrně továrnou továrny továren továrny v -
church i kostel kostela kostelu kostel kostele kostelem kostely kostelů kostely v do:genitive
hotel i hotel hotelu hotelu hotel hotelu hotelem hotely hotelů hotely v do:genitive
spruce i smrk smrku smrku smrk smrku smrkem smrky smrků smrky na -
spring.water i pramen pramene prameni pramen prameni pramenem prameny pramenů prameny - -
money i - - - - - - peníze peněz peníze - -
euro n euro eura euru euro euru eurem eura eur eura - -
day i den dne dni den dni dnem dny dní dny - -
week i týden týdne týdnu týden týdnu týdnem týdny týdnů týdny - -
""")

# nominative, genitive, locative
CITIES = rows("""
berlin Berlín Berlína Berlíně
paris Paříž Paříže Paříži
london Londýn Londýna Londýně
madrid Madrid Madridu Madridu
prague Praha Prahy Praze
helsinki Helsinky Helsink Helsinkách
vienna Vídeň Vídně Vídni
rome Řím Říma Římě
lisbon Lisabon Lisabonu Lisabonu
munich Mnichov Mnichova Mnichově
""")
CITY_ACCUSATIVE = {"prague": "Prahu"}  # where it differs from the nominative

# nominative, genitive, dative, accusative, locative, instrumental, stem of the possessive adjective
NAMES = rows("""
Anna Anna Anny Anně Annu Anně Annou Annin
Emma Emma Emmy Emmě Emmu Emmě Emmou Emmin
Eva Eva Evy Evě Evu Evě Evou Evin
Laura Laura Laury Lauře Lauru Lauře Laurou Lauřin
Nina Nina Niny Nině Ninu Nině Ninou Ninin
Sara Sara Sary Saře Saru Saře Sarou Sařin
Adam Adam Adama Adamovi Adama Adamovi Adamem Adamov
Daniel Daniel Daniela Danielovi Daniela Danielovi Danielem Danielov
David David Davida Davidovi Davida Davidovi Davidem Davidov
Martin Martin Martina Martinovi Martina Martinovi Martinem Martinov
Robert Robert Roberta Robertovi Roberta Robertovi Robertem Robertov
Simon Simon Simona Simonovi Simona Simonovi Simonem Simonov
""")

PROFESSIONS = {  # masculine and feminine, in the nominative
    "teacher": ("učitel", "učitelka"),
    "doctor": ("lékař", "lékařka"),
    "student": ("student", "studentka"),
    "lawyer": ("právník", "právnička"),
}

# stem of the hard declension, stem before -í of the animate plural;
# soft adjectives have only a nominative in -í
ADJECTIVES = rows("""
old star stař
new nov nov
young mlad mlad
small mal mal
big velk velc
beautiful krásn krásn
red červen červen
green zelen zelen
black čern čern
white bíl bíl
expensive drah draz
heavy těžk těžc
light.weight lehk lehc
light.colour světl světl
hard.solid tvrd tvrd
hard.difficult těžk těžc
right.correct správn správn
right.side prav prav
cold studen studen
warm tepl tepl
interesting zajímav zajímav
long dlouh dlouz
famous slavn slavn
strong siln siln
tired unaven unaven
happy šťastn šťastn
sick nemocn nemocn
open otevřen otevřen
closed zavřen zavřen
""")

# infinitive, já, on, oni, past of a man, reflexive clitic,
# preposition of the object (with the accusative)
VERBS = rows("""
buy koupit kupuju kupuje kupují koupil - -
sell prodat prodávám prodává prodávají prodal - -
read číst čtu čte čtou četl - -
write napsat píšu píše píšou napsal - -
eat jíst jím jí jedí jedl - -
drink pít piju pije pijí pil - -
find najít nacházím nachází nacházejí našel - -
lose ztratit ztrácím ztrácí ztrácejí ztratil - -
see vidět vidím vidí vidí viděl - -
open otevřít otevírám otevírá otevírají otevřel - -
love milovat miluju miluje milují miloval - -
carry nést nesu nese nesou nesl - -
visit navštívit navštěvuju navštěvuje navštěvují navštívil - -
play.instrument hrát hraju hraje hrají hrál - na
play.game hrát hraju hraje hrají hrál - -
know.person znát znám zná znají znal - -
know.fact vědět vím ví vědí věděl - -
say říct říkám říká říkají řekl - -
think myslet myslím myslí myslí myslel si -
watch dívat dívám dívá dívají díval se na
save.money šetřit šetřím šetří šetří šetřil - -
save.person zachránit zachraňuju zachraňuje zachraňují zachránil - -
spend.money utratit utrácím utrácí utrácejí utratil - -
spend.time strávit trávím tráví tráví strávil - -
give dát dávám dává dávají dal - -
send poslat posílám posílá posílají poslal - -
show ukázat ukazuju ukazuje ukazují ukázal - -
look_for hledat hledám hledá hledají hledal - -
wait_for čekat čekám čeká čekají čekal - na
forget zapomenout zapomínám zapomíná zapomínají zapomněl - -
miss zmeškat zmeškávám zmeškává zmeškávají zmeškal - -
light zapálit zapaluju zapaluje zapalují zapálil - -
hit odpálit odpaluju odpaluje odpalují odpálil - -
sleep spát spím spí spí spal - -
work pracovat pracuju pracuje pracují pracoval - -
live bydlet bydlím bydlí bydlí bydlel - -
sit sedět sedím sedí sedí seděl - -
fly létat létám létá létají létal - -
swim plavat plavu plave plavou plaval - -
sing zpívat zpívám zpívá zpívají zpíval - -
go jít jdu jde jdou šel - -
return vrátit vracím vrací vracejí vrátil se -
arrive přijet přijíždím přijíždí přijíždějí přijel - -
have mít mám má mají měl - -
have.part mít mám má mají měl - -
repair opravit opravuju opravuje opravují opravil - -
water zalít zalévám zalévá zalévají zalil - -
learn naučit učím učí učí naučil se -
teach naučit učím učí učí naučil - -
be být jsem je jsou byl - -
want chtít chci chce chtějí chtěl - -
can moct můžu může můžou mohl - -
""")
PAST_STEMS = {"našel": "našl", "šel": "šl"}  # where the vowel goes before an ending

TIMES = phrases("""
yesterday = *včera/ADV
today = *dnes/ADV
now = *teď/ADV
day.every = každý/DET *den/NOUN
week.last = minulý/ADJ *týden/NOUN
year.last = minulý/ADJ *rok/NOUN
morning = *ráno/ADV
night = v/ADP *noci/NOUN
monday = v/ADP *pondělí/NOUN
friday = v/ADP *pátek/NOUN
sunday = v/ADP *neděli/NOUN
spring.season = na/ADP *jaře/NOUN
summer = v/ADP *létě/NOUN
winter = v/ADP *zimě/NOUN
clock = v/ADP {}/NUM *hodin/NOUN
year = v/ADP roce/NOUN *{}/NUM
""")

FREQUENCIES = {"often": "často", "always": "vždy", "sometimes": "někdy"}
NUMBERS = {2: "dva", 3: "tři", 4: "čtyři", 5: "pět", 6: "šest"}
