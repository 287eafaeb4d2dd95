"""Czech: seven cases, no articles, animate and inanimate nouns, clitics in second position."""

from __future__ import annotations

import itertools
from typing import ClassVar

from polyglot.phrasebook.grammar import Grammar
from polyglot.phrasebook.lexicon import czech
from polyglot.phrasebook.meaning import Clause, Thing
from polyglot.phrasebook.people import NAMES, WOMEN
from polyglot.phrasebook.phrase import Phrase, Word, adposition, join, punctuation

CASES = ("nominative", "genitive", "dative", "accusative", "locative", "instrumental")
NOMINATIVE, GENITIVE, DATIVE, ACCUSATIVE, LOCATIVE, INSTRUMENTAL = CASES
PLURAL_CASES = (NOMINATIVE, GENITIVE, ACCUSATIVE)  # things in the plural are subjects or objects
GENDERS = "aifn"  # masculine animate, masculine inanimate, feminine, neuter
QUESTION_WORDS = {
    "subject": ("kdo", "PRON"),
    "object": ("co", "PRON"),
    "location": ("kde", "ADV"),
    "time": ("kdy", "ADV"),
}

# by case, one ending for each gender
SINGULAR = {
    "hard": (
        "ý ý á é",
        "ého ého é ého",
        "ému ému é ému",
        "ého ý ou é",
        "ém ém é ém",
        "ým ým ou ým",
    ),
    "this": (
        "tento tento tato toto",
        "tohoto tohoto této tohoto",
        "tomuto tomuto této tomuto",
        "tohoto tento tuto toto",
        "tomto tomto této tomto",
        "tímto tímto touto tímto",
    ),
    "mine": (
        "ůj ůj oje oje",
        "ého ého é ého",
        "ému ému é ému",
        "ého ůj oji oje",
        "ém ém é ém",
        "ým ým ou ým",
    ),
    "owner": ("- - a o", "a a y a", "u u ě u", "a - u o", "ě ě ě ě", "ým ým ou ým"),
    "which": (
        "ý ý á é",
        "ého ého é ého",
        "ému ému é ému",
        "ého ý ou é",
        "ém ém é ém",
        "ým ým ou ým",
    ),
}
PLURAL = {
    "hard": ("í é é á", "ých ých ých ých", "é é é á"),
    "this": ("tito tyto tyto tato", "těchto těchto těchto těchto", "tyto tyto tyto tato"),
    "mine": ("oji oje oje oje", "ých ých ých ých", "oje oje oje oje"),
    "owner": ("i y y a", "ých ých ých ých", "y y y a"),
    "which": ("í é é á", "ých ých ých ých", "é é é á"),
}
PAST_ENDINGS = {"a": ("", "i"), "i": ("", "y"), "f": ("a", "y"), "n": ("o", "a")}
TAUGHT = "teach"  # the only verb whose recipient is in the accusative: `učí dítě píseň`


