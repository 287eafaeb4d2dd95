"""Base class of the six grammars: clauses become a sentence, with agreement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import ModuleType

from polyglot.phrasebook.meaning import SPEAKER, Clause, Meaning, Thing
from polyglot.phrasebook.people import NAMES, WOMEN
from polyglot.phrasebook.phrase import Phrase, Word, fixed, join, punctuation
from polyglot.phrasebook.sentence import Token, freeze

COORDINATING = ("and", "but")


class Grammar(ABC):
    """Grammar of one language: maps a meaning to tokens, deterministically."""

    lexicon: ModuleType
    conjunctions: Mapping[str, str]
    commas: frozenset[str]  # conjunctions with a comma before them

    def realise(self, meaning: Meaning) -> tuple[Token, ...]:
        phrase = self.clause(meaning.first, "first")
        if meaning.second is not None:
            subordinate = meaning.link not in COORDINATING
            second = self.linked(
                meaning.second, "second", link=meaning.link, subordinate=subordinate
            )
            phrase = join(phrase, phrase, self.comma(meaning.link), second)
        end = Word("?" if meaning.first.question else ".", "PUNCT", "end")
        words = self.finish(join(phrase, phrase, end).words)
        words = [
            word
            for word, following in zip(words, [*words[1:], end], strict=True)
            if word.text != "," or following.text not in ".,?"
        ]
        first = next(word for word in words if word.category != "PUNCT")
        first.text = first.text[0].upper() + first.text[1:]
        return freeze(words)

    def linked(self, clause: Clause, path: str, *, link: str, subordinate: bool) -> Phrase:
        """A clause after its conjunction."""
        phrase = self.clause(clause, path, subordinate=subordinate)
        word = Word(
            self.conjunction(link, clause), "SCONJ" if subordinate else "CCONJ", f"{path}.link"
        )
        return join(phrase, word, phrase)

    def complement(self, clause: Clause, path: str) -> Phrase | None:
        """Complement clause after verbs of saying and knowing: with `that` or a question word."""
        if clause.complement is None:
            return None
        inner = f"{path}.complement"
        if clause.link == "where":
            phrase = self.clause(clause.complement, inner, subordinate=True)
        else:
            phrase = self.linked(clause.complement, inner, link=clause.link, subordinate=True)
        return join(phrase, self.comma(clause.link), phrase)

    def comma(self, link: str) -> Word | None:
        return punctuation(",") if link in self.commas else None

    def conjunction(self, link: str, clause: Clause) -> str:
        return self.conjunctions[link]

    @abstractmethod
    def clause(
        self,
        clause: Clause,
        path: str,
        *,
        subordinate: bool = False,
        antecedent: Thing | None = None,
    ) -> Phrase:
        """Words of one clause in order; a relative clause gets its antecedent."""

    @abstractmethod
    def finish(self, words: list[Word]) -> list[Word]:
        """Contract and elide neighbouring words, and vocalise prepositions."""

    def agreement(self, clause: Clause, antecedent: Thing | None) -> Thing:
        """Thing that the verb agrees with; `who` agrees like `man`."""
        return clause.subject or antecedent or Thing("man", "the")

    @staticmethod
    def is_speaker(thing: Thing) -> bool:
        return thing.noun == SPEAKER

    def gender(self, thing: Thing) -> str:
        """Grammatical gender of a noun, or natural gender of a person."""
        if thing.noun in NAMES:
            both = thing.noun in WOMEN and (thing.partner is None or thing.partner in WOMEN)
            return "f" if both else "m"
        if self.is_speaker(thing):
            return "m"
        return self.lexicon.NOUNS[thing.noun][0]

    def number(self, thing: Thing, path: str) -> Word:
        return Word(
            self.lexicon.NUMBERS.get(thing.count, str(thing.count)),
            "NUM",
            f"{path}.count",
            f"number.{thing.count}",
        )

    @staticmethod
    def single(word: Word) -> Phrase:
        return join(word, word)

    def names(self, thing: Thing, path: str, forms: tuple[str, str | None]) -> Phrase:
        """One name, or two names joined by `and`."""
        first = Word(forms[0], "PROPN", path, thing.noun)
        if forms[1] is None:
            return self.single(first)
        second = Word(forms[1], "PROPN", f"{path}.partner", thing.partner)
        return join(
            first,
            first,
            join(second, Word(self.conjunctions["and"], "CCONJ", f"{path}.and"), second),
        )

    def time(self, clause: Clause, path: str) -> Phrase | None:
        if clause.time is None:
            return None
        sense, _, value = clause.time.partition(":")
        return fixed(self.lexicon.TIMES[sense].replace("{}", value), f"{path}.time", sense)

    def frequency(self, clause: Clause, path: str) -> Phrase | None:
        if clause.frequency is None:
            return None
        *before, last = self.lexicon.FREQUENCIES[clause.frequency].split()
        head = Word(last, "ADV", f"{path}.frequency", clause.frequency)
        return join(head, *(Word(word, "ADP", f"{path}.frequency") for word in before), head)

    def circumstance(self, clause: Clause, role: str) -> Thing | None:
        return dict(clause.circumstances).get(role)
