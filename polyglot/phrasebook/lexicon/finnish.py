"""Finnish words: all their forms, by sense."""

from __future__ import annotations

from polyglot.phrasebook.lexicon.table import phrases, rows

# singular: nominative, genitive, partitive, illative; plural partitive;
# stem before a possessive suffix;
# kind of place (in: inessive and illative, on: adessive and allative).
# The other cases follow from the genitive.
NOUNS = rows("""
teacher opettaja opettajan opettajaa opettajaan opettajia opettaja -
doctor lääkäri lääkärin lääkäriä lääkäriin lääkäreitä lääkäri -
student opiskelija opiskelijan opiskelijaa opiskelijaan opiskelijoita opiskelija -
lawyer asianajaja asianajajan asianajajaa asianajajaan asianajajia asianajaja -
neighbour naapuri naapurin naapuria naapuriin naapureita naapuri -
farmer maanviljelijä maanviljelijän maanviljelijää maanviljelijään maanviljelijöitä maanviljelijä -
man mies miehen miestä mieheen miehiä miehe -
woman nainen naisen naista naiseen naisia naise -
boy poika pojan poikaa poikaan poikia poika -
girl tyttö tytön tyttöä tyttöön tyttöjä tyttö -
child lapsi lapsen lasta lapseen lapsia lapse -
mother äiti äidin äitiä äitiin äitejä äiti -
father isä isän isää isään isiä isä -
brother veli veljen veljeä veljeen veljiä velje -
sister sisko siskon siskoa siskoon siskoja sisko -
friend ystävä ystävän ystävää ystävään ystäviä ystävä -
dog koira koiran koiraa koiraan koiria koira -
cat kissa kissan kissaa kissaan kissoja kissa -
horse hevonen hevosen hevosta hevoseen hevosia hevose -
bird lintu linnun lintua lintuun lintuja lintu -
bat.animal lepakko lepakon lepakkoa lepakkoon lepakoita lepakko -
apple omena omenan omenaa omenaan omenoita omena -
pear päärynä päärynän päärynää päärynään päärynöitä päärynä -
avocado avokado avokadon avokadoa avokadoon avokadoja avokado -
cake kakku kakun kakkua kakkuun kakkuja kakku -
bread leipä leivän leipää leipään leipiä leipä -
cheese juusto juuston juustoa juustoon juustoja juusto -
soup keitto keiton keittoa keittoon keittoja keitto -
coffee kahvi kahvin kahvia kahviin kahveja kahvi -
tea tee teen teetä teehen teitä tee -
water vesi veden vettä veteen vesiä vete -
milk maito maidon maitoa maitoon maitoja maito -
book kirja kirjan kirjaa kirjaan kirjoja kirja -
newspaper sanomalehti sanomalehden sanomalehteä sanomalehteen sanomalehtiä sanomalehte -
letter.mail kirje kirjeen kirjettä kirjeeseen kirjeitä kirjee -
letter.alphabet kirjain kirjaimen kirjainta kirjaimeen kirjaimia kirjaime -
word sana sanan sanaa sanaan sanoja sana -
piano piano pianon pianoa pianoon pianoja piano -
guitar kitara kitaran kitaraa kitaraan kitaroita kitara -
violin viulu viulun viulua viuluun viuluja viulu -
football jalkapallo jalkapallon jalkapalloa jalkapalloon jalkapalloja jalkapallo -
chess shakki shakin shakkia shakkiin shakkeja shakki -
tennis tennis tenniksen tennistä tennikseen tenniksiä tennikse -
car auto auton autoa autoon autoja auto -
bicycle polkupyörä polkupyörän polkupyörää polkupyörään polkupyöriä polkupyörä -
boat vene veneen venettä veneeseen veneitä venee in
train juna junan junaa junaan junia juna in
bus bussi bussin bussia bussiin busseja bussi in
suitcase matkalaukku matkalaukun matkalaukkua matkalaukkuun matkalaukkuja matkalaukku in
bag laukku laukun laukkua laukkuun laukkuja laukku in
box laatikko laatikon laatikkoa laatikkoon laatikoita laatikko in
key avain avaimen avainta avaimeen avaimia avaime -
ball pallo pallon palloa palloon palloja pallo -
bat.sport maila mailan mailaa mailaan mailoja maila -
chair tuoli tuolin tuolia tuoliin tuoleja tuoli on
table pöytä pöydän pöytää pöytään pöytiä pöytä on
bed sänky sängyn sänkyä sänkyyn sänkyjä sänky in
bench penkki penkin penkkiä penkkiin penkkejä penkki on
candle kynttilä kynttilän kynttilää kynttilään kynttilöitä kynttilä -
match.fire tulitikku tulitikun tulitikkua tulitikkuun tulitikkuja tulitikku -
match.game ottelu ottelun ottelua otteluun otteluita ottelu -
film elokuva elokuvan elokuvaa elokuvaan elokuvia elokuva -
picture taulu taulun taulua tauluun tauluja taulu -
shirt paita paidan paitaa paitaan paitoja paita -
flower kukka kukan kukkaa kukkaan kukkia kukka -
plant.flower kasvi kasvin kasvia kasviin kasveja kasvi -
glass lasi lasin lasia lasiin laseja lasi -
door ovi oven ovea oveen ovia ove -
window ikkuna ikkunan ikkunaa ikkunaan ikkunoita ikkuna -
lock lukko lukon lukkoa lukkoon lukkoja lukko -
wall seinä seinän seinää seinään seiniä seinä on
colour väri värin väriä väriin värejä väri -
song laulu laulun laulua lauluun lauluja laulu -
question kysymys kysymyksen kysymystä kysymykseen kysymyksiä kysymykse -
answer vastaus vastauksen vastausta vastaukseen vastauksia vastaukse -
hand käsi käden kättä käteen käsiä käte -
foot jalka jalan jalkaa jalkaan jalkoja jalka -
house talo talon taloa taloon taloja talo in
school koulu koulun koulua kouluun kouluja koulu in
museum museo museon museota museoon museoita museo in
castle linna linnan linnaa linnaan linnoja linna in
bank.money pankki pankin pankkia pankkiin pankkeja pankki in
bank.river ranta rannan rantaa rantaan rantoja ranta on
garden puutarha puutarhan puutarhaa puutarhaan puutarhoja puutarha in
park puisto puiston puistoa puistoon puistoja puisto in
kitchen keittiö keittiön keittiötä keittiöön keittiöitä keittiö in
station asema aseman asemaa asemaan asemia asema on
lake järvi järven järveä järveen järviä järve in
forest metsä metsän metsää metsään metsiä metsä in
plant.factory tehdas tehtaan tehdasta tehtaaseen tehtaita tehtaa in
church kirkko kirkon kirkkoa kirkkoon kirkkoja kirkko in
hotel hotelli hotellin hotellia hotelliin hotelleja hotelli in
spruce kuusi kuusen kuusta kuuseen kuusia kuuse in
spring.water lähde lähteen lähdettä lähteeseen lähteitä lähtee -
money raha rahan rahaa rahaan rahoja raha -
euro euro euron euroa euroon euroja euro -
day päivä päivän päivää päivään päiviä päivä -
week viikko viikon viikkoa viikkoon viikkoja viikko -
""")

