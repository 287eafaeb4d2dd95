"""Who can do what with which things: no bridge reads, no book sleeps."""

from __future__ import annotations

from dataclasses import dataclass

from polyglot.phrasebook.people import FAMILY, ROLES
from polyglot.phrasebook.world import (
    ADULTS,
    ANIMALS,
    CITIES,
    DRINKS,
    FRUIT,
    GAMES,
    GOALS,
    GOODS,
    INSTRUMENTS,
    LEFT_BEHIND,
    LUGGAGE,
    MEALS,
    PETS,
    READING_PLACES,
    SEATS,
    SIGHTS,
    TEXTS,
    WORKPLACES,
)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens: a verb's sense, who does it, to what, and what else may be said about it."""

    verb: str
    weight: float = 1.0
    subjects: tuple[str, ...] = ("human",)  # human, group, animal, noun.…
    objects: tuple[str, ...] = ()
    determiners: tuple[str, ...] = ("a", "a", "this", "count", "many")  # of the object
    recipient: bool = False
    companion: bool = False
    instruments: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()
    required: bool = False  # the direction or location is never left out
    habitual: bool = True  # `every day` goes well with it
    modal: bool = True
    tenses: tuple[bool, ...] = (False, True)  # whether past


OWNED = ("own", "own", "name", "this")
EVENTS = (
    Event("buy", 2.4, objects=GOODS + FRUIT + DRINKS[:1] + MEALS + ("newspaper", "violin"), locations=CITIES),
    Event("sell", 1.3, objects=GOODS + FRUIT + MEALS[:2], locations=CITIES),
    Event("read", 1.4, objects=TEXTS, determiners=("a", "this", "name", "many"), locations=READING_PLACES),
    Event("write", 0.7, objects=("letter.mail",), determiners=("a", "a", "this"), recipient=True, locations=("garden", "kitchen", "train")),
    Event(
        "write",
        0.5,
        objects=("book", "song", "answer", "word"),
        determiners=("a", "this", "count"),
        locations=("kitchen", "garden", *CITIES[:3]),
    ),
    Event("eat", 1.2, objects=FRUIT + MEALS + ("cake",), determiners=("a", "a", "count"), locations=("kitchen", "garden", "park", "train")),
    Event("eat", 0.4, ("animal",), FRUIT[:2] + MEALS[:1], ("a",), locations=("garden", "forest"), modal=False),
    Event("drink", 0.8, objects=DRINKS, locations=("kitchen", "garden", "hotel", "train"), companion=True),
    Event("drink", 0.4, objects=("coffee", "tea", "milk"), sources=("glass",), required=True),
    Event("drink", 0.6, ("human", "animal"), ("water",), sources=("spring.water",), required=True),
    Event(
        "find",
        1.2,
        objects=("key", "book", "bag", "ball", "suitcase", "match.fire", "newspaper"),
        determiners=("a", *OWNED),
        locations=("garden", "park", "train", "kitchen", "forest", "bus", "bench", "bank.river", "bank.river"),
        habitual=False,
    ),
    Event("find", 0.4, objects=("answer", "word"), determiners=("this",), habitual=False),
    Event(
        "lose",
        0.8,
        objects=("key", "book", "bag", "ball", "suitcase", "bicycle"),
        determiners=("own", "own", "name", "a"),
        locations=("park", "forest", "station", "bus"),
        habitual=False,
        modal=False,
        tenses=(True,),
    ),
    Event(
        "see",
        1.2,
        objects=ROLES + ANIMALS + ("castle", "boat", "spruce", "lake", "church"),
        determiners=("a", "this", "count", "many"),
        locations=("park", "garden", "forest", "station"),
        habitual=False,
    ),
    Event("see", 0.5, objects=("person", *FAMILY), determiners=("own",), locations=("park", "school", "station", "church", *CITIES[:4])),
    Event("open", 0.8, objects=("door", "window", "box", "suitcase"), determiners=("the",)),
    Event("open", 0.6, objects=("lock", "door"), determiners=("the",), instruments=("key",), required=True),
    Event("love", 0.8, objects=("person", *FAMILY, *CITIES), determiners=("own",), habitual=False, modal=False),
    Event("love", 0.8, objects=("colour", "colour", "song"), determiners=("this",), habitual=False, modal=False),
    Event(
        "love", 0.5, objects=("book", "picture", "film", "garden", "cat", "dog"), determiners=("this", "name"), habitual=False, modal=False
    ),
    Event(
        "carry",
        1.2,
        objects=(*LUGGAGE, "chair", "table", "child"),
        determiners=("a", "this", "name"),
        habitual=False,
        directions=("station", "hotel", "kitchen", "garden"),
    ),
    Event("visit", 0.9, objects=SIGHTS, determiners=("the", "this")),
    Event("visit", 0.5, objects=CITIES),
    Event(
        "play.instrument",
        1.1,
        objects=INSTRUMENTS,
        determiners=("generic",),
        companion=True,
        locations=("school", "church", "kitchen", "park"),
    ),
    Event("play.game", 1.1, objects=GAMES, determiners=("generic",), companion=True, locations=("school", "park", "garden")),
    Event("know.person", 0.9, objects=("person", *FAMILY, *ADULTS), determiners=("this", "own", "name"), habitual=False, modal=False),
    Event(
        "watch", 1.0, objects=("film", "match.game"), determiners=("a", "this"), companion=True, locations=("school", "hotel", *CITIES[:2])
    ),
    Event("save.money", 0.6, objects=("money",)),
    Event(
        "save.person",
        0.7,
        objects=("child", "boy", "girl", *PETS, "bird"),
        determiners=("a", "this", "name"),
        habitual=False,
        locations=("lake", "forest"),
    ),
    Event("spend.money", 1.2, objects=("euro",), determiners=("sum",), locations=(*CITIES, "station")),
    Event(
        "spend.time",
        0.9,
        objects=("day", "week"),
        determiners=("span",),
        locations=(*CITIES, "forest", "hotel", "castle"),
        required=True,
        habitual=False,
    ),
    Event(
        "give",
        1.2,
        objects=("book", "flower", "key", "apple", "cake", "picture", "ball", "glass", "answer", "letter.mail"),
        determiners=("a", "a", "this", "count"),
        recipient=True,
        required=True,
    ),
    Event(
        "send",
        0.8,
        objects=("letter.mail", "letter.mail", "picture", "book", "box", "flower"),
        determiners=("a", "this", "count", "many"),
        recipient=True,
        required=True,
    ),
    Event(
        "show",
        0.7,
        objects=("picture", "letter.mail", "house", "garden", "car", "key"),
        determiners=("this", "own"),
        recipient=True,
        required=True,
    ),
    Event("show", 1.0, objects=("hand", "foot"), determiners=("own",), recipient=True, required=True),
    Event(
        "look_for",
        1.0,
        objects=("key", "book", "bag", "cat", "dog", "bicycle", "word", "match.fire"),
        determiners=("a", *OWNED),
        locations=("garden", "park", "kitchen", "forest", "house"),
        habitual=False,
    ),
    Event("wait_for", 0.7, objects=("train", "bus"), determiners=("the",), locations=("station",)),
    Event(
        "wait_for",
        0.5,
        objects=("person", *FAMILY),
        determiners=("own",),
        locations=("station", "park", "hotel", "bank.money", "bank.money"),
    ),
    Event(
        "forget",
        0.8,
        objects=("suitcase", "bag", "key", "book", "shirt", "newspaper"),
        determiners=("own",),
        locations=LEFT_BEHIND,
        required=True,
        habitual=False,
        modal=False,
        tenses=(True,),
    ),
    Event("forget", 0.3, objects=("word", "song", "answer", "question"), determiners=("this",), habitual=False),
    Event("miss", 0.8, objects=("train", "bus"), determiners=("the",), habitual=False, modal=False, tenses=(True,)),
    Event("light", 0.7, objects=("candle",), determiners=("the",), instruments=("match.fire",), required=True),
    Event("light", 0.4, objects=("candle",), determiners=("the",), locations=("church", "kitchen")),
    Event("hit", 0.9, objects=("ball",), determiners=("the",), instruments=("bat.sport",), required=True),
    Event("sleep", 1.0, ("human", "group", "animal", "bats"), locations=("bed", "garden", "train", "hotel", "house", "bench", "park")),
    Event("sleep", 1.0, ("birds",), locations=(*("spruce",) * 4, "forest", "castle"), required=True, modal=False),
    Event("work", 1.5, ("human", "group", "worker"), locations=WORKPLACES + CITIES),
    Event("live", 1.2, ("human", "group", "worker"), locations=(*CITIES, "house", "hotel", "castle"), required=True, habitual=False),
    Event(
        "sit", 1.2, ("human", "group", "worker"), locations=(*SEATS, "park", "garden", "bus"), required=True, habitual=False, modal=False
    ),
    Event("fly", 0.8, ("birds",), locations=("garden", "forest", "park", "church"), required=True),
    Event("swim", 0.7, ("human", "group", "pet"), locations=("lake",), companion=True),
    Event("sing", 0.7, ("human", "group", "birds"), locations=("church", "garden", "school", "park")),
    Event("sing", 0.4, objects=("song",), determiners=("a", "this"), locations=("church", "school"), companion=True),
    Event("go", 1.2, ("human", "group", "worker"), directions=GOALS, required=True, companion=True, habitual=False),
    Event("return", 0.8, ("human", "group"), directions=CITIES, required=True, companion=True, habitual=False),
    Event("arrive", 0.8, ("human", "group"), directions=(*CITIES, "station"), required=True, habitual=False, modal=False),
    Event("arrive", 0.5, ("transport",), directions=CITIES, required=True, modal=False),
    Event(
        "have",
        1.4,
        ("human", "worker"),
        objects=(*PETS, "car", "house", "bicycle", "boat", "guitar", "piano", "garden", "question", "question", "plant.flower"),
        determiners=("a", "a", "count"),
        habitual=False,
        modal=False,
    ),
    Event("have.part", 2.4, ("word",), ("letter.alphabet",), ("letters",), habitual=False, modal=False, tenses=(False,)),
    Event(
        "repair",
        1.0,
        objects=("car", "bicycle", "boat", "lock", "chair", "window", "piano"),
        determiners=("the", "own", "name"),
        habitual=False,
    ),
    Event("water", 0.7, objects=("plant.flower", "flower"), determiners=("a", "this", "name"), locations=("garden", "kitchen", "hotel")),
    Event("learn", 0.7, objects=("song", "word", "letter.alphabet"), determiners=("a", "this", "many"), locations=("school",)),
    Event(
        "teach", 0.7, objects=("song", "word", "letter.alphabet"), determiners=("a", "this"), recipient=True, required=True, habitual=False
    ),
)
