"""Sentences checked word by word: the meaning, and what each language makes of it."""

from __future__ import annotations

import pytest

from polyglot.phrasebook.corpus import realise
from polyglot.phrasebook.meaning import Clause, Meaning, Thing


def at(
    noun: str, determiner: str = "the", *, role: str = "location", quality: str | None = None
) -> tuple[tuple[str, Thing], ...]:
    return ((role, Thing(noun, determiner, quality=quality)),)


CHECKED = [
    (
        Meaning(
            Clause(
                "play.instrument",
                Thing("Anna"),
                Thing("piano", "generic"),
                (("companion", Thing("brother", "own", owner="Anna")),),
                past=True,
                time="yesterday",
            )
        ),
        "Anna played the piano with her brother yesterday.",
        "Anna spielte gestern mit ihrem Bruder Klavier.",
        "Anna a joué du piano avec son frère hier.",
        "Anna tocó el piano con su hermano ayer.",
        "Anna včera hrála na klavír se svým bratrem.",
        "Anna soitti eilen pianoa veljensä kanssa.",
    ),
    (
        Meaning(
            Clause(
                "play.game",
                Thing("boy", "the", quality="small"),
                Thing("chess", "generic"),
                frequency="often",
            )
        ),
        "The small boy often plays chess.",
        "Der kleine Junge spielt oft Schach.",
        "Le petit garçon joue souvent aux échecs.",
        "El chico pequeño juega a menudo al ajedrez.",
        "Malý chlapec často hraje šachy.",
        "Pieni poika pelaa usein shakkia.",
    ),
    (
        Meaning(
            Clause(
                "read",
                Thing("Eva"),
                Thing("book", "a", quality="interesting"),
                at("garden"),
                past=True,
                time="monday",
                fronted=True,
            )
        ),
        "On Monday Eva read an interesting book in the garden.",
        "Am Montag las Eva ein interessantes Buch im Garten.",
        "Lundi Eva a lu un livre intéressant dans le jardin.",
        "El lunes Eva leyó un libro interesante en el jardín.",
        "V pondělí Eva četla zajímavou knihu na zahradě.",
        "Maanantaina Eva luki mielenkiintoista kirjaa puutarhassa.",
    ),
    (
        Meaning(
            Clause(
                "see",
                Thing("I"),
                Thing("horse", "count", count=5, quality="white"),
                at("bank.river"),
                past=True,
            )
        ),
        "I saw five white horses on the bank.",
        "Ich sah fünf weiße Pferde am Ufer.",
        "J'ai vu cinq chevaux blancs sur la rive.",
        "Vi cinco caballos blancos en la orilla.",
        "Viděl jsem pět bílých koní na břehu.",
        "Näin viisi valkoista hevosta rannalla.",
    ),
    (
        Meaning(Clause("sleep", Thing("cat", "count", count=6), None, at("bench"), past=True)),
        "Six cats slept on the bench.",
        "Sechs Katzen schliefen auf der Bank.",
        "Six chats ont dormi sur le banc.",
        "Seis gatos durmieron en el banco.",
        "Šest koček spalo na lavičce.",
        "Kuusi kissaa nukkui penkillä.",
    ),
    (
        Meaning(
            Clause(
                "buy",
                Thing("Robert"),
                Thing("car", "a", quality="expensive"),
                negated=True,
                past=True,
                time="year:2005",
            )
        ),
        "Robert did not buy an expensive car in 2005.",
        "Robert kaufte im Jahr 2005 kein teures Auto.",
        "Robert n'a pas acheté de voiture chère en 2005.",
        "Robert no compró un coche caro en 2005.",
        "Robert v roce 2005 nekoupil drahé auto.",
        "Robert ei ostanut vuonna 2005 kallista autoa.",
    ),
    (
        Meaning(
            Clause(
                "know.fact",
                Thing("David"),
                complement=Clause("live", Thing("woman", "this"), gap="location"),
                link="where",
                negated=True,
            )
        ),
        "David does not know where this woman lives.",
        "David weiß nicht, wo diese Frau wohnt.",
        "David ne sait pas où cette femme habite.",
        "David no sabe dónde vive esta mujer.",
        "David neví, kde tato žena bydlí.",
        "David ei tiedä, missä tämä nainen asuu.",
    ),
    (
        Meaning(Clause("know.person", Thing("Nina"), Thing("teacher", "this"))),
        "Nina knows this teacher.",
        "Nina kennt diesen Lehrer.",
        "Nina connaît ce professeur.",
        "Nina conoce a este profesor.",
        "Nina zná tohoto učitele.",
        "Nina tuntee tämän opettajan.",
    ),
    (
        Meaning(
            Clause(
                "give",
                Thing("I"),
                Thing("flower", "a", quality="red"),
                (("recipient", Thing("mother", "my")),),
                past=True,
            )
        ),
        "I gave a red flower to my mother.",
        "Ich gab meiner Mutter eine rote Blume.",
        "J'ai donné une fleur rouge à ma mère.",
        "Le di una flor roja a mi madre.",
        "Dal jsem mé matce červenou květinu.",
        "Annoin äidilleni punaisen kukan.",
    ),
    (
        Meaning(
            Clause(
                "return",
                Thing("Laura", partner="Emma"),
                None,
                (("direction", Thing("prague")),),
                past=True,
                time="week.last",
            )
        ),
        "Laura and Emma returned to Prague last week.",
        "Laura und Emma kehrten letzte Woche nach Prag zurück.",
        "Laura et Emma sont rentrées à Prague la semaine dernière.",
        "Laura y Emma volvieron a Praga la semana pasada.",
        "Laura a Emma se minulý týden vrátily do Prahy.",
        "Laura ja Emma palasivat viime viikolla Prahaan.",
    ),
    (
        Meaning(
            Clause("be", Thing("Sara"), quality="tired", past=True),
            "because",
            Clause("work", Thing("Sara", "pronoun"), None, at("plant.factory"), past=True),
        ),
        "Sara was tired because she worked at the plant.",
        "Sara war müde, weil sie in der Fabrik arbeitete.",
        "Sara était fatiguée parce qu'elle a travaillé à l'usine.",
        "Sara estaba cansada porque trabajó en la fábrica.",
        "Sara byla unavená, protože pracovala v továrně.",
        "Sara oli väsynyt, koska hän työskenteli tehtaassa.",
    ),
    (
        Meaning(
            Clause(
                "say",
                Thing("Adam"),
                complement=Clause(
                    "buy", Thing("Adam", "pronoun"), Thing("violin", "a"), modal="want"
                ),
                link="that",
            )
        ),
        "Adam says that he wants to buy a violin.",
        "Adam sagt, dass er eine Geige kaufen will.",
        "Adam dit qu'il veut acheter un violon.",
        "Adam dice que quiere comprar un violín.",
        "Adam říká, že chce koupit housle.",
        "Adam sanoo, että hän haluaa ostaa viulun.",
    ),
    (
        Meaning(
            Clause(
                "open",
                Thing("man", "the"),
                Thing("lock", "the"),
                (("instrument", Thing("key", "a")),),
                modal="can",
                negated=True,
            )
        ),
        "The man cannot open the lock with a key.",
        "Der Mann kann das Schloss nicht mit einem Schlüssel öffnen.",
        "L'homme ne peut pas ouvrir la serrure avec une clé.",
        "El hombre no puede abrir la cerradura con una llave.",
        "Muž nemůže otevřít zámek klíčem.",
        "Mies ei voi avata lukkoa avaimella.",
    ),
    (
        Meaning(
            Clause(
                "visit",
                Thing("lawyer", "the", quality="famous"),
                Thing("castle", "the"),
                past=True,
                time="summer",
            )
        ),
        "The famous lawyer visited the castle in summer.",
        "Der berühmte Anwalt besuchte im Sommer das Schloss.",
        "L'avocat célèbre a visité le château en été.",
        "El abogado famoso visitó el castillo en verano.",
        "Slavný právník v létě navštívil zámek.",
        "Kuuluisa asianajaja vieraili kesällä linnassa.",
    ),
    (
        Meaning(
            Clause("have.part", Thing("word", "this"), Thing("letter.alphabet", "count", count=5))
        ),
        "This word has five letters.",
        "Dieses Wort hat fünf Buchstaben.",
        "Ce mot a cinq lettres.",
        "Esta palabra tiene cinco letras.",
        "Toto slovo má pět písmen.",
        "Tässä sanassa on viisi kirjainta.",
    ),
    (
        Meaning(
            Clause(
                "write",
                Thing("Simon"),
                Thing("letter.mail", "a", quality="long"),
                (("recipient", Thing("Nina")),),
                past=True,
            )
        ),
        "Simon wrote a long letter to Nina.",
        "Simon schrieb Nina einen langen Brief.",
        "Simon a écrit une longue lettre à Nina.",
        "Simon le escribió una carta larga a Nina.",
        "Simon napsal Nině dlouhý dopis.",
        "Simon kirjoitti Ninalle pitkän kirjeen.",
    ),
    (
        Meaning(
            Clause(
                "exist", Thing("bat.animal", "bare", many=True), None, at("castle", quality="old")
            )
        ),
        "There are bats in the old castle.",
        "Im alten Schloss sind Fledermäuse.",
        "Il y a des chauves-souris dans le vieux château.",
        "Hay murciélagos en el castillo viejo.",
        "Ve starém zámku jsou netopýři.",
        "Vanhassa linnassa on lepakoita.",
    ),
    (
        Meaning(
            Clause(
                "hit",
                Thing("girl", "the"),
                Thing("ball", "the"),
                (("instrument", Thing("bat.sport", "a")),),
                past=True,
            )
        ),
        "The girl hit the ball with a bat.",
        "Das Mädchen schlug den Ball mit einem Schläger.",
        "La fille a frappé la balle avec une batte.",
        "La chica golpeó la pelota con un bate.",
        "Dívka odpálila míč pálkou.",
        "Tyttö löi palloa mailalla.",
    ),
    (
        Meaning(
            Clause(
                "drink",
                Thing("dog", "my"),
                Thing("water", "bare", quality="cold"),
                (("source", Thing("spring.water", "the")),),
            )
        ),
        "My dog drinks cold water from the spring.",
        "Mein Hund trinkt kaltes Wasser aus der Quelle.",
        "Mon chien boit de l'eau froide à la source.",
        "Mi perro bebe agua fría de la fuente.",
        "Můj pes pije studenou vodu z pramene.",
        "Koirani juo kylmää vettä lähteestä.",
    ),
    (
        Meaning(Clause("sit", Thing("bird", "this"), None, at("spruce"), time="spring.season")),
        "This bird sits in the spruce in spring.",
        "Dieser Vogel sitzt im Frühling in der Fichte.",
        "Cet oiseau est assis dans le sapin au printemps.",
        "Este pájaro está sentado en el abeto en primavera.",
        "Tento pták na jaře sedí na smrku.",
        "Tämä lintu istuu keväällä kuusessa.",
    ),
    (
        Meaning(Clause("eat", Thing("lawyer", "the"), Thing("avocado", "a"), negated=True)),
        "The lawyer does not eat an avocado.",
        "Der Anwalt isst keine Avocado.",
        "L'avocat ne mange pas d'avocat.",
        "El abogado no come un aguacate.",
        "Právník nejí avokádo.",
        "Asianajaja ei syö avokadoa.",
    ),
    (
        Meaning(
            Clause(
                "read",
                Thing("Martin"),
                Thing(
                    "letter.mail",
                    "the",
                    relative=Clause("write", Thing("Anna"), gap="object", past=True),
                ),
                past=True,
            )
        ),
        "Martin read the letter that Anna wrote.",
        "Martin las den Brief, den Anna schrieb.",
        "Martin a lu la lettre qu'Anna a écrite.",
        "Martin leyó la carta que Anna escribió.",
        "Martin četl dopis, který Anna napsala.",
        "Martin luki kirjettä, jonka Anna kirjoitti.",
    ),
    (
        Meaning(
            Clause(
                "repair",
                Thing(
                    "woman",
                    "the",
                    relative=Clause("work", None, None, at("bank.money"), gap="subject"),
                ),
                Thing("bicycle", "own", owner="woman"),
            )
        ),
        "The woman who works in the bank repairs her bicycle.",
        "Die Frau, die in der Bank arbeitet, repariert ihr Fahrrad.",
        "La femme qui travaille à la banque répare son vélo.",
        "La mujer que trabaja en el banco repara su bicicleta.",
        "Žena, která pracuje v bance, opravuje svoje kolo.",
        "Nainen, joka työskentelee pankissa, korjaa polkupyöränsä.",
    ),
    (
        Meaning(
            Clause(
                "spend.money",
                Thing("Emma"),
                Thing("euro", "count", count=100),
                at("london", "none"),
                question=True,
                past=True,
            )
        ),
        "Did Emma spend 100 euros in London?",
        "Gab Emma 100 Euro in London aus?",
        "Est-ce qu'Emma a dépensé 100 euros à Londres ?",
        "¿Gastó Emma 100 euros en Londres?",
        "Utratila Emma 100 eur v Londýně?",
        "Käyttikö Emma 100 euroa Lontoossa?",
    ),
    (
        Meaning(
            Clause("find", Thing("Daniel"), None, at("bed"), question=True, gap="object", past=True)
        ),
        "What did Daniel find in the bed?",
        "Was fand Daniel im Bett?",
        "Qu'est-ce que Daniel a trouvé dans le lit ?",
        "¿Qué encontró Daniel en la cama?",
        "Co Daniel našel v posteli?",
        "Mitä Daniel löysi sängystä?",
    ),
    (
        Meaning(
            Clause(
                "arrive",
                Thing("Eva"),
                None,
                (("direction", Thing("vienna")),),
                question=True,
                gap="time",
                past=True,
            )
        ),
        "When did Eva arrive in Vienna?",
        "Wann kam Eva in Wien an?",
        "Quand est-ce qu'Eva est arrivée à Vienne ?",
        "¿Cuándo llegó Eva a Viena?",
        "Kdy Eva přijela do Vídně?",
        "Milloin Eva saapui Wieniin?",
    ),
    (
        Meaning(
            Clause(
                "light",
                None,
                Thing("candle", "the"),
                (("instrument", Thing("match.fire", "a")),),
                question=True,
                gap="subject",
                past=True,
            )
        ),
        "Who lit the candle with a match?",
        "Wer zündete die Kerze mit einem Streichholz an?",
        "Qui a allumé la bougie avec une allumette ?",
        "¿Quién encendió la vela con una cerilla?",
        "Kdo zapálil svíčku zápalkou?",
        "Kuka sytytti kynttilän tulitikulla?",
    ),
    (
        Meaning(Clause("be", Thing("wall", "this"), quality="light.colour")),
        "This wall is light.",
        "Diese Wand ist hell.",
        "Ce mur est clair.",
        "Esta pared es clara.",
        "Tato zeď je světlá.",
        "Tämä seinä on vaalea.",
    ),
    (
        Meaning(
            Clause(
                "carry",
                Thing("I"),
                Thing("suitcase", "this", quality="light.weight"),
                at("station", role="direction"),
            )
        ),
        "I carry this light suitcase to the station.",
        "Ich trage diesen leichten Koffer zum Bahnhof.",
        "Je porte cette valise légère à la gare.",
        "Llevo esta maleta ligera a la estación.",
        "Nesu tento lehký kufr na nádraží.",
        "Kannan tätä kevyttä matkalaukkua asemalle.",
    ),
    (
        Meaning(
            Clause(
                "be",
                Thing("newspaper", "name", owner="Sara"),
                circumstances=at("table"),
                negated=True,
            )
        ),
        "Sara's newspaper is not on the table.",
        "Saras Zeitung ist nicht auf dem Tisch.",
        "Le journal de Sara n'est pas sur la table.",
        "El periódico de Sara no está en la mesa.",
        "Sařiny noviny nejsou na stole.",
        "Saran sanomalehti ei ole pöydällä.",
    ),
    (
        Meaning(
            Clause("miss", Thing("David"), Thing("train", "the"), past=True),
            "but",
            Clause(
                "wait_for", Thing("David", "pronoun"), Thing("bus", "the"), negated=True, past=True
            ),
        ),
        "David missed the train, but he did not wait for the bus.",
        "David verpasste den Zug, aber er wartete nicht auf den Bus.",
        "David a raté le train, mais il n'a pas attendu le bus.",
        "David perdió el tren, pero no esperó el autobús.",
        "David zmeškal vlak, ale nečekal na autobus.",
        "David myöhästyi junasta, mutta hän ei odottanut bussia.",
    ),
    (
        Meaning(
            Clause("be", Thing("I"), quality="happy"),
            "when",
            Clause("watch", Thing("I"), Thing("match.game", "this")),
        ),
        "I am happy when I watch this match.",
        "Ich bin glücklich, wenn ich dieses Spiel schaue.",
        "Je suis heureux quand je regarde ce match.",
        "Estoy contento cuando veo este partido.",
        "Jsem šťastný, když se dívám na tento zápas.",
        "Olen iloinen, kun katson tätä ottelua.",
    ),
    (
        Meaning(
            Clause(
                "forget",
                Thing("doctor", "the"),
                Thing("shirt", "own", owner="doctor", quality="new"),
                at("hotel"),
                past=True,
            )
        ),
        "The doctor forgot his new shirt in the hotel.",
        "Der Arzt vergaß sein neues Hemd im Hotel.",
        "Le médecin a oublié sa nouvelle chemise dans l'hôtel.",
        "El médico olvidó su camisa nueva en el hotel.",
        "Lékař zapomněl svoji novou košili v hotelu.",
        "Lääkäri unohti uuden paitansa hotelliin.",
    ),
    (
        Meaning(
            Clause(
                "teach",
                Thing("Laura"),
                Thing("song", "a", quality="hard.difficult"),
                (("recipient", Thing("child", "the")),),
                past=True,
                time="clock:8",
                fronted=True,
            )
        ),
        "At 8 o'clock Laura taught a hard song to the child.",
        "Um 8 Uhr brachte Laura dem Kind ein schweres Lied bei.",
        "À 8 heures Laura a appris une chanson difficile à l'enfant.",
        "A las 8 Laura le enseñó una canción difícil al niño.",
        "V 8 hodin Laura naučila dítě těžkou píseň.",
        "Kello 8 Laura opetti lapselle vaikean laulun.",
    ),
    (
        Meaning(Clause("be", Thing("Emma"), profession="teacher", negated=True)),
        "Emma is not a teacher.",
        "Emma ist keine Lehrerin.",
        "Emma n'est pas professeure.",
        "Emma no es profesora.",
        "Emma není učitelka.",
        "Emma ei ole opettaja.",
    ),
    (
        Meaning(
            Clause(
                "swim",
                Thing("student", "count", count=3),
                None,
                at("lake"),
                past=True,
                time="yesterday",
            )
        ),
        "Three students swam in the lake yesterday.",
        "Drei Studenten schwammen gestern im See.",
        "Trois étudiants ont nagé dans le lac hier.",
        "Tres estudiantes nadaron en el lago ayer.",
        "Tři studenti včera plavali v jezeře.",
        "Kolme opiskelijaa ui eilen järvessä.",
    ),
    (
        Meaning(
            Clause(
                "look_for",
                Thing("sister", "name", owner="Adam"),
                Thing("cat", "own", owner="sister"),
            )
        ),
        "Adam's sister looks for her cat.",
        "Adams Schwester sucht ihre Katze.",
        "La sœur d'Adam cherche son chat.",
        "La hermana de Adam busca a su gato.",
        "Adamova sestra hledá svoji kočku.",
        "Adamin sisko etsii kissaansa.",
    ),
    (
        Meaning(
            Clause(
                "save.person",
                Thing("neighbour", "the"),
                Thing("child", "name", owner="Nina"),
                at("forest"),
                past=True,
            ),
            "and",
            Clause("save.money", Thing("Simon"), Thing("money", "bare")),
        ),
        "The neighbour saved Nina's child in the forest and Simon saves money.",
        "Der Nachbar rettete Ninas Kind im Wald und Simon spart Geld.",
        "Le voisin a sauvé l'enfant de Nina dans la forêt et Simon économise de l'argent.",
        "El vecino salvó al niño de Nina en el bosque y Simon ahorra dinero.",
        "Soused zachránil Ninino dítě v lese a Simon šetří peníze.",
        "Naapuri pelasti Ninan lapsen metsästä, ja Simon säästää rahaa.",
    ),
]


@pytest.mark.parametrize("checked", CHECKED, ids=lambda checked: checked[1])
def test_checked_sentences(checked):
    meaning, *expected = checked
    sentence = realise(meaning)
    assert [
        sentence.text(language) for language in ("en", "de", "fr", "es", "cs", "fi")
    ] == expected