# nominative, genitive, partitive, illative; the other cases follow from the genitive
CITIES = rows("""
berlin Berliini Berliinin Berliiniä Berliiniin
paris Pariisi Pariisin Pariisia Pariisiin
london Lontoo Lontoon Lontoota Lontooseen
madrid Madrid Madridin Madridia Madridiin
prague Praha Prahan Prahaa Prahaan
helsinki Helsinki Helsingin Helsinkiä Helsinkiin
vienna Wien Wienin Wieniä Wieniin
rome Rooma Rooman Roomaa Roomaan
lisbon Lissabon Lissabonin Lissabonia Lissaboniin
munich München Münchenin Müncheniä Müncheniin
""")

# singular nominative, genitive, partitive, illative; plural partitive
ADJECTIVES = rows("""
old vanha vanhan vanhaa vanhaan vanhoja
new uusi uuden uutta uuteen uusia
young nuori nuoren nuorta nuoreen nuoria
small pieni pienen pientä pieneen pieniä
big iso ison isoa isoon isoja
beautiful kaunis kauniin kaunista kauniiseen kauniita
red punainen punaisen punaista punaiseen punaisia
green vihreä vihreän vihreää vihreään vihreitä
black musta mustan mustaa mustaan mustia
white valkoinen valkoisen valkoista valkoiseen valkoisia
expensive kallis kalliin kallista kalliiseen kalliita
heavy raskas raskaan raskasta raskaaseen raskaita
light.weight kevyt kevyen kevyttä kevyeen kevyitä
light.colour vaalea vaalean vaaleaa vaaleaan vaaleita
hard.solid kova kovan kovaa kovaan kovia
hard.difficult vaikea vaikean vaikeaa vaikeaan vaikeita
right.correct oikea oikean oikeaa oikeaan oikeita
right.side oikea oikean oikeaa oikeaan oikeita
cold kylmä kylmän kylmää kylmään kylmiä
warm lämmin lämpimän lämmintä lämpimään lämpimiä
interesting mielenkiintoinen mielenkiintoisen mielenkiintoista mielenkiintoiseen mielenkiintoisia
long pitkä pitkän pitkää pitkään pitkiä
famous kuuluisa kuuluisan kuuluisaa kuuluisaan kuuluisia
strong vahva vahvan vahvaa vahvaan vahvoja
tired väsynyt väsyneen väsynyttä väsyneeseen väsyneitä
happy iloinen iloisen iloista iloiseen iloisia
sick sairas sairaan sairasta sairaaseen sairaita
open avoin avoimen avointa avoimeen avoimia
closed suljettu suljetun suljettua suljettuun suljettuja
""")

