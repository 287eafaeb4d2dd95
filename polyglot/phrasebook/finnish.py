"""Finnish: cases for prepositions, partitive, verb of negation, possessive suffixes, no gender."""

from __future__ import annotations

from typing import ClassVar

from polyglot.phrasebook.grammar import Grammar
from polyglot.phrasebook.lexicon import finnish
from polyglot.phrasebook.meaning import Clause, Thing
from polyglot.phrasebook.people import NAMES
from polyglot.phrasebook.phrase import Phrase, Word, join, punctuation

QUESTION_WORDS = {
    "subject": ("kuka", "PRON"),
    "object": ("mitä", "PRON"),
    "location": ("missä", "ADV"),
    "time": ("milloin", "ADV"),
}
ENDINGS = {
    "inessive": "ssa",
    "elative": "sta",
    "adessive": "lla",
    "ablative": "lta",
    "allative": "lle",
}  # on the genitive's stem
POSSESSOR_CASES = {
    "have": "adessive",
    "have.part": "inessive",
}  # `Annalla on koira`: on Anna is a dog
OUTWARD = ("forget",)  # one forgets a thing *into* a place
INWARD = ("find", "buy", "look_for", "save.person")  # one finds and buys things *from* a place

THIS = {
    "nominative": "tämä",
    "genitive": "tämän",
    "partitive": "tätä",
    "illative": "tähän",
    "inessive": "tässä",
    "elative": "tästä",
    "adessive": "tällä",
    "ablative": "tältä",
    "allative": "tälle",
}
RELATIVE = {
    "nominative": "joka",
    "accusative": "jonka",
    "partitive": "jota",
    "elative": "josta",
    "inessive": "jossa",
}


