"""The people of the phrasebook, called by the same names in all languages, and whether they are women."""

from __future__ import annotations

WOMEN = ("Anna", "Emma", "Eva", "Laura", "Nina", "Sara")
MEN = ("Adam", "Daniel", "David", "Martin", "Robert", "Simon")
NAMES = WOMEN + MEN
ROLES = (
    "teacher",
    "doctor",
    "student",
    "lawyer",
    "neighbour",
    "farmer",
    "man",
    "woman",
    "boy",
    "girl",
    "child",
)
FAMILY = ("mother", "father", "brother", "sister", "friend")
PEOPLE = NAMES + ROLES + FAMILY
FEMALE_NOUNS = ("woman", "girl", "mother", "sister")


def is_female(noun: str) -> bool:
    """The speaker is a man, and so are teachers, doctors and neighbours who have no name: English and Finnish would not tell."""
    return noun in WOMEN or noun in FEMALE_NOUNS
