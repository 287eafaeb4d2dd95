"""People of the phrasebook, with the same names in all languages, and their gender."""

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
    """True for women.

    The speaker, and teachers or doctors without a name, count as men in every language, since
    English and Finnish do not mark gender there.
    """
    return noun in WOMEN or noun in FEMALE_NOUNS
