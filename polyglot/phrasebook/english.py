"""English: articles, do-support, fixed order."""

from __future__ import annotations

import itertools
from typing import ClassVar

from polyglot.phrasebook.grammar import Grammar
from polyglot.phrasebook.lexicon import english
from polyglot.phrasebook.meaning import Clause, Thing
from polyglot.phrasebook.people import NAMES, PEOPLE, is_female
from polyglot.phrasebook.phrase import Phrase, Word, adposition, join

PREPOSITIONS = {"recipient": "to", "companion": "with", "instrument": "with", "source": "from"}
ROLES = ("recipient", "companion", "instrument", "source", "direction", "location")
QUESTION_WORDS = {
    "subject": ("who", "PRON"),
    "object": ("what", "PRON"),
    "location": ("where", "ADV"),
    "time": ("when", "ADV"),
}
INSTRUMENTS = ("piano", "guitar", "violin")  # played with an article, unlike games


class English(Grammar):
    lexicon = english
    conjunctions: ClassVar = {
        "and": "and",
        "but": "but",
        "because": "because",
        "when": "when",
        "that": "that",
    }
    commas = frozenset({"but"})

    def clause(
        self,
        clause: Clause,
        path: str,
        *,
        subordinate: bool = False,
        antecedent: Thing | None = None,
    ) -> Phrase:
        if clause.subject is None:
            subject = None
        else:
            subject = self.nominal(clause.subject, f"{path}.subject")
        opening = self.opening(clause, path, antecedent)
        chain = self.chain(clause, path, self.agreement(clause, antecedent))
        frequency = self.frequency(clause, path)
        tail = self.tail(clause, path)
        if clause.verb == "exist":
            tail.insert(0, subject)
            subject = Word("there", "PRON", f"{path}.verb")
        if clause.verb == "be":
            chain.append(self.predicate(clause, path) or tail.pop())
        head = chain[-1]
        if clause.question and clause.gap != "subject":
            ordered = [chain[0], subject, frequency, *chain[1:]]
        elif len(chain) == 1:
            ordered = [subject, frequency, *chain]
        else:
            ordered = [subject, chain[0], frequency, *chain[1:]]
        time = self.time(clause, path)
        front, back = (time, None) if clause.fronted else (None, time)
        return join(head, opening, front, *ordered, *tail, back, self.complement(clause, path))

    def chain(self, clause: Clause, path: str, agreeing: Thing) -> list[Word | Phrase]:
        """The verbs from the finite one to the lexical one, `not` and `to` among them."""
        node = f"{path}.verb"
        modal = f"{path}.modal"
        if clause.past:
            form = 2
        elif agreeing.plural or self.is_speaker(agreeing):
            form = 0
        else:
            form = 1
        if clause.negated:
            negation = [Word("not", "PART", f"{path}.not")]
        else:
            negation = []
        if clause.verb in ("be", "exist"):
            if clause.past and agreeing.plural:
                being = "were"
            elif clause.past:
                being = "was"
            elif form == 0:
                being = "am"
            else:
                being = "is"
            being = "are" if agreeing.plural and not clause.past else being
            return [Word(being, "AUX" if clause.verb == "be" else "VERB", node), *negation]
        forms = english.VERBS[clause.verb]
        main = Word(forms[0], "VERB", node, clause.verb)
        if clause.modal == "can":
            if clause.negated and not clause.past:
                return [Word("cannot", "AUX", modal), main]
            return [Word("could" if clause.past else "can", "AUX", modal), *negation, main]
        supported = clause.negated or clause.question and clause.gap != "subject"
        if supported:
            do = [Word(("do", "does", "did")[form], "AUX", node), *negation]
        else:
            do = []
        if clause.modal == "want":
            want = ("want", "wants", "wanted")[0 if supported else form]
            return [*do, Word(want, "AUX", modal), Word("to", "PART", modal), main]
        if not supported:
            main.text = forms[form]
        return [*do, main]

    def opening(self, clause: Clause, path: str, antecedent: Thing | None) -> Word | None:
        if clause.gap is None:
            return None
        text, category = QUESTION_WORDS[clause.gap]
        if antecedent is not None:
            text = "who" if antecedent.noun in PEOPLE else "that"
        return Word(text, category, f"{path}.gap")

    def predicate(self, clause: Clause, path: str) -> Phrase | Word | None:
        if clause.quality is not None:
            return Word(
                english.ADJECTIVES[clause.quality][0], "ADJ", f"{path}.predicate", clause.quality
            )
        if clause.profession is not None:
            noun = Word(
                english.NOUNS[clause.profession][0], "NOUN", f"{path}.predicate", clause.profession
            )
            return join(noun, Word("a", "DET", f"{path}.predicate.determiner"), noun)
        return None

    def tail(self, clause: Clause, path: str) -> list[Phrase | None]:
        """The object and the circumstances, in their order."""
        parts = []
        if clause.object is not None:
            thing = self.nominal(clause.object, f"{path}.object")
            preposition = english.VERBS[clause.verb][3]
            parts.append(
                join(thing, adposition(preposition, f"{path}.object"), thing)
                if preposition
                else thing
            )
        for role in ROLES:
            thing = self.circumstance(clause, role)
            if thing is not None:
                phrase = self.nominal(thing, f"{path}.{role}")
                parts.append(
                    join(
                        phrase,
                        adposition(self.preposition(role, thing, clause), f"{path}.{role}"),
                        phrase,
                    )
                )
        return parts

    def preposition(self, role: str, thing: Thing, clause: Clause) -> str:
        if role in PREPOSITIONS:
            return PREPOSITIONS[role]
        inside = (
            role == "location" or clause.verb == "arrive"
        )  # one arrives in a city, at a station
        if thing.noun in english.CITIES:
            return "in" if inside else "to"
        return english.NOUNS[thing.noun][2 if inside else 3]

    def nominal(self, thing: Thing, path: str) -> Phrase:
        if self.is_speaker(thing):
            return self.single(Word("I", "PRON", path))
        if thing.determiner == "pronoun":
            return self.single(Word("she" if is_female(thing.noun) else "he", "PRON", path))
        if thing.noun in NAMES:
            return self.names(thing, path, (thing.noun, thing.partner))
        if thing.noun in english.CITIES:
            return self.single(Word(english.CITIES[thing.noun][0], "PROPN", path, thing.noun))
        noun = Word(english.NOUNS[thing.noun][1 if thing.plural else 0], "NOUN", path, thing.noun)
        if thing.quality is None:
            quality = None
        else:
            quality = Word(
                english.ADJECTIVES[thing.quality][0], "ADJ", f"{path}.quality", thing.quality
            )
        relative = None
        if thing.relative is not None:
            relative = self.clause(
                thing.relative, f"{path}.relative", subordinate=True, antecedent=thing
            )
        return join(noun, self.determiner(thing, path), quality, noun, relative)

    def determiner(self, thing: Thing, path: str) -> Phrase | Word | None:
        node = f"{path}.determiner"
        if thing.determiner == "count":
            return self.number(thing, path)
        if thing.determiner == "name":
            owner = Word(thing.owner, "PROPN", f"{path}.owner", thing.owner)
            return join(owner, owner, Word("'s", "PART", f"{path}.possession"))
        if thing.determiner in ("my", "own"):
            mine = thing.determiner == "my" or thing.owner == "I"
            return Word("my" if mine else "her" if is_female(thing.owner) else "his", "PRON", node)
        if thing.determiner == "generic":
            if thing.noun in INSTRUMENTS:
                return Word("the", "DET", node)
            return None
        if thing.determiner == "this":
            return Word("these" if thing.plural else "this", "DET", node)
        if thing.determiner == "bare":
            return None
        return Word(thing.determiner, "DET", node)

    def finish(self, words: list[Word]) -> list[Word]:
        for word, following in itertools.pairwise(words):
            if word.text == "a" and following.text[0] in "aeio":
                word.text = "an"
        return words
