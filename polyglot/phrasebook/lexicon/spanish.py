"""Spanish words: all their forms, by sense."""

from __future__ import annotations

from polyglot.phrasebook.lexicon.table import phrases, rows

# gender (e: feminine, but `el agua` in the singular), singular, plural;
# places take `en`, directions take `a`
NOUNS = rows("""
teacher m profesor profesores
doctor m médico médicos
student m estudiante estudiantes
lawyer m abogado abogados
neighbour m vecino vecinos
farmer m campesino campesinos
man m hombre hombres
woman f mujer mujeres
boy m chico chicos
girl f chica chicas
child m niño niños
mother f madre madres
father m padre padres
brother m hermano hermanos
sister f hermana hermanas
friend m amigo amigos
dog m perro perros
cat m gato gatos
horse m caballo caballos
bird m pájaro pájaros
bat.animal m murciélago murciélagos
apple f manzana manzanas
pear f pera peras
avocado m aguacate aguacates
cake m pastel pasteles
bread m pan panes
cheese m queso quesos
soup f sopa sopas
coffee m café cafés
tea m té tés
water e agua aguas
milk f leche leches
book m libro libros
newspaper m periódico periódicos
letter.mail f carta cartas
letter.alphabet f letra letras
word f palabra palabras
piano m piano pianos
guitar f guitarra guitarras
violin m violín violines
football m fútbol -
chess m ajedrez -
tennis m tenis -
car m coche coches
bicycle f bicicleta bicicletas
boat m barco barcos
train m tren trenes
bus m autobús autobuses
suitcase f maleta maletas
bag f bolsa bolsas
box f caja cajas
key f llave llaves
ball f pelota pelotas
bat.sport m bate bates
chair f silla sillas
table f mesa mesas
bed f cama camas
bench m banco bancos
candle f vela velas
match.fire f cerilla cerillas
match.game m partido partidos
film f película películas
picture m cuadro cuadros
shirt f camisa camisas
flower f flor flores
plant.flower f planta plantas
glass m vaso vasos
door f puerta puertas
window f ventana ventanas
lock f cerradura cerraduras
wall f pared paredes
colour m color colores
song f canción canciones
question f pregunta preguntas
answer f respuesta respuestas
hand f mano manos
foot m pie pies
house f casa casas
school f escuela escuelas
museum m museo museos
castle m castillo castillos
bank.money m banco bancos
bank.river f orilla orillas
garden m jardín jardines
park m parque parques
kitchen f cocina cocinas
station f estación estaciones
lake m lago lagos
forest m bosque bosques
plant.factory f fábrica fábricas
church f iglesia iglesias
hotel m hotel hoteles
spruce m abeto abetos
spring.water f fuente fuentes
money m dinero -
euro m euro euros
day m día días
week f semana semanas
""")

CITIES = rows("""
berlin Berlín
paris París
london Londres
madrid Madrid
prague Praga
helsinki Helsinki
vienna Viena
rome Roma
lisbon Lisboa
munich Múnich
""")

PROFESSIONS = {
    "teacher": "profesora",
    "doctor": "médica",
    "student": "estudiante",
    "lawyer": "abogada",
}  # of a woman

# masculine, feminine, masculine plural, feminine plural, copula (s: ser, e: estar)
ADJECTIVES = rows("""
old viejo vieja viejos viejas s
new nuevo nueva nuevos nuevas s
young joven joven jóvenes jóvenes s
small pequeño pequeña pequeños pequeñas s
big grande grande grandes grandes s
beautiful bonito bonita bonitos bonitas s
red rojo roja rojos rojas s
green verde verde verdes verdes s
black negro negra negros negras s
white blanco blanca blancos blancas s
expensive caro cara caros caras s
heavy pesado pesada pesados pesadas s
light.weight ligero ligera ligeros ligeras s
light.colour claro clara claros claras s
hard.solid duro dura duros duras s
hard.difficult difícil difícil difíciles difíciles s
right.correct correcto correcta correctos correctas s
right.side derecho derecha derechos derechas s
cold frío fría fríos frías e
warm caliente caliente calientes calientes e
interesting interesante interesante interesantes interesantes s
long largo larga largos largas s
famous famoso famosa famosos famosas s
strong fuerte fuerte fuertes fuertes s
tired cansado cansada cansados cansadas e
happy contento contenta contentos contentas e
sick enfermo enferma enfermos enfermas e
open abierto abierta abiertos abiertas e
closed cerrado cerrada cerrados cerradas e
""")