# infinitive, minä, hän, he, past minä, past hän, past he, past participle, case of the object
VERBS = rows("""
buy ostaa ostan ostaa ostavat ostin osti ostivat ostanut accusative
sell myydä myyn myy myyvät myin myi myivät myynyt accusative
read lukea luen lukee lukevat luin luki lukivat lukenut partitive
write kirjoittaa kirjoitan kirjoittaa kirjoittavat kirjoitin \
kirjoitti kirjoittivat kirjoittanut accusative
eat syödä syön syö syövät söin söi söivät syönyt accusative
drink juoda juon juo juovat join joi joivat juonut partitive
find löytää löydän löytää löytävät löysin löysi löysivät löytänyt accusative
lose kadottaa kadotan kadottaa kadottavat kadotin kadotti kadottivat kadottanut accusative
see nähdä näen näkee näkevät näin näki näkivät nähnyt accusative
open avata avaan avaa avaavat avasin avasi avasivat avannut accusative
love rakastaa rakastan rakastaa rakastavat rakastin rakasti rakastivat rakastanut partitive
carry kantaa kannan kantaa kantavat kannoin kantoi kantoivat kantanut partitive
visit vierailla vierailen vierailee vierailevat vierailin vieraili vierailivat vieraillut location
play.instrument soittaa soitan soittaa soittavat soitin soitti soittivat soittanut partitive
play.game pelata pelaan pelaa pelaavat pelasin pelasi pelasivat pelannut partitive
know.person tuntea tunnen tuntee tuntevat tunsin tunsi tunsivat tuntenut accusative
know.fact tietää tiedän tietää tietävät tiesin tiesi tiesivät tiennyt accusative
say sanoa sanon sanoo sanovat sanoin sanoi sanoivat sanonut accusative
think luulla luulen luulee luulevat luulin luuli luulivat luullut accusative
watch katsoa katson katsoo katsovat katsoin katsoi katsoivat katsonut partitive
save.money säästää säästän säästää säästävät säästin säästi säästivät säästänyt partitive
save.person pelastaa pelastan pelastaa pelastavat pelastin pelasti pelastivat pelastanut accusative
spend.money käyttää käytän käyttää käyttävät käytin käytti käyttivät käyttänyt accusative
spend.time viettää vietän viettää viettävät vietin vietti viettivät viettänyt accusative
give antaa annan antaa antavat annoin antoi antoivat antanut accusative
send lähettää lähetän lähettää lähettävät lähetin lähetti lähettivät lähettänyt accusative
show näyttää näytän näyttää näyttävät näytin näytti näyttivät näyttänyt accusative
look_for etsiä etsin etsii etsivät etsin etsi etsivät etsinyt partitive
wait_for odottaa odotan odottaa odottavat odotin odotti odottivat odottanut partitive
forget unohtaa unohdan unohtaa unohtavat unohdin unohti unohtivat unohtanut accusative
miss myöhästyä myöhästyn myöhästyy myöhästyvät myöhästyin myöhästyi myöhästyivät myöhästynyt elative
light sytyttää sytytän sytyttää sytyttävät sytytin sytytti sytyttivät sytyttänyt accusative
hit lyödä lyön lyö lyövät löin löi löivät lyönyt partitive
sleep nukkua nukun nukkuu nukkuvat nukuin nukkui nukkuivat nukkunut accusative
work työskennellä työskentelen työskentelee työskentelevät \
työskentelin työskenteli työskentelivät työskennellyt accusative
live asua asun asuu asuvat asuin asui asuivat asunut accusative
sit istua istun istuu istuvat istuin istui istuivat istunut accusative
fly lentää lennän lentää lentävät lensin lensi lensivät lentänyt accusative
swim uida uin ui uivat uin ui uivat uinut accusative
sing laulaa laulan laulaa laulavat lauloin lauloi lauloivat laulanut accusative
go mennä menen menee menevät menin meni menivät mennyt accusative
return palata palaan palaa palaavat palasin palasi palasivat palannut accusative
arrive saapua saavun saapuu saapuvat saavuin saapui saapuivat saapunut accusative
have olla olen on ovat olin oli olivat ollut accusative
have.part olla olen on ovat olin oli olivat ollut accusative
repair korjata korjaan korjaa korjaavat korjasin korjasi korjasivat korjannut accusative
water kastella kastelen kastelee kastelevat kastelin kasteli kastelivat kastellut accusative
learn oppia opin oppii oppivat opin oppi oppivat oppinut accusative
teach opettaa opetan opettaa opettavat opetin opetti opettivat opettanut accusative
be olla olen on ovat olin oli olivat ollut accusative
want haluta haluan haluaa haluavat halusin halusi halusivat halunnut accusative
can voida voin voi voivat voin voi voivat voinut accusative
""")

TIMES = phrases("""
yesterday = *eilen/ADV
today = *tänään/ADV
now = *nyt/ADV
day.every = joka/DET *päivä/NOUN
week.last = viime/ADJ *viikolla/NOUN
year.last = viime/ADJ *vuonna/NOUN
morning = *aamulla/NOUN
night = *yöllä/NOUN
monday = *maanantaina/NOUN
friday = *perjantaina/NOUN
sunday = *sunnuntaina/NOUN
spring.season = *keväällä/NOUN
summer = *kesällä/NOUN
winter = *talvella/NOUN
clock = *kello/NOUN {}/NUM
year = vuonna/NOUN *{}/NUM
""")

FREQUENCIES = {"often": "usein", "always": "aina", "sometimes": "joskus"}
NUMBERS = {2: "kaksi", 3: "kolme", 4: "neljä", 5: "viisi", 6: "kuusi"}