class Czech(Grammar):
    lexicon = czech
    conjunctions: ClassVar = {
        "and": "a",
        "but": "ale",
        "because": "protože",
        "when": "když",
        "that": "že",
    }
    commas = frozenset({"but", "because", "when", "that", "where"})

    def clause(
        self,
        clause: Clause,
        path: str,
        *,
        subordinate: bool = False,
        antecedent: Thing | None = None,
    ) -> Phrase:
        agreeing = self.agreement(clause, antecedent)
        if clause.subject is None:
            subject = None
        else:
            subject = self.nominal(clause.subject, f"{path}.subject", NOMINATIVE)
        chain, clitics = self.chain(clause, path, agreeing)
        tail = self.tail(clause, path)
        if clause.verb == "exist":
            tail.append(subject)
            subject = tail.pop(0)
        if clause.verb == "be":
            chain.append(self.predicate(clause, path) or tail.pop())
        head = chain[-1]
        time, frequency, opening = (
            self.time(clause, path),
            self.frequency(clause, path),
            self.opening(clause, path, antecedent),
        )
        if clause.question and opening is None:
            order = [chain[0], subject, time, frequency, *chain[1:]]
        elif clause.fronted:
            order = [time, subject, frequency, *chain]
        elif (
            clause.verb in ("be", "exist")
            or subject is None
            and not subordinate
            and opening is None
        ):
            order = [subject, frequency, chain[0], time, *chain[1:]]
        else:
            order = [opening, subject, time, frequency, *chain]
        order = [part for part in order if part is not None]
        if opening is not None and order[0] is not opening:
            order.insert(0, opening)
        # A conjunction counts as the first place.
        if subordinate and opening is None:
            second = 0
        else:
            second = 1
        return join(
            head, *order[:second], *clitics, *order[second:], *tail, self.complement(clause, path)
        )

    def chain(
        self,
        clause: Clause,
        path: str,
        agreeing: Thing,
    ) -> tuple[list[Word | Phrase], list[Word]]:
        """Verbs from the finite to the lexical verb, and their clitics."""
        node = f"{path}.verb"
        verb = "be" if clause.verb == "exist" else clause.verb
        forms = czech.VERBS[verb]
        main = Word(
            forms[0], "AUX" if clause.verb == "be" else "VERB", node, None if verb == "be" else verb
        )
        clitics = []
        if clause.past and self.is_speaker(agreeing):
            clitics.append(Word("jsem", "AUX", f"{path}.modal" if clause.modal else node))
        if forms[5]:
            clitics.append(Word(forms[5], "PRON", node))
        if clause.modal is None:
            main.text = self.finite(verb, clause, agreeing)
            return [main], clitics
        return [
            Word(self.finite(clause.modal, clause, agreeing), "AUX", f"{path}.modal"),
            main,
        ], clitics

    def finite(self, verb: str, clause: Clause, agreeing: Thing) -> str:
        forms = czech.VERBS[verb]
        many = agreeing.count is not None and agreeing.count >= 5  # `pět koček spalo`
        plural = self.plural(agreeing) and not many
        if clause.past:
            if many:
                ending = "o"
            else:
                ending = PAST_ENDINGS[self.gender(agreeing)][plural]
            text = (czech.PAST_STEMS.get(forms[4], forms[4]) if ending else forms[4]) + ending
        else:
            text = forms[3 if plural else 1 if self.is_speaker(agreeing) else 2]
        if not clause.negated:
            return text
        return "není" if text == "je" else "ne" + text

    def gender(self, thing: Thing) -> str:
        if thing.noun == "child" and thing.plural:  # `dítě` is neuter, `děti` feminine
            return "f"
        gender = super().gender(thing)
        return "a" if gender == "m" else gender

    def plural(self, thing: Thing) -> bool:
        """True if the form is plural; doors, newspapers and money have no singular."""
        return thing.plural or thing.noun in czech.NOUNS and czech.NOUNS[thing.noun][1] == ""

    def opening(self, clause: Clause, path: str, antecedent: Thing | None) -> Word | None:
        if clause.gap is None:
            return None
        if antecedent is None:
            return Word(*QUESTION_WORDS[clause.gap], f"{path}.gap")
        case = NOMINATIVE if clause.gap == "subject" else ACCUSATIVE
        soft = case == NOMINATIVE and self.plural(antecedent) and self.gender(antecedent) == "a"
        return Word(
            ("kteř" if soft else "kter") + self.ending("which", antecedent, case),
            "PRON",
            f"{path}.gap",
        )

    def predicate(self, clause: Clause, path: str) -> Word | None:
        node = f"{path}.predicate"
        if clause.quality is not None:
            return Word(
                self.adjective(clause.quality, clause.subject, NOMINATIVE),
                "ADJ",
                node,
                clause.quality,
            )
        if clause.profession is not None:
            text = czech.PROFESSIONS[clause.profession][clause.subject.noun in WOMEN]
            return Word(text, "NOUN", node, clause.profession)
        return None

    def tail(self, clause: Clause, path: str) -> list[Phrase | None]:
        """Recipient, object and circumstances, in their order."""
        parts = []
        recipient = self.circumstance(clause, "recipient")
        if recipient is not None:
            parts.append(
                self.nominal(
                    recipient, f"{path}.recipient", ACCUSATIVE if clause.verb == TAUGHT else DATIVE
                )
            )
        if clause.object is not None:
            thing = self.nominal(clause.object, f"{path}.object", ACCUSATIVE)
            preposition = czech.VERBS[clause.verb][6]
            parts.append(
                join(thing, adposition(preposition, f"{path}.object"), thing)
                if preposition
                else thing
            )
        for role in ("companion", "instrument", "source", "direction", "location"):
            thing = self.circumstance(clause, role)
            if thing is not None:
                preposition, case = self.preposition(role, thing)
                phrase = self.nominal(thing, f"{path}.{role}", case)
                parts.append(
                    join(
                        phrase,
                        adposition(preposition, f"{path}.{role}") if preposition else None,
                        phrase,
                    )
                )
        return parts

    def preposition(self, role: str, thing: Thing) -> tuple[str, str]:
        if role in ("companion", "instrument", "source"):
            return {
                "companion": ("s", INSTRUMENTAL),
                "instrument": ("", INSTRUMENTAL),
                "source": ("z", GENITIVE),
            }[role]
        if thing.noun in czech.CITIES:
            if role == "location":
                return ("v", LOCATIVE)
            return ("do", GENITIVE)
        if role == "location":
            return czech.NOUNS[thing.noun][10], LOCATIVE
        preposition, case = czech.NOUNS[thing.noun][11].split(":")
        return preposition, case

    def nominal(self, thing: Thing, path: str, case: str) -> Phrase | None:
        if self.is_speaker(thing) or thing.determiner == "pronoun":
            return None
        column = CASES.index(case)
        if thing.noun in NAMES:
            return self.names(
                thing,
                path,
                tuple(
                    czech.NAMES[name][column] if name else None
                    for name in (thing.noun, thing.partner)
                ),
            )
        if thing.noun in czech.CITIES:
            nominative, genitive, locative = czech.CITIES[thing.noun]
            accusative = czech.CITY_ACCUSATIVE.get(thing.noun, nominative)
            text = {GENITIVE: genitive, LOCATIVE: locative, ACCUSATIVE: accusative}[case]
            return self.single(Word(text, "PROPN", path, thing.noun))
        number = None
        if thing.determiner == "count":
            number = self.number(thing, path)
            if thing.count == 2 and self.gender(thing) in "fn":
                number.text = "dvě"
            if thing.count >= 5:
                case = GENITIVE
        forms = czech.NOUNS[thing.noun]
        if self.plural(thing):
            text = forms[7 + PLURAL_CASES.index(case)]
        else:
            text = forms[1 + CASES.index(case)]
        noun = Word(text, "NOUN", path, thing.noun)
        quality = None
        if thing.quality is not None:
            quality = Word(
                self.adjective(thing.quality, thing, case), "ADJ", f"{path}.quality", thing.quality
            )
        relative = []
        if thing.relative is not None:
            clause = self.clause(
                thing.relative, f"{path}.relative", subordinate=True, antecedent=thing
            )
            relative = [join(clause, punctuation(","), clause, punctuation(","))]
        return join(noun, number or self.determiner(thing, path, case), quality, noun, *relative)

    def determiner(self, thing: Thing, path: str, case: str) -> Word | None:
        node = f"{path}.determiner"
        if thing.determiner == "this":
            return Word(self.ending("this", thing, case), "DET", node)
        if thing.determiner in ("my", "own"):
            return Word(
                ("m" if thing.determiner == "my" else "sv") + self.ending("mine", thing, case),
                "PRON",
                node,
            )
        if thing.determiner == "name":
            stem = czech.NAMES[thing.owner][6]
            ending = self.ending("owner", thing, case)
            if ending != "-":
                text = stem + ending
            elif thing.owner in WOMEN:
                text = stem
            else:
                text = stem.removesuffix("ov") + "ův"
            return Word(text, "ADJ", f"{path}.owner", thing.owner)
        return None

    def adjective(self, quality: str, thing: Thing, case: str) -> str:
        stem, soft = czech.ADJECTIVES[quality]
        animate_plural = case == NOMINATIVE and self.plural(thing) and self.gender(thing) == "a"
        return (soft if animate_plural else stem) + self.ending("hard", thing, case)

    def ending(self, paradigm: str, thing: Thing, case: str) -> str:
        if self.plural(thing):
            table = PLURAL[paradigm][PLURAL_CASES.index(case)]
        else:
            table = SINGULAR[paradigm][CASES.index(case)]
        return table.split()[GENDERS.index(self.gender(thing))]

    def finish(self, words: list[Word]) -> list[Word]:
        for word, following in itertools.pairwise(words):
            if (
                word.category == "ADP"
                and word.text in ("v", "s", "z", "k")
                and vocalises(word.text, following.text.lower())
            ):
                word.text += "e"
        return words


def vocalises(preposition: str, following: str) -> bool:
    """True if the preposition takes an `e`: ve škole, se psem, but v Praze, s matkou."""
    cluster = following[0] in "szšž" and following[1] not in "aeiouyáéíóúůýě"
    if preposition == "v":
        return following[0] in "vf" or cluster
    if preposition == "k":
        return following[0] in "kg" or cluster
    return following[0] in "szšž" or following.startswith(("ps", "mn"))