# infinitive, yo, él, ellos, past yo, past él, past ellos, preposition of the object
VERBS = rows("""
buy comprar compro compra compran compré compró compraron -
sell vender vendo vende venden vendí vendió vendieron -
read leer leo lee leen leí leyó leyeron -
write escribir escribo escribe escriben escribí escribió escribieron -
eat comer como come comen comí comió comieron -
drink beber bebo bebe beben bebí bebió bebieron -
find encontrar encuentro encuentra encuentran encontré encontró encontraron -
lose perder pierdo pierde pierden perdí perdió perdieron -
see ver veo ve ven vi vio vieron -
open abrir abro abre abren abrí abrió abrieron -
love amar amo ama aman amaba amaba amaban -
carry llevar llevo lleva llevan llevé llevó llevaron -
visit visitar visito visita visitan visité visitó visitaron -
play.instrument tocar toco toca tocan toqué tocó tocaron -
play.game jugar juego juega juegan jugué jugó jugaron a
know.person conocer conozco conoce conocen conocía conocía conocían -
know.fact saber sé sabe saben sabía sabía sabían -
say decir digo dice dicen dije dijo dijeron -
think creer creo cree creen creía creía creían -
watch ver veo ve ven vi vio vieron -
save.money ahorrar ahorro ahorra ahorran ahorré ahorró ahorraron -
save.person salvar salvo salva salvan salvé salvó salvaron -
spend.money gastar gasto gasta gastan gasté gastó gastaron -
spend.time pasar paso pasa pasan pasé pasó pasaron -
give dar doy da dan di dio dieron -
send enviar envío envía envían envié envió enviaron -
show mostrar muestro muestra muestran mostré mostró mostraron -
look_for buscar busco busca buscan busqué buscó buscaron -
wait_for esperar espero espera esperan esperé esperó esperaron -
forget olvidar olvido olvida olvidan olvidé olvidó olvidaron -
miss perder pierdo pierde pierden perdí perdió perdieron -
light encender enciendo enciende encienden encendí encendió encendieron -
hit golpear golpeo golpea golpean golpeé golpeó golpearon -
sleep dormir duermo duerme duermen dormí durmió durmieron -
work trabajar trabajo trabaja trabajan trabajé trabajó trabajaron -
live vivir vivo vive viven vivía vivía vivían -
sit estar estoy está están estaba estaba estaban -
fly volar vuelo vuela vuelan volé voló volaron -
swim nadar nado nada nadan nadé nadó nadaron -
sing cantar canto canta cantan canté cantó cantaron -
go ir voy va van fui fue fueron -
return volver vuelvo vuelve vuelven volví volvió volvieron -
arrive llegar llego llega llegan llegué llegó llegaron -
have tener tengo tiene tienen tenía tenía tenían -
have.part tener tengo tiene tienen tenía tenía tenían -
repair reparar reparo repara reparan reparé reparó repararon -
water regar riego riega riegan regué regó regaron -
learn aprender aprendo aprende aprenden aprendí aprendió aprendieron -
teach enseñar enseño enseña enseñan enseñé enseñó enseñaron -
be.s ser soy es son era era eran -
be.e estar estoy está están estaba estaba estaban -
want querer quiero quiere quieren quería quería querían -
can poder puedo puede pueden podía podía podían -
""")

TIMES = phrases("""
yesterday = *ayer/ADV
today = *hoy/ADV
now = *ahora/ADV
day.every = todos/DET los/DET *días/NOUN
week.last = la/DET *semana/NOUN pasada/ADJ
year.last = el/DET *año/NOUN pasado/ADJ
morning = por/ADP la/DET *mañana/NOUN
night = por/ADP la/DET *noche/NOUN
monday = el/DET *lunes/NOUN
friday = el/DET *viernes/NOUN
sunday = el/DET *domingo/NOUN
spring.season = en/ADP *primavera/NOUN
summer = en/ADP *verano/NOUN
winter = en/ADP *invierno/NOUN
clock = a/ADP las/DET *{}/NUM
year = en/ADP *{}/NUM
""")

FREQUENCIES = {"often": "a menudo", "always": "siempre", "sometimes": "a veces"}
NUMBERS = {2: "dos", 3: "tres", 4: "cuatro", 5: "cinco", 6: "seis"}
