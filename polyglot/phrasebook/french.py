"""French: gender, compound past with its agreements, two-part negation, elision and contraction."""

from __future__ import annotations

from typing import ClassVar

from polyglot.phrasebook.grammar import Grammar
from polyglot.phrasebook.lexicon import french
from polyglot.phrasebook.meaning import Clause, Thing
from polyglot.phrasebook.people import NAMES, is_female
from polyglot.phrasebook.phrase import Phrase, Word, adposition, join

PREPOSITIONS = {"recipient": "à", "companion": "avec", "instrument": "avec"}
SOURCES = {"glass": "dans", "spring.water": "à"}  # one drinks `dans un verre`, `à la source`
ROLES = ("recipient", "companion", "instrument", "source", "direction", "location")
QUESTION_WORDS = {"object": ("que", "PRON"), "location": ("où", "ADV"), "time": ("quand", "ADV")}
POSTURES = {"sit": "assis"}  # said with `être` and a participle

# masculine, feminine, plural
ARTICLES = {
    "the": ("le", "la", "les"),
    "a": ("un", "une", "des"),
    "bare": ("de le", "de la", "des"),
    "this": ("ce", "cette", "ces"),
    "my": ("mon", "ma", "mes"),
    "own": ("son", "sa", "ses"),
}
VOWELS = "aeiouàâéèêîôœh"  # no word of the lexicon has an aspirated h
ELIDED = {"le": "l'", "la": "l'", "je": "j'", "ne": "n'", "de": "d'", "que": "qu'"}
BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "sa": "son"}
CONTRACTIONS = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