class Finnish(Grammar):
    lexicon = finnish
    conjunctions: ClassVar = {
        "and": "ja",
        "but": "mutta",
        "because": "koska",
        "when": "kun",
        "that": "että",
    }
    commas = frozenset({"and", "but", "because", "when", "that", "where"})

    def clause(
        self,
        clause: Clause,
        path: str,
        *,
        subordinate: bool = False,
        antecedent: Thing | None = None,
    ) -> Phrase:
        subject = None
        if clause.subject is not None:
            subject = self.nominal(
                clause.subject, f"{path}.subject", POSSESSOR_CASES.get(clause.verb, "nominative")
            )
        chain = self.chain(clause, path, self.agreement(clause, antecedent))
        tail = self.tail(clause, path)
        if clause.verb == "exist":
            tail.append(subject)
            subject = tail.pop(0)
        if clause.verb == "be":
            chain.append(self.predicate(clause, path) or tail.pop())
        head = chain[-1]
        time = self.time(clause, path)
        opening = self.opening(clause, path, antecedent)
        front, middle = (time, None) if clause.fronted else (None, time)
        if clause.question and opening is None:
            chain[0].text += "ko" if is_back(chain[0].text) else "kö"
            order = [chain[0], subject]
        else:
            order = [opening, front, subject, chain[0]]
        # The time stands before a predicate, but after a verb.
        if clause.verb == "be":
            split = len(chain) - 1
        else:
            split = len(chain)
        order += [*chain[1:split], self.frequency(clause, path), middle, *chain[split:]]
        return join(head, *order, *tail, self.complement(clause, path))

    def chain(self, clause: Clause, path: str, agreeing: Thing) -> list[Word | Phrase]:
        """The verb of negation, the modal and the lexical verb, as far as there are any."""
        node = f"{path}.verb"
        verb = "be" if clause.verb == "exist" else clause.verb
        main = Word(
            finnish.VERBS[verb][0],
            "AUX" if clause.verb == "be" else "VERB",
            node,
            None if verb == "be" else verb,
        )
        chain = [main]
        if clause.modal is not None:
            chain.insert(0, Word("", "AUX", f"{path}.modal"))
        impersonal = (
            clause.verb in ("have", "have.part", "exist") or agreeing.count is not None
        )  # `kolme koiraa nukkuu`
        if impersonal:
            person = 2
        elif agreeing.plural:
            person = 3
        elif self.is_speaker(agreeing):
            person = 1
        else:
            person = 2
        forms = finnish.VERBS[clause.modal or verb]
        if clause.negated:
            chain[0].text = connegative(forms, past=clause.past, plural=person == 3)
            return [Word(("en", "ei", "eivät")[person - 1], "AUX", f"{path}.not"), *chain]
        chain[0].text = forms[person + (3 if clause.past else 0)]
        return chain

    def opening(self, clause: Clause, path: str, antecedent: Thing | None) -> Word | None:
        if clause.gap is None:
            return None
        node = f"{path}.gap"
        if antecedent is None:
            text, category = QUESTION_WORDS[clause.gap]
            return Word(
                "mistä" if clause.gap == "location" and clause.verb in INWARD else text,
                category,
                node,
            )
        if clause.gap == "subject":
            return Word(RELATIVE["nominative"], "PRON", node)
        case = "partitive" if clause.negated else finnish.VERBS[clause.verb][8]
        return Word(RELATIVE["inessive" if case == "location" else case], "PRON", node)

    def predicate(self, clause: Clause, path: str) -> Word | None:
        node = f"{path}.predicate"
        if clause.quality is not None:
            return Word(
                finnish.ADJECTIVES[clause.quality][4 if clause.subject.plural else 0],
                "ADJ",
                node,
                clause.quality,
            )
        if clause.profession is not None:
            return Word(finnish.NOUNS[clause.profession][0], "NOUN", node, clause.profession)
        return None

    def tail(self, clause: Clause, path: str) -> list[Phrase | None]:
        """Recipient, object and circumstances, in their order."""
        parts = []
        recipient = self.circumstance(clause, "recipient")
        if recipient is not None:
            parts.append(self.nominal(recipient, f"{path}.recipient", "allative"))
        if clause.object is not None:
            parts.append(self.nominal(clause.object, f"{path}.object", self.object_case(clause)))
        companion = self.circumstance(clause, "companion")
        if companion is not None:
            phrase = self.nominal(companion, f"{path}.companion", "genitive")
            parts.append(join(phrase, phrase, Word("kanssa", "ADP", f"{path}.companion.relation")))
        for role in ("instrument", "source", "direction", "location"):
            thing = self.circumstance(clause, role)
            if thing is not None:
                parts.append(
                    self.nominal(thing, f"{path}.{role}", self.place_case(role, thing, clause))
                )
        return parts

    def object_case(self, clause: Clause) -> str:
        case = finnish.VERBS[clause.verb][8]
        if case == "location":
            return self.place_case("location", clause.object, clause)
        if case == "elative":
            return case
        if clause.negated or case == "partitive" or clause.object.determiner == "bare":
            return "partitive"
        if clause.verb in POSSESSOR_CASES:
            return "nominative"
        return "accusative"

    def place_case(self, role: str, thing: Thing, clause: Clause) -> str:
        if role in ("instrument", "source"):
            return "adessive" if role == "instrument" else "elative"
        inner = thing.noun in finnish.CITIES or finnish.NOUNS[thing.noun][6] == "in"
        if (
            role == "direction" and thing.noun == "lake"
        ):  # one swims in it, but walks as far as its shore
            inner = False
        towards = role == "direction" or clause.verb in OUTWARD
        if role == "location" and clause.verb in INWARD:
            return "elative" if inner else "ablative"
        if inner:
            return "illative" if towards else "inessive"
        return "allative" if towards else "adessive"

    def nominal(self, thing: Thing, path: str, case: str) -> Phrase | None:
        if self.is_speaker(thing):
            if case == "nominative":
                return None
            return self.single(Word("minulla", "PRON", path))
        if thing.determiner == "pronoun":
            return self.single(Word("hän" if case == "nominative" else "hänellä", "PRON", path))
        if thing.noun in NAMES:
            forms = tuple(
                None if name is None else inflect(name_forms(name), case)
                for name in (thing.noun, thing.partner)
            )
            return self.names(thing, path, forms)
        if thing.noun in finnish.CITIES:
            return self.single(
                Word(inflect(finnish.CITIES[thing.noun], case), "PROPN", path, thing.noun)
            )
        if thing.determiner == "count":
            case = "partitive"  # `kolme kirjaa`, singular
        forms = finnish.NOUNS[thing.noun]
        bare_plural = (
            thing.many and thing.determiner == "bare"
        )  # an indefinite amount: `puutarhassa on kissoja`
        text = forms[4] if bare_plural else inflect(forms, case)
        if thing.determiner in ("my", "own"):
            first = thing.determiner == "my" or thing.owner == "I"
            text = suffixed(text, forms[5], case, first_person=first)
        noun = Word(text, "NOUN", path, thing.noun)
        quality = None
        if thing.quality is not None:
            adjective = finnish.ADJECTIVES[thing.quality]
            text = adjective[4] if bare_plural else inflect(adjective, case)
            quality = Word(text, "ADJ", f"{path}.quality", thing.quality)
        relative = []
        if thing.relative is not None:
            clause = self.clause(
                thing.relative, f"{path}.relative", subordinate=True, antecedent=thing
            )
            relative = [join(clause, punctuation(","), clause, punctuation(","))]
        return join(noun, self.determiner(thing, path, case), quality, noun, *relative)

    def determiner(self, thing: Thing, path: str, case: str) -> Word | None:
        if thing.determiner == "count":
            return self.number(thing, path)
        if thing.determiner == "this":
            return Word(
                THIS["genitive" if case == "accusative" else case], "DET", f"{path}.determiner"
            )
        if thing.determiner == "name":
            return Word(name_forms(thing.owner)[1], "PROPN", f"{path}.owner", thing.owner)
        return None

    def finish(self, words: list[Word]) -> list[Word]:
        return words


