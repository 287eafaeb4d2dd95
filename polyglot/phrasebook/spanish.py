"""Spanish: dropped subjects, ser and estar, personal `a`, questions that begin with the verb."""

from __future__ import annotations

from typing import ClassVar

from polyglot.phrasebook.grammar import Grammar
from polyglot.phrasebook.lexicon import spanish
from polyglot.phrasebook.meaning import Clause, Thing
from polyglot.phrasebook.people import NAMES, PEOPLE, is_female
from polyglot.phrasebook.phrase import Phrase, Word, adposition, join
from polyglot.phrasebook.world import PETS

PREPOSITIONS = {
    "recipient": "a",
    "companion": "con",
    "instrument": "con",
    "source": "de",
    "direction": "a",
    "location": "en",
}
QUESTION_WORDS = {
    "subject": ("quién", "PRON"),
    "object": ("qué", "PRON"),
    "location": ("dónde", "ADV"),
    "time": ("cuándo", "ADV"),
}
POSTURES = {"sit": "sentad"}  # said with `estar` and a participle
FAMILIAR = ("this", "my", "own", "name")  # an animal that one knows takes the personal `a`

# masculine, feminine, masculine plural, feminine plural
ARTICLES = {
    "the": ("el", "la", "los", "las"),
    "a": ("un", "una", "unos", "unas"),
    "this": ("este", "esta", "estos", "estas"),
    "my": ("mi", "mi", "mis", "mis"),
    "own": ("su", "su", "sus", "sus"),
}
CONTRACTIONS = {("a", "el"): "al", ("de", "el"): "del"}


