"""German: verb second in main clauses, verb last in subordinate ones, three genders, four cases."""

from __future__ import annotations

from typing import ClassVar

from polyglot.phrasebook.grammar import Grammar
from polyglot.phrasebook.lexicon import german
from polyglot.phrasebook.meaning import Clause, Thing
from polyglot.phrasebook.people import NAMES, is_female
from polyglot.phrasebook.phrase import Phrase, Word, adposition, join, punctuation

NOMINATIVE = "nominative"
ACCUSATIVE = "accusative"
DATIVE = "dative"
CIRCUMSTANCES = {"companion": "mit", "instrument": "mit", "source": "aus"}  # all with the dative
QUESTION_WORDS = {
    "subject": ("wer", "PRON"),
    "object": ("was", "PRON"),
    "location": ("wo", "ADV"),
    "time": ("wann", "ADV"),
}

# endings by case for masculine, feminine, neuter, plural
DER = {
    NOMINATIVE: ("der", "die", "das", "die"),
    ACCUSATIVE: ("den", "die", "das", "die"),
    DATIVE: ("dem", "der", "dem", "den"),
}
RELATIVE = {**DER, DATIVE: ("dem", "der", "dem", "denen")}
DIESER = {
    NOMINATIVE: ("er", "e", "es", "e"),
    ACCUSATIVE: ("en", "e", "es", "e"),
    DATIVE: ("em", "er", "em", "en"),
}
EIN = {
    NOMINATIVE: ("", "e", "", "e"),
    ACCUSATIVE: ("en", "e", "", "e"),
    DATIVE: ("em", "er", "em", "en"),
}
WEAK = {
    NOMINATIVE: ("e", "e", "e", "en"),
    ACCUSATIVE: ("en", "e", "e", "en"),
    DATIVE: ("en", "en", "en", "en"),
}
MIXED = {
    NOMINATIVE: ("er", "e", "es", "en"),
    ACCUSATIVE: ("en", "e", "es", "en"),
    DATIVE: ("en", "en", "en", "en"),
}
STRONG = {
    NOMINATIVE: ("er", "e", "es", "e"),
    ACCUSATIVE: ("en", "e", "es", "e"),
    DATIVE: ("em", "er", "em", "en"),
}

CONTRACTIONS = {
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("in", "das"): "ins",
}


