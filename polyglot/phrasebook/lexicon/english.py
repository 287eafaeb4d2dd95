"""English words: all their forms, by sense."""

from __future__ import annotations

from polyglot.phrasebook.lexicon.table import phrases, rows

# singular, plural, preposition of place, preposition of direction
NOUNS = rows("""
teacher teacher teachers - -
doctor doctor doctors - -
student student students - -
lawyer lawyer lawyers - -
neighbour neighbour neighbours - -
farmer farmer farmers - -
man man men - -
woman woman women - -
boy boy boys - -
girl girl girls - -
child child children - -
mother mother mothers - -
father father fathers - -
brother brother brothers - -
sister sister sisters - -
friend friend friends - -
dog dog dogs - -
cat cat cats - -
horse horse horses - -
bird bird birds - -
bat.animal bat bats - -
apple apple apples - -
pear pear pears - -
avocado avocado avocados - -
cake cake cakes - -
bread bread breads - -
cheese cheese cheeses - -
soup soup soups - -
coffee coffee coffees - -
tea tea teas - -
water water waters - -
milk milk milks - -
book book books - -
newspaper newspaper newspapers - -
letter.mail letter letters - -
letter.alphabet letter letters - -
word word words - -
piano piano pianos - -
guitar guitar guitars - -
violin violin violins - -
football football - - -
chess chess - - -
tennis tennis - - -
car car cars - -
bicycle bicycle bicycles - -
boat boat boats on -
train train trains on -
bus bus buses on -
suitcase suitcase suitcases in -
bag bag bags in -
box box boxes in -
key key keys - -
ball ball balls - -
bat.sport bat bats - -
chair chair chairs on -
table table tables on -
bed bed beds in -
bench bench benches on -
candle candle candles - -
match.fire match matches - -
match.game match matches - -
film film films - -
picture picture pictures - -
shirt shirt shirts - -
flower flower flowers - -
plant.flower plant plants - -
glass glass glasses - -
door door doors - -
window window windows - -
lock lock locks - -
wall wall walls on -
colour colour colours - -
song song songs - -
question question questions - -
answer answer answers - -
hand hand hands - -
foot foot feet - -
house house houses in -
school school schools at to
museum museum museums in to
castle castle castles in to
bank.money bank banks in -
bank.river bank banks on -
garden garden gardens in to
park park parks in to
kitchen kitchen kitchens in to
station station stations at to
lake lake lakes in to
forest forest forests in to
plant.factory plant plants at -
church church churches in to
hotel hotel hotels in to
spruce spruce spruces in -
spring.water spring springs - -
money money - - -
euro euro euros - -
day day days - -
week week weeks - -
""")

CITIES = rows("""
berlin Berlin
paris Paris
london London
madrid Madrid
prague Prague
helsinki Helsinki
vienna Vienna
rome Rome
lisbon Lisbon
munich Munich
""")

ADJECTIVES = rows("""
old old
new new
young young
small small
big big
beautiful beautiful
red red
green green
black black
white white
expensive expensive
heavy heavy
light.weight light
light.colour light
hard.solid hard
hard.difficult hard
right.correct right
right.side right
cold cold
warm warm
interesting interesting
long long
famous famous
strong strong
tired tired
happy happy
sick sick
open open
closed closed
""")

# plain form, third person singular, past, preposition of the object
VERBS = rows("""
buy buy buys bought -
sell sell sells sold -
read read reads read -
write write writes wrote -
eat eat eats ate -
drink drink drinks drank -
find find finds found -
lose lose loses lost -
see see sees saw -
open open opens opened -
love love loves loved -
carry carry carries carried -
visit visit visits visited -
play.instrument play plays played -
play.game play plays played -
know.person know knows knew -
know.fact know knows knew -
say say says said -
think think thinks thought -
watch watch watches watched -
save.money save saves saved -
save.person save saves saved -
spend.money spend spends spent -
spend.time spend spends spent -
give give gives gave -
send send sends sent -
show show shows showed -
look_for look looks looked for
wait_for wait waits waited for
forget forget forgets forgot -
miss miss misses missed -
light light lights lit -
hit hit hits hit -
sleep sleep sleeps slept -
work work works worked -
live live lives lived -
sit sit sits sat -
fly fly flies flew -
swim swim swims swam -
sing sing sings sang -
go go goes went -
return return returns returned -
arrive arrive arrives arrived -
have have has had -
have.part have has had -
repair repair repairs repaired -
water water waters watered -
learn learn learns learned -
teach teach teaches taught -
""")

TIMES = phrases("""
yesterday = *yesterday/ADV
today = *today/ADV
now = *now/ADV
day.every = every/DET *day/NOUN
week.last = last/ADJ *week/NOUN
year.last = last/ADJ *year/NOUN
morning = in/ADP the/DET *morning/NOUN
night = at/ADP *night/NOUN
monday = on/ADP *Monday/PROPN
friday = on/ADP *Friday/PROPN
sunday = on/ADP *Sunday/PROPN
spring.season = in/ADP *spring/NOUN
summer = in/ADP *summer/NOUN
winter = in/ADP *winter/NOUN
clock = at/ADP {}/NUM *o'clock/ADV
year = in/ADP *{}/NUM
""")

FREQUENCIES = {"often": "often", "always": "always", "sometimes": "sometimes"}
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