class Spanish(Grammar):
    lexicon = spanish
    conjunctions: ClassVar = {
        "and": "y",
        "but": "pero",
        "because": "porque",
        "when": "cuando",
        "that": "que",
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
        if clause.subject is not None and self.is_speaker(clause.subject) and clause.past:
            forms = spanish.VERBS[
                clause.modal or (copula(clause) if clause.verb == "be" else clause.verb)
            ]
            if forms[4] == forms[5]:  # `estaba` is I or he, so that the `I` must be said
                subject = self.single(Word("yo", "PRON", f"{path}.subject"))
        chain = self.chain(clause, path, self.agreement(clause, antecedent))
        tail = self.tail(clause, path)
        if clause.verb == "exist":
            tail.insert(0, subject)
            subject = None
        if clause.verb == "be":
            chain.append(self.predicate(clause, path) or tail.pop())
        if clause.negated:
            negation = Word("no", "PART", f"{path}.not")
        else:
            negation = None
        clitic = None
        if "recipient" in dict(
            clause.circumstances
        ):  # the recipient is said twice: `le da un libro a Anna`
            clitic = Word("le", "PRON", f"{path}.verb")
        verbs = [negation, clitic, chain[0]]
        frequency = self.frequency(clause, path)
        if (
            clause.gap == "location" or clause.question and clause.verb in POSTURES
        ):  # `¿Dónde puede dormir Sara?`
            ordered = [*verbs, *chain[1:], subject, frequency]
        elif clause.question:
            ordered = [*verbs, subject, frequency, *chain[1:]]
        else:
            ordered = [subject, *verbs, frequency, *chain[1:]]
        opening = None
        if clause.gap is not None:
            if antecedent is not None:
                opening = Word("que", "PRON", f"{path}.gap")
            else:
                opening = Word(*QUESTION_WORDS[clause.gap], f"{path}.gap")
        time = self.time(clause, path)
        front, back = (time, None) if clause.fronted else (None, time)
        mark = Word("¿", "PUNCT", "end") if clause.question else None
        return join(
            chain[-1], mark, opening, front, *ordered, *tail, back, self.complement(clause, path)
        )

    def chain(self, clause: Clause, path: str, agreeing: Thing) -> list[Word | Phrase]:
        """The verbs from the finite one to the lexical one; a copula stands alone."""
        node = f"{path}.verb"
        if clause.verb == "exist":
            return [Word("había" if clause.past else "hay", "VERB", node)]
        if clause.verb == "be":
            return [Word(self.finite(copula(clause), clause, agreeing), "AUX", node)]
        main = Word(spanish.VERBS[clause.verb][0], "VERB", node, clause.verb)
        posture = POSTURES.get(clause.verb)
        if posture is not None:
            main.text = (
                posture
                + ("a" if self.gender(agreeing) == "f" else "o")
                + ("s" if agreeing.plural else "")
            )
        if clause.modal is not None:
            modal = Word(self.finite(clause.modal, clause, agreeing), "AUX", f"{path}.modal")
            if posture:
                return [modal, Word("estar", "AUX", node), main]
            return [modal, main]
        finite = self.finite(clause.verb, clause, agreeing)
        if posture is not None:
            return [Word(finite, "AUX", node), main]
        main.text = finite
        return [main]

    def finite(self, verb: str, clause: Clause, agreeing: Thing) -> str:
        if agreeing.plural:
            person = 3
        elif self.is_speaker(agreeing):
            person = 1
        else:
            person = 2
        return spanish.VERBS[verb][person + (3 if clause.past else 0)]

    def predicate(self, clause: Clause, path: str) -> Word | None:
        node = f"{path}.predicate"
        if clause.quality is not None:
            return Word(
                spanish.ADJECTIVES[clause.quality][self.column(clause.subject)],
                "ADJ",
                node,
                clause.quality,
            )
        if clause.profession is not None:
            female = is_female(clause.subject.noun)
            if female:
                text = spanish.PROFESSIONS[clause.profession]
            else:
                text = spanish.NOUNS[clause.profession][1]
            return Word(text, "NOUN", node, clause.profession)
        return None

    def column(self, thing: Thing) -> int:
        return (0 if self.gender(thing) == "m" else 1) + (2 if thing.plural else 0)

    def tail(self, clause: Clause, path: str) -> list[Phrase | None]:
        """The object and the circumstances, in their order."""
        parts = []
        if clause.object is not None:
            thing = self.nominal(clause.object, f"{path}.object")
            preposition = spanish.VERBS[clause.verb][7] or (
                "a" if self.takes_personal_a(clause) else ""
            )
            parts.append(
                join(thing, adposition(preposition, f"{path}.object"), thing)
                if preposition
                else thing
            )
        for role, preposition in PREPOSITIONS.items():
            thing = self.circumstance(clause, role)
            if thing is not None:
                phrase = self.nominal(thing, f"{path}.{role}")
                parts.append(join(phrase, adposition(preposition, f"{path}.{role}"), phrase))
        return parts

    def takes_personal_a(self, clause: Clause) -> bool:
        thing = clause.object
        return clause.verb != "have" and (
            thing.noun in PEOPLE or thing.noun in PETS and thing.determiner in FAMILIAR
        )

    def nominal(self, thing: Thing, path: str) -> Phrase | None:
        if self.is_speaker(thing) or thing.determiner == "pronoun":
            return None
        if thing.noun in NAMES:
            return self.names(thing, path, (thing.noun, thing.partner))
        if thing.noun in spanish.CITIES:
            return self.single(Word(spanish.CITIES[thing.noun][0], "PROPN", path, thing.noun))
        noun = Word(spanish.NOUNS[thing.noun][2 if thing.plural else 1], "NOUN", path, thing.noun)
        quality = None
        if thing.quality is not None:
            quality = Word(
                spanish.ADJECTIVES[thing.quality][self.column(thing)],
                "ADJ",
                f"{path}.quality",
                thing.quality,
            )
        owner = None
        if thing.determiner == "name":
            name = Word(thing.owner, "PROPN", f"{path}.owner", thing.owner)
            owner = join(name, Word("de", "ADP", f"{path}.possession"), name)
        relative = None
        if thing.relative is not None:
            relative = self.clause(
                thing.relative, f"{path}.relative", subordinate=True, antecedent=thing
            )
        return join(noun, self.determiner(thing, path), noun, quality, owner, relative)

    def determiner(self, thing: Thing, path: str) -> Word | None:
        if thing.determiner == "bare":
            return None
        if thing.determiner == "count":
            return self.number(thing, path)
        kind = {"name": "the", "generic": "the"}.get(thing.determiner, thing.determiner)
        if kind == "own" and thing.owner == "I":
            kind = "my"
        column = self.column(thing)
        if kind == "the" and self.gender(thing) == "e":  # `el agua`, although `agua` is feminine
            column = 0
        return Word(
            ARTICLES[kind][column], "PRON" if kind in ("my", "own") else "DET", f"{path}.determiner"
        )

    def finish(self, words: list[Word]) -> list[Word]:
        finished: list[Word] = []
        for word in words:
            if finished and word.category == "DET":
                pair = (finished[-1].text, word.text)
            else:
                pair = None
            if pair in CONTRACTIONS:
                finished[-1].text = CONTRACTIONS[pair]
            else:
                finished.append(word)
        return finished


def copula(clause: Clause) -> str:
    """`ser` for permanent properties, `estar` for states and places."""
    if clause.profession is not None:
        return "be.s"
    if clause.quality is None:
        return "be.e"
    return f"be.{spanish.ADJECTIVES[clause.quality][4]}"