class French(Grammar):
    lexicon = french
    conjunctions: ClassVar = {
        "and": "et",
        "but": "mais",
        "because": "parce",
        "when": "quand",
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
        chain = self.chain(clause, path, antecedent)
        tail = self.tail(clause, path)
        existential = None  # the `y` of `il y a`
        if clause.verb == "exist":
            tail.insert(0, subject)
            subject = Word("il", "PRON", f"{path}.verb")
            existential = Word("y", "PRON", f"{path}.verb")
        if clause.verb == "be":
            chain.append(self.predicate(clause, path) or tail.pop())
        before, after = (
            Word(text, "PART", f"{path}.not") if clause.negated else None for text in ("ne", "pas")
        )
        verbs = [before, existential, chain[0], after, self.frequency(clause, path), *chain[1:]]
        time = self.time(clause, path)
        front, back = (time, None) if clause.fronted else (None, time)
        return join(
            chain[-1],
            *self.opening(clause, path, antecedent),
            front,
            subject,
            *verbs,
            *tail,
            back,
            self.complement(clause, path),
        )

    def linked(self, clause: Clause, path: str, *, link: str, subordinate: bool) -> Phrase:
        phrase = super().linked(clause, path, link=link, subordinate=subordinate)
        if link == "because":
            phrase.words.insert(1, Word("que", "SCONJ", f"{path}.link", head=phrase.head))
        return phrase

    def opening(self, clause: Clause, path: str, antecedent: Thing | None) -> list[Word]:
        """The relative pronoun or the question word, and `est-ce que` in main clauses."""
        node = f"{path}.gap"
        if clause.gap == "subject":
            return [Word("qui", "PRON", node)]
        words = []
        if clause.gap is not None:
            words.append(
                Word("que", "PRON", node)
                if antecedent is not None
                else Word(*QUESTION_WORDS[clause.gap], node)
            )
        if clause.question:
            words += [
                Word("est-ce", "PART", f"{path}.question"),
                Word("que", "SCONJ", f"{path}.question"),
            ]
        return words

    def chain(self, clause: Clause, path: str, antecedent: Thing | None) -> list[Word | Phrase]:
        """The verbs from the finite one to the lexical one; a copula stands alone."""
        node = f"{path}.verb"
        agreeing = self.agreement(clause, antecedent)
        if clause.verb in ("be", "exist"):
            verb = "be" if clause.verb == "be" else "have"
            return [
                Word(
                    self.finite(verb, clause, agreeing if verb == "be" else None),
                    "AUX" if verb == "be" else "VERB",
                    node,
                )
            ]
        forms = french.VERBS[clause.verb]
        main = Word(forms[0], "VERB", node, clause.verb)
        posture = POSTURES.get(clause.verb)
        if clause.modal is not None:
            helper = Word(self.finite(clause.modal, clause, agreeing), "AUX", f"{path}.modal")
            if posture is None:
                return [helper, main]
            main.text = self.inflect(posture, agreeing)
            return [helper, Word("être", "AUX", node), main]
        if posture is not None:
            main.text = self.inflect(posture, agreeing)
            return [Word(self.finite("be", clause, agreeing), "AUX", node), main]
        if not clause.past or forms[5] == "i":
            main.text = self.finite(clause.verb, clause, agreeing)
            return [main]
        main.text = forms[4]
        if forms[5] == "e":
            main.text = self.inflect(forms[4], agreeing)
        elif clause.gap == "object" and antecedent is not None:  # `les lettres qu'elle a écrites`
            main.text = self.inflect(forms[4], antecedent)
        auxiliary = french.VERBS["be" if forms[5] == "e" else "have"]
        return [
            Word(
                auxiliary[3 if agreeing.plural else 1 if self.is_speaker(agreeing) else 2],
                "AUX",
                node,
            ),
            main,
        ]

    def finite(self, verb: str, clause: Clause, agreeing: Thing | None) -> str:
        """Present or imperfect."""
        forms = french.VERBS[verb]
        plural, first = (
            agreeing is not None and agreeing.plural,
            agreeing is not None and self.is_speaker(agreeing),
        )
        if clause.past:
            return forms[4] + ("aient" if plural else "ais" if first else "ait")
        return forms[3 if plural else 1 if first else 2]

    def inflect(self, participle: str, thing: Thing) -> str:
        feminine = participle + ("e" if self.gender(thing) == "f" else "")
        return feminine + ("s" if thing.plural and not feminine.endswith("s") else "")

    def predicate(self, clause: Clause, path: str) -> Word | None:
        node = f"{path}.predicate"
        if clause.quality is not None:
            return Word(
                self.adjective(clause.quality, clause.subject, following=""),
                "ADJ",
                node,
                clause.quality,
            )
        if clause.profession is not None:
            female = is_female(clause.subject.noun)
            if female:
                text = french.PROFESSIONS[clause.profession]
            else:
                text = french.NOUNS[clause.profession][1]
            return Word(text, "NOUN", node, clause.profession)
        return None

    def adjective(self, quality: str, thing: Thing, *, following: str) -> str:
        masculine, before_vowel, feminine, plural, _ = french.ADJECTIVES[quality]
        if self.gender(thing) == "f":
            return feminine + ("s" if self.plural(thing) else "")
        if self.plural(thing):
            return plural
        if following[:1] and following[0] in VOWELS:
            return before_vowel
        return masculine

    @staticmethod
    def plural(thing: Thing) -> bool:
        return thing.plural or thing.noun in french.NOUNS and french.NOUNS[thing.noun][1] == ""

    def tail(self, clause: Clause, path: str) -> list[Phrase | None]:
        """The object and the circumstances, in their order."""
        parts = []
        if clause.object is not None:
            thing = self.nominal(clause.object, f"{path}.object", negated=clause.negated)
            preposition = french.VERBS[clause.verb][6]
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
        if role == "source":
            return SOURCES[thing.noun]
        if thing.noun in french.CITIES:
            return "à"
        preposition = french.NOUNS[thing.noun][3 if role == "location" else 4]
        if role == "location" and preposition == "à" and thing.determiner != "the":
            return "dans"
        return preposition

    def nominal(self, thing: Thing, path: str, *, negated: bool = False) -> Phrase:
        if self.is_speaker(thing):
            return self.single(Word("je", "PRON", path))
        if thing.determiner == "pronoun":
            return self.single(Word("elle" if is_female(thing.noun) else "il", "PRON", path))
        if thing.noun in NAMES:
            return self.names(thing, path, (thing.noun, thing.partner))
        if thing.noun in french.CITIES:
            return self.single(Word(french.CITIES[thing.noun][0], "PROPN", path, thing.noun))
        noun = Word(
            french.NOUNS[thing.noun][2 if self.plural(thing) else 1], "NOUN", path, thing.noun
        )
        before = None
        after = None
        if thing.quality is not None:
            early = french.ADJECTIVES[thing.quality][4] == "1"
            text = self.adjective(thing.quality, thing, following=noun.text if early else "")
            quality = Word(text, "ADJ", f"{path}.quality", thing.quality)
            before, after = (quality, None) if early else (None, quality)
        partitive = (
            negated
            and thing.determiner in ("a", "bare")
            or thing.determiner == "bare"
            and thing.many
            and before is not None
        )
        if partitive:
            determiner = [Word("de", "ADP", f"{path}.determiner")]
        else:
            determiner = self.determiner(thing, path)
        owner = None
        if thing.determiner == "name":
            name = Word(thing.owner, "PROPN", f"{path}.owner", thing.owner)
            owner = join(name, Word("de", "ADP", f"{path}.possession"), name)
        relative = None
        if thing.relative is not None:
            relative = self.clause(
                thing.relative, f"{path}.relative", subordinate=True, antecedent=thing
            )
        return join(noun, *determiner, before, noun, after, owner, relative)

    def determiner(self, thing: Thing, path: str) -> list[Word]:
        node = f"{path}.determiner"
        if thing.determiner == "count":
            return [self.number(thing, path)]
        kind = {"name": "the", "generic": "the"}.get(thing.determiner, thing.determiner)
        if kind == "own" and thing.owner == "I":
            kind = "my"
        text = ARTICLES[kind][2 if self.plural(thing) else 1 if self.gender(thing) == "f" else 0]
        category = "PRON" if kind in ("my", "own") else "DET"
        return [Word(part, "ADP" if part == "de" else category, node) for part in text.split()]

    def finish(self, words: list[Word]) -> list[Word]:
        finished: list[Word] = []
        for word, following in zip(words, [*words[1:], None], strict=True):
            if following is not None and following.text[0].lower() in VOWELS:
                word.text = ELIDED.get(word.text, BEFORE_VOWEL.get(word.text, word.text))
            if finished and word.category == "DET":
                pair = (finished[-1].text, word.text)
            else:
                pair = None
            if pair in CONTRACTIONS:
                finished[-1].text = CONTRACTIONS[pair]
            else:
                finished.append(word)
        return finished
