"""Agreement of determiner, adjective and noun: as subject, as object, and as recipient."""

from __future__ import annotations

import pytest

from polyglot.phrasebook.corpus import realise
from polyglot.phrasebook.meaning import Clause, Meaning, Thing

PHRASES = {
    "de": """
    student the small: der kleine Student | den kleinen Studenten | dem kleinen Studenten
    student a small: ein kleiner Student | einen kleinen Studenten | einem kleinen Studenten
    student this small: dieser kleine Student | diesen kleinen Studenten | diesem kleinen Studenten
    student my small: mein kleiner Student | meinen kleinen Studenten | meinem kleinen Studenten
    cat the small: die kleine Katze | die kleine Katze | der kleinen Katze
    cat a small: eine kleine Katze | eine kleine Katze | einer kleinen Katze
    cat my small: meine kleine Katze | meine kleine Katze | meiner kleinen Katze
    child the small: das kleine Kind | das kleine Kind | dem kleinen Kind
    child a small: ein kleines Kind | ein kleines Kind | einem kleinen Kind
    child this small: dieses kleine Kind | dieses kleine Kind | diesem kleinen Kind
    child 2 small: zwei kleine Kinder | zwei kleine Kinder | -
    """,
    "cs": """
    student the big: velký student | velkého studenta | velkému studentovi
    student this big: tento velký student | tohoto velkého studenta | tomuto velkému studentovi
    student my big: můj velký student | mého velkého studenta | mému velkému studentovi
    student 2 big: dva velcí studenti | dva velké studenty | -
    student 5 big: pět velkých studentů | pět velkých studentů | -
    cat the big: velká kočka | velkou kočku | velké kočce
    cat this big: tato velká kočka | tuto velkou kočku | této velké kočce
    cat 2 big: dvě velké kočky | dvě velké kočky | -
    cat 5 big: pět velkých koček | pět velkých koček | -
    child the big: velké dítě | velké dítě | velkému dítěti
    child 2 big: dvě velké děti | dvě velké děti | -
    apple 2 big: dvě velká jablka | dvě velká jablka | -
    apple 5 big: pět velkých jablek | pět velkých jablek | -
    key this big: tento velký klíč | tento velký klíč | tomuto velkému klíči
    key 2 big: dva velké klíče | dva velké klíče | -
    """,
    "fi": """
    student the small: pieni opiskelija | pienen opiskelijan | pienelle opiskelijalle
    child this small: tämä pieni lapsi | tämän pienen lapsen | tälle pienelle lapselle
    student my small: pieni opiskelijani | pienen opiskelijani | pienelle opiskelijalleni
    child the small: pieni lapsi | pienen lapsen | pienelle lapselle
    child 2 small: kaksi pientä lasta | kaksi pientä lasta | -
    """,
    "fr": """
    school the old: la vieille école | la vieille école | à la vieille école
    school the white: l'école blanche | l'école blanche | à l'école blanche
    apple this new: cette nouvelle pomme | cette nouvelle pomme | à cette nouvelle pomme
    book my beautiful: mon beau livre | mon beau livre | à mon beau livre
    student the small: le petit étudiant | le petit étudiant | au petit étudiant
    student the old: le vieil étudiant | le vieil étudiant | au vieil étudiant
    apple 2 white: deux pommes blanches | deux pommes blanches | -
    """,
    "es": """
    woman the old: la mujer vieja | a la mujer vieja | a la mujer vieja
    student the small: el estudiante pequeño | al estudiante pequeño | al estudiante pequeño
    student a small: un estudiante pequeño | a un estudiante pequeño | a un estudiante pequeño
    book this old: este libro viejo | este libro viejo | a este libro viejo
    apple 2 old: dos manzanas viejas | dos manzanas viejas | -
    apple 2 big: dos manzanas grandes | dos manzanas grandes | -
    """,
    "en": """
    student a old: an old student | an old student | to an old student
    student a small: a small student | a small student | to a small student
    child 2 small: two small children | two small children | -
    """,
}
"""For each language: noun, determiner or number, adjective; subject | object | recipient."""


def cases():
    for language, table in PHRASES.items():
        for line in table.strip().splitlines():
            words, _, phrases = line.partition(": ")
            for role, cell in zip(("subject", "object", "recipient"), phrases.split("|")):
                phrase = cell.strip()
                if phrase != "-":
                    yield pytest.param(language, words, role, phrase, id=f"{phrase}, {role}")


def noun_phrase(words):
    """words: noun, determiner or number, adjective."""
    noun, determiner, quality = words.split()
    if determiner.isdecimal():
        return Thing(noun, "count", count=int(determiner), quality=quality)
    return Thing(noun, determiner, quality=quality)


@pytest.mark.parametrize(("language", "words", "role", "phrase"), list(cases()))
def test_noun_phrase(language, words, role, phrase):
    thing = noun_phrase(words)
    clause = {
        "subject": Clause("work", thing),
        "object": Clause("see", Thing("Anna"), thing),
        "recipient": Clause("give", Thing("Anna"), Thing("book", "a"), (("recipient", thing),)),
    }[role]
    text = realise(Meaning(clause)).text(language).strip(".")
    if role == "subject":
        assert text.lower().startswith(f"{phrase.lower()} ")
    else:
        assert f" {phrase} " in f"{text} "
