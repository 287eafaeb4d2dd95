"""Agreement of roles with the word senses and categories of the phrasebook."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Any

from polyglot.analysis.clustering import purity, v_measure, v_measures_by_chance
from polyglot.analysis.page import Table
from polyglot.analysis.piece_roles import PieceRoles

MIN_OCCURRENCES = 3  # of each of two senses, for a word to count as ambiguous
PERMUTATIONS = 199  # p is a multiple of 0.005
MEASURES = {"purity": "purity", "v_measure": "V-measure", "by_chance": "by chance", "p": "p"}


@dataclass(frozen=True)
class AnnotatedWord:
    """Occurrence of a word in the phrasebook, with the strongest role of its first piece."""

    word: str
    role: int
    category: str
    sense: str | None
    """None for function words"""


@dataclass(frozen=True)
class Agreement:
    """Agreement of clusters with labels."""

    purity: float
    v_measure: float
    random_v_measures: Sequence[float]
    """with random permutations of the clusters"""

    def values(self) -> dict[str, float]:
        """Return the numbers of the table by the keys of MEASURES.

        p is the share of permutations, with the clusters themselves as one of them, whose
        V-measure is at least as large.
        """
        reached = sum(value >= self.v_measure for value in self.random_v_measures)
        return {
            "purity": self.purity,
            "v_measure": self.v_measure,
            "by_chance": fmean(self.random_v_measures),
            "p": (1 + reached) / (1 + len(self.random_v_measures)),
        }


def agreement(pieces: Sequence[PieceRoles]) -> dict[str, Any]:
    """Compare roles with senses and categories; empty without annotated sentences.

    - `category`: roles of all words with the categories of the words
    - `senses`: ambiguous words with their senses, clustered by role, by word, and by both
    - `of each word`: roles of each ambiguous word with its senses, where the word alone has a
      V-measure of 0
    - `mean of each word`: mean of these, weighted by occurrences
    """
    words = _annotated_words(pieces)
    if not words:
        return {}
    random = Random(1)
    roles = [word.role for word in words]
    categories = [word.category for word in words]
    result: dict[str, Any] = {"category": _compare(roles, categories, random).values()}

    ambiguous = _ambiguous_words(words)
    if ambiguous:
        result["senses"] = _senses(ambiguous, random)
        result |= _senses_of_each_word(ambiguous, random)
    return result


def _annotated_words(pieces: Sequence[PieceRoles]) -> list[AnnotatedWord]:
    words = []
    for piece in pieces:
        if piece.sentence.word_of_piece is not None and _begins_word(piece):
            token = piece.sentence.truth[piece.sentence.word_of_piece[piece.position]]
            word = token.text.casefold()
            words.append(AnnotatedWord(word, piece.role, token.category, token.sense))
    return words


def _begins_word(piece: PieceRoles) -> bool:
    """True for the first piece of a word."""
    if piece.position == 0:
        return True
    word_of_piece = piece.sentence.word_of_piece
    return word_of_piece[piece.position - 1] != word_of_piece[piece.position]


def _ambiguous_words(words: Sequence[AnnotatedWord]) -> list[AnnotatedWord]:
    """Occurrences with a sense of the words that have at least two frequent senses."""
    senses: dict[str, Counter[str]] = defaultdict(Counter)
    for word in words:
        if word.sense is not None:
            senses[word.word][word.sense] += 1

    ambiguous = set()
    for text, counts in senses.items():
        frequent_senses = 0
        for count in counts.values():
            if count >= MIN_OCCURRENCES:
                frequent_senses += 1
        if frequent_senses > 1:
            ambiguous.add(text)

    occurrences = []
    for word in words:
        if word.sense is not None and word.word in ambiguous:
            occurrences.append(word)
    return occurrences


def _senses(words: Sequence[AnnotatedWord], random: Random) -> dict[str, dict[str, float]]:
    """Agreement of three clusterings of ambiguous words with their senses."""
    senses = [word.sense for word in words]
    clusterings: dict[str, list[Hashable]] = {"role": [], "word": [], "word and role": []}
    for word in words:
        clusterings["role"].append(word.role)
        clusterings["word"].append(word.word)
        clusterings["word and role"].append((word.word, word.role))
    result = {}
    for name, clusters in clusterings.items():
        result[name] = _compare(clusters, senses, random).values()
    return result


def _senses_of_each_word(words: Sequence[AnnotatedWord], random: Random) -> dict[str, Any]:
    """Agreement of the roles with the senses within each word, and its weighted mean."""
    occurrences: dict[str, list[AnnotatedWord]] = defaultdict(list)
    for word in words:
        occurrences[word.word].append(word)

    agreements = []
    counts = []
    values = {}
    for text in sorted(occurrences):
        roles = [word.role for word in occurrences[text]]
        senses = [word.sense for word in occurrences[text]]
        agreements.append(_compare(roles, senses, random))
        counts.append(len(roles))
        values[text] = {**agreements[-1].values(), "times": len(roles)}

    mean = _weighted_mean(agreements, counts)
    return {"of each word": values, "mean of each word": mean.values()}


def _weighted_mean(agreements: Sequence[Agreement], weights: Sequence[int]) -> Agreement:
    """Mean of each number; permutation n is the mean over permutation n of each agreement."""
    purities = []
    v_measures = []
    random_v_measures = []
    for agreement_of_word in agreements:
        purities.append(agreement_of_word.purity)
        v_measures.append(agreement_of_word.v_measure)
        random_v_measures.append(agreement_of_word.random_v_measures)

    random_means = []
    for values in zip(*random_v_measures):
        random_means.append(fmean(values, weights))
    return Agreement(fmean(purities, weights), fmean(v_measures, weights), random_means)


def _compare(
    clusters: Sequence[Hashable],
    labels: Sequence[Hashable],
    random: Random,
) -> Agreement:
    chance = v_measures_by_chance(clusters, labels, draws=PERMUTATIONS, random=random)
    return Agreement(purity(clusters, labels), v_measure(clusters, labels), chance)


def agreement_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the tables of `agreement`; none if it is empty."""
    if not result:
        return []
    rows = [["roles of all words, compared with categories", *_cells(result["category"])]]
    if "senses" in result:
        names = {
            "role": "roles of ambiguous words, compared with senses",
            "word": "the words themselves, compared with senses",
            "word and role": "pairs of word and role, compared with senses",
        }
        for name, title in names.items():
            rows.append([title, *_cells(result["senses"][name])])
    head = ["clusters", *MEASURES.values()]
    note = "Senses and categories: annotation of the phrasebook."
    tables = [Table("Agreement with the truth", head, rows, note=note)]
    if "senses" in result:
        tables.append(_word_table(result))
    return tables


def _word_table(result: Mapping[str, Any]) -> Table:
    rows = []
    for word, values in result["of each word"].items():
        rows.append([word, str(values["times"]), *_cells(values)])
    rows.append(["mean, weighted by times", "", *_cells(result["mean of each word"])])
    head = ["word", "times", *MEASURES.values()]
    note = (
        f"By chance: mean V-measure of {PERMUTATIONS} random permutations of the roles. "
        "p: share of permutations with at least the same V-measure. "
        "The word alone has a V-measure of 0."
    )
    return Table("Senses of each ambiguous word", head, rows, note=note)


def _cells(values: Mapping[str, float]) -> list[str]:
    return [f"{values[name]:.3f}" for name in MEASURES]
