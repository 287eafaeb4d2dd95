"""Things of the phrasebook and their possible qualities."""

from __future__ import annotations

PROFESSIONS = ("teacher", "doctor", "student", "lawyer")
ADULTS = ("teacher", "doctor", "student", "lawyer", "neighbour", "farmer", "man", "woman")
ANIMALS = ("dog", "cat", "horse", "bird", "bat.animal")
PETS = ("dog", "cat", "horse")
FRUIT = ("apple", "pear", "avocado")
MEALS = ("bread", "cheese", "soup")
DRINKS = ("coffee", "tea", "water", "milk")
TEXTS = ("book", "newspaper", "letter.mail")
INSTRUMENTS = ("piano", "guitar", "violin")
GAMES = ("football", "chess", "tennis")
LUGGAGE = ("suitcase", "bag", "box")
GOODS = (
    "book",
    "car",
    "bicycle",
    "boat",
    "suitcase",
    "bag",
    "box",
    "chair",
    "table",
    "bed",
    "bench",
    "candle",
    "picture",
    "shirt",
)
GOODS += ("flower", "plant.flower", "lock", "ball", "bat.sport", "guitar", "piano", "house")
CITIES = (
    "berlin",
    "paris",
    "london",
    "madrid",
    "prague",
    "helsinki",
    "vienna",
    "rome",
    "lisbon",
    "munich",
)
ROOMS = ("house", "garden", "park", "kitchen", "hotel", "castle", "church", "school")
WORKPLACES = (
    "school",
    "museum",
    "castle",
    *("bank.money", "plant.factory") * 9,
    "station",
    "hotel",
    "garden",
    "kitchen",
    "forest",
)
GOALS = (
    "school",
    "museum",
    "castle",
    "park",
    "station",
    "lake",
    "forest",
    "church",
    "hotel",
    "garden",
)
SIGHTS = ("museum", "castle", "church")
SEATS = ("chair", "bench", "bed", "bank.river")
SHELVES = ("table", "chair", "bed", "bench", "box", "bag", "suitcase")
READING_PLACES = ("park", "garden", "kitchen", "train", "bus", "school")
LEFT_BEHIND = ("train", "bus", "kitchen", "hotel", "church", "museum", "house")
SMALL_THINGS = (
    "key",
    "book",
    "ball",
    "candle",
    "letter.mail",
    "newspaper",
    "shirt",
    "flower",
    "match.fire",
    "apple",
    "glass",
)

MASSES = MEALS + DRINKS + ("money",)
PLACES_OF_PEOPLE = ("house", "garden", "kitchen", "car", "bed", "table", "bag", "suitcase", "box")
# nouns without a singular in some language: never counted, never in the plural
UNCOUNTED = ("newspaper", "violin", "door", "money", *GAMES, *MEALS, *DRINKS)

QUALITIES: dict[str, tuple[str, ...]] = {
    "old": (
        *ADULTS,
        "dog",
        "cat",
        "horse",
        "book",
        "car",
        "bicycle",
        "boat",
        "house",
        "castle",
        "church",
        "picture",
        "bench",
        "table",
        "friend",
    ),
    "new": (
        "car",
        "bicycle",
        "boat",
        "shirt",
        "guitar",
        "piano",
        "school",
        "hotel",
        "museum",
        "song",
        "film",
        "bag",
        "student",
        "teacher",
        "key",
    ),
    "young": (
        "man",
        "woman",
        "doctor",
        "teacher",
        "lawyer",
        "farmer",
        "student",
        "dog",
        "cat",
        "horse",
    ),
    "small": (
        "boy",
        "girl",
        "child",
        "dog",
        "cat",
        "bird",
        "bat.animal",
        "house",
        "garden",
        "kitchen",
        "box",
        "boat",
        "apple",
        "window",
        "table",
    ),
    "big": (
        "dog",
        "horse",
        "bird",
        "house",
        "garden",
        "school",
        "hotel",
        "box",
        "table",
        "bed",
        "lake",
        "forest",
        "station",
        "apple",
        "cake",
    ),
    "beautiful": (
        "castle",
        "garden",
        "park",
        "picture",
        "flower",
        "song",
        "horse",
        "lake",
        "church",
        "violin",
        "plant.flower",
        "letter.mail",
    ),
    "red": (
        "car",
        "bicycle",
        "bus",
        "shirt",
        "apple",
        "flower",
        "ball",
        "box",
        "candle",
        "suitcase",
        "boat",
    ),
    "green": ("pear", "apple", "door", "bench", "shirt", "bag", "avocado", "bus", "plant.flower"),
    "black": ("cat", "dog", "horse", "bird", "piano", "bag", "car", "suitcase", "bat.animal"),
    "white": ("horse", "dog", "cat", "shirt", "house", "boat", "flower", "candle", "wall"),
    "expensive": (
        "car",
        "house",
        "picture",
        "hotel",
        "shirt",
        "guitar",
        "piano",
        "boat",
        "violin",
        "bicycle",
    ),
    "heavy": ("suitcase", "bag", "box", "table", "bed", "lock", "bench"),
    "light.weight": ("suitcase", "bag", "box", "bicycle", "chair", "ball"),
    "light.colour": ("wall", "colour", "kitchen", "wall", "colour"),
    "hard.solid": ("chair", "bed", "bench", "bread", "pear", "cheese"),
    "hard.difficult": ("question", "word", "song", "answer"),
    "right.correct": ("answer", "word", "key"),
    "right.side": ("hand", "foot"),
    "cold": ("coffee", "tea", "water", "milk", "soup", "lake", "kitchen"),
    "warm": ("coffee", "tea", "milk", "soup", "bread", "kitchen", "water"),
    "interesting": (
        "book",
        "film",
        "letter.mail",
        "museum",
        "question",
        "newspaper",
        "match.game",
        "answer",
        "word",
    ),
    "long": ("letter.mail", "film", "song", "train", "word", "book", "match.game", "bench"),
    "famous": ("doctor", "lawyer", "picture", "castle", "museum", "song", "book", "hotel"),
    "strong": ("coffee", "tea", "man", "horse", "boy"),
    "tired": ("man", "woman", "dog", "horse", "child", "doctor", "student"),
    "happy": ("child", "boy", "girl", "woman", "man"),
    "sick": ("child", "dog", "cat", "horse", "man", "woman", "neighbour"),
}
STATES = ("tired", "happy", "sick")  # what a person or the speaker can be for the moment
PREDICATED = {  # what may stand after `is`
    **{quality: nouns for quality, nouns in QUALITIES.items() if quality != "right.side"},
    "open": (
        "door",
        "window",
        "lock",
        "box",
        "museum",
        "school",
        "bank.money",
        "church",
        "hotel",
        "station",
    ),
    "closed": ("door", "window", "box", "museum", "school", "bank.money", "church", "hotel"),
}