class German(Grammar):
    lexicon = german
    conjunctions: ClassVar = {
        "and": "und",
        "but": "aber",
        "because": "weil",
        "when": "wenn",
        "that": "dass",
    }
    commas = frozenset({"but", "because", "when", "that", "where"})

    def conjunction(self, link: str, clause: Clause) -> str:
        if link == "when" and clause.past:
            return "als"
        return self.conjunctions[link]

    def clause(
        self,
        clause: Clause,
        path: str,
        *,
        subordinate: bool = False,
        antecedent: Thing | None = None,
    ) -> Phrase:
        finite, final, main = self.verbs(
            clause, path, self.agreement(clause, antecedent), subordinate=subordinate
        )
        if clause.subject is None:
            subject = None
        else:
            subject = self.nominal(clause.subject, f"{path}.subject", NOMINATIVE)
        opening = self.opening(clause, path, antecedent)
        time = self.time(clause, path)
        middle = self.middle(clause, path)
        if clause.verb == "exist":
            middle.append(subject)
            subject = middle.pop(0)
        if clause.verb == "be":
            main = self.predicate(clause, path) or middle.pop()
            final.insert(0, main)
        first = opening
        if first is None and not clause.question and not subordinate:
            if clause.fronted:
                first, time, subject = (time, None, subject)
            else:
                first, time, subject = (subject, time, None)
        before = [first, subject] if subordinate else [first, finite, subject]
        after = [*final, finite] if subordinate else final
        return join(
            main,
            *before,
            time,
            self.frequency(clause, path),
            *middle,
            *after,
            self.complement(clause, path),
        )

    def verbs(
        self,
        clause: Clause,
        path: str,
        agreeing: Thing,
        *,
        subordinate: bool,
    ) -> tuple[Word, list, Word]:
        """(finite verb, what stands at the end of the clause, the lexical verb)"""
        node = f"{path}.verb"
        verb = "be" if clause.verb == "exist" else clause.verb
        forms = german.VERBS[verb]
        main = Word(
            "", "AUX" if clause.verb == "be" else "VERB", node, None if verb == "be" else verb
        )
        prefix = forms[5]
        if clause.modal is not None:
            main.text = prefix + forms[0]
            return (
                Word(
                    self.finite(german.VERBS[clause.modal], clause, agreeing),
                    "AUX",
                    f"{path}.modal",
                ),
                [main],
                main,
            )
        main.text = self.finite(forms, clause, agreeing)
        if prefix and subordinate:
            main.text = prefix + main.text
        return main, [Word(prefix, "ADP", node)] if prefix and not subordinate else [], main

    def finite(self, forms: tuple[str, ...], clause: Clause, agreeing: Thing) -> str:
        if clause.past:
            return forms[4 if agreeing.plural else 3]
        if agreeing.plural:
            return "sind" if forms[0] == "sein" else forms[0]
        return forms[1 if self.is_speaker(agreeing) else 2]

    def opening(self, clause: Clause, path: str, antecedent: Thing | None) -> Phrase | Word | None:
        """The relative pronoun or the question word."""
        if clause.gap is None:
            return None
        if antecedent is None:
            return Word(*QUESTION_WORDS[clause.gap], f"{path}.gap")
        case = NOMINATIVE if clause.gap == "subject" else ACCUSATIVE
        return Word(RELATIVE[case][self.column(antecedent)], "PRON", f"{path}.gap")

    def predicate(self, clause: Clause, path: str) -> Phrase | Word | None:
        node = f"{path}.predicate"
        negation = self.negation(clause, path)
        if clause.quality is not None:
            head = Word(german.ADJECTIVES[clause.quality][0], "ADJ", node, clause.quality)
        elif clause.profession is not None:
            female = is_female(clause.subject.noun)
            if female:
                text = german.PROFESSIONS[clause.profession]
            else:
                text = german.NOUNS[clause.profession][1]
            head = Word(text, "NOUN", node, clause.profession)
            if negation is not None:  # a profession has no article, its negation is `keine`
                negation = Word("keine" if female else "kein", "DET", f"{path}.not")
        else:
            return None
        return join(head, negation, head)

    def negation(self, clause: Clause, path: str) -> Word | None:
        if clause.negated:
            return Word("nicht", "PART", f"{path}.not")
        return None

    def middle(self, clause: Clause, path: str) -> list[Phrase | Word | None]:
        """Between the finite verb and the end: recipient, object, `nicht`, circumstances."""
        parts: list[Phrase | Word | None] = []
        if clause.quality or clause.profession:
            negation = None
        else:
            negation = self.negation(clause, path)
        recipient = self.circumstance(clause, "recipient")
        if recipient is not None:
            parts.append(self.nominal(recipient, f"{path}.recipient", DATIVE))
        places = self.circumstances(clause, path)
        if clause.object is None:
            if negation:
                return [*parts, negation, *places]
            return [*parts, *places]
        preposition = german.VERBS[clause.verb][6]
        absorbed = negation is not None and clause.object.determiner in ("a", "bare")
        thing = self.nominal(
            clause.object,
            f"{path}.object",
            ACCUSATIVE,
            negation=f"{path}.not" if absorbed else None,
        )
        if preposition:
            thing = join(thing, adposition(preposition, f"{path}.object"), thing)
        negation = None if absorbed else negation
        if clause.object.determiner == "generic":  # `spielt im Park nicht Klavier`
            parts += [*places, negation, thing]
        elif preposition:  # `wartet nicht auf den Bus`
            parts += [negation, thing, *places]
        else:
            parts += [thing, negation, *places]
        return [part for part in parts if part is not None]

    def circumstances(self, clause: Clause, path: str) -> list[Phrase]:
        parts = []
        for role in ("companion", "instrument", "source", "direction", "location"):
            thing = self.circumstance(clause, role)
            if thing is not None:
                preposition, case = self.preposition(role, thing, clause)
                phrase = self.nominal(thing, f"{path}.{role}", case)
                parts.append(join(phrase, adposition(preposition, f"{path}.{role}"), phrase))
        return parts

    def preposition(self, role: str, thing: Thing, clause: Clause) -> tuple[str, str]:
        if role in CIRCUMSTANCES:
            return CIRCUMSTANCES[role], DATIVE
        inside = role == "location" or clause.verb == "arrive"  # `kommt in Rom an`
        if thing.noun in german.CITIES:
            return ("in" if inside else "nach"), DATIVE
        if inside:
            return german.NOUNS[thing.noun][5], DATIVE
        preposition, case = german.NOUNS[thing.noun][6].split(":")
        return preposition, case

    def column(self, thing: Thing) -> int:
        return 3 if thing.plural else "mfn".index(self.gender(thing))

    def nominal(self, thing: Thing, path: str, case: str, negation: str | None = None) -> Phrase:
        """Noun phrase; `negation` is the node of a `not` that the article expresses as `kein`."""
        if self.is_speaker(thing):
            return self.single(Word("ich", "PRON", path))
        if thing.determiner == "pronoun":
            return self.single(Word("sie" if is_female(thing.noun) else "er", "PRON", path))
        if thing.noun in NAMES:
            return self.names(thing, path, (thing.noun, thing.partner))
        if thing.noun in german.CITIES:
            return self.single(Word(german.CITIES[thing.noun][0], "PROPN", path, thing.noun))
        forms = german.NOUNS[thing.noun]
        column = self.column(thing)
        if thing.plural:
            form = 4 if case == DATIVE else 3
        elif case == NOMINATIVE:
            form = 1
        else:
            form = 2
        noun = Word(forms[form], "NOUN", path, thing.noun)
        determiner, endings = self.determiner(thing, path, case, negation)
        quality = None
        if thing.quality is not None:
            text = german.ADJECTIVES[thing.quality][1] + endings[case][column]
            quality = Word(text, "ADJ", f"{path}.quality", thing.quality)
        relative = []
        if thing.relative is not None:
            clause = self.clause(
                thing.relative, f"{path}.relative", subordinate=True, antecedent=thing
            )
            relative = [join(clause, punctuation(","), clause, punctuation(","))]
        return join(noun, determiner, quality, noun, *relative)

    def determiner(
        self,
        thing: Thing,
        path: str,
        case: str,
        negation: str | None,
    ) -> tuple[Word | None, dict[str, tuple[str, ...]]]:
        """(determiner, endings of the adjective after it)"""
        column = self.column(thing)
        node = f"{path}.determiner"
        if negation is not None:
            return Word("kein" + EIN[case][column], "DET", negation), MIXED
        if thing.determiner == "the":
            return Word(DER[case][column], "DET", node), WEAK
        if thing.determiner == "this":
            return Word("dies" + DIESER[case][column], "DET", node), WEAK
        if thing.determiner == "a":
            return Word("ein" + EIN[case][column], "DET", node), MIXED
        if thing.determiner in ("my", "own"):
            mine = thing.determiner == "my" or thing.owner == "I"
            if mine:
                stem = "mein"
            elif is_female(thing.owner):
                stem = "ihr"
            else:
                stem = "sein"
            return Word(stem + EIN[case][column], "PRON", node), MIXED
        if thing.determiner == "name":
            return Word(f"{thing.owner}s", "PROPN", f"{path}.owner", thing.owner), STRONG
        if thing.determiner == "count":
            return self.number(thing, path), STRONG
        return None, STRONG

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