def is_back(text: str) -> bool:
    """True if endings have a, o, u; the last vowel that is not neutral decides (vowel harmony)."""
    vowels = [letter for letter in text.lower() if letter in "aouäöy"]
    return bool(vowels) and vowels[-1] in "aou"


def name_forms(name: str) -> tuple[str, str, str]:
    """A person's name -> nominative, genitive, partitive."""
    if name[-1] in "aeiou":
        return name, f"{name}n", f"{name}a"
    return name, f"{name}in", f"{name}ia"


def inflect(forms: tuple[str, ...], case: str) -> str:
    """Singular forms of an entry; the stored partitive shows the vowel harmony."""
    if case == "nominative":
        return forms[0]
    if case in ("genitive", "accusative"):
        return forms[1]
    if case in ("partitive", "illative"):
        return forms[2 if case == "partitive" else 3]
    if forms[2].endswith("a"):
        ending = ENDINGS[case]
    else:
        ending = ENDINGS[case].replace("a", "ä")
    return forms[1].removesuffix("n") + ending


def suffixed(text: str, stem: str, case: str, *, first_person: bool) -> str:
    """`my` or the subject's own: kirjani, kirjansa, talossaan."""
    if case in ("nominative", "genitive", "accusative"):
        text = stem
    elif case == "illative":
        text = text.removesuffix("n")
    if first_person:
        return f"{text}ni"
    lengthened = (
        case not in ("nominative", "genitive", "accusative", "illative") and text[-1] != text[-2]
    )
    if lengthened:
        return f"{text}{text[-1]}n"
    return f"{text}nsa" if is_back(text) else f"{text}nsä"


def connegative(forms: tuple[str, ...], *, past: bool, plural: bool) -> str:
    """Verb form after the verb of negation: `ei lue`, `ei lukenut`, `eivät lukeneet`."""
    if not past:
        return forms[1].removesuffix("n")
    return f"{forms[7][:-2]}eet" if plural else forms[7]
