"""Output errors that a score does not show: wrong language, copied source, empty output, loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from polyglot.core.language_codes import has_spaces
from polyglot.text.language_identification import identifier_codes, identify_languages

LOOP_PHRASE = 4  # a loop repeats a phrase of at most this many words
LOOP_REPETITIONS = 3  # in a row, at least


@dataclass(frozen=True, slots=True)
class OutputErrors:
    """Shares of the sentences of one direction, from 0 to 1.

    Fields that end with `_references` are the same measure for the references: the value to expect.
    """

    off_target: float | None
    """share of nonempty outputs in another language of the run than the target.

    None if all outputs are empty, or if the identifier does not know the target language or only
    one language of the run.
    Variants of one language, such as zh_Hans and zh_Hant, count as one language.
    """
    off_target_references: float | None
    """error rate of the identifier, since all references are in the target language"""
    copies: float
    """share of outputs that are equal to the source"""
    copies_references: float
    empty: float
    """share of empty outputs with a nonempty source"""
    loops: float
    """share of outputs that repeat a phrase of one to four words at least three times in a row"""
    loops_references: float
    length_ratio: float
    """characters of all outputs / characters of all references"""
    languages: dict[str, int] = field(default_factory=dict)
    """number of outputs in each language, by the codes of the identifier"""

    def to_dict(self) -> dict[str, Any]:
        """Entry in `matrix.json`, where the languages have the key `found`."""
        values = asdict(self)
        values["found"] = values.pop("languages")
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> OutputErrors:
        """Inverse of `to_dict`."""
        fields = dict(values)
        languages = fields.pop("found", {})
        return cls(**fields, languages=languages)


def measure_output_errors(
    hypotheses: Sequence[str],
    *,
    sources: Sequence[str],
    references: Sequence[str],
    source: str,
    target: str,
    languages: Sequence[str],
) -> OutputErrors:
    """Measure the output errors of one direction.

    source, target: language codes. languages: those of the run, from which the identifier chooses.
    """
    count = len(hypotheses)
    output_languages = identify_languages(hypotheses, languages)
    reference_languages = identify_languages(references, languages)

    off_target = None
    off_target_references = None
    codes = identifier_codes(languages)
    distinct_codes = set(codes.values())
    if target in codes and len(distinct_codes) > 1:
        code = codes[target]
        off_target = _share_of_other_languages(output_languages, code)
        off_target_references = _share_of_other_languages(reference_languages, code)

    copies = 0.0
    copies_references = 0.0
    if source != target:  # a monolingual copy is meant to be equal to its source
        copies = _count(_is_copy, hypotheses, sources) / count
        copies_references = _count(_is_copy, references, sources) / count

    by_characters = not has_spaces(target)
    loops = sum(has_loop(line, characters=by_characters) for line in hypotheses)
    loops_references = sum(has_loop(line, characters=by_characters) for line in references)
    characters = sum(map(len, hypotheses))
    reference_characters = sum(map(len, references))
    return OutputErrors(
        off_target=off_target,
        off_target_references=off_target_references,
        copies=copies,
        copies_references=copies_references,
        empty=_count(_is_missing, hypotheses, sources) / count,
        loops=loops / count,
        loops_references=loops_references / count,
        length_ratio=characters / max(1, reference_characters),
        languages=_counts(output_languages),
    )


def _count(
    condition: Callable[[str, str], bool],
    lines: Sequence[str],
    sources: Sequence[str],
) -> int:
    count = 0
    for line, source in zip(lines, sources):
        if condition(line, source):
            count += 1
    return count


def _is_copy(line: str, source: str) -> bool:
    """True if a nonempty line has the words of the source; capitals do not count."""
    words = line.casefold().split()
    source_words = source.casefold().split()
    return bool(words) and words == source_words


def _is_missing(line: str, source: str) -> bool:
    """True for an empty translation of a nonempty source."""
    return not line.strip() and bool(source.strip())


def has_loop(line: str, *, characters: bool = False) -> bool:
    """True if a short phrase occurs at least LOOP_REPETITIONS times in a row.

    characters: compare characters in place of words, for languages written without spaces.
    """
    if characters:
        words = list("".join(line.split()))
    else:
        words = line.casefold().split()

    for size in range(1, LOOP_PHRASE + 1):
        loop_length = size * (LOOP_REPETITIONS - 1)
        repeated = 0  # words in a row that are equal to the word one phrase before
        for position in range(size, len(words)):
            if words[position] == words[position - size]:
                repeated += 1
            else:
                repeated = 0
            if repeated >= loop_length:
                return True
    return False


def _share_of_other_languages(identified: Sequence[str | None], code: str) -> float | None:
    """Share of the identified lines whose language is not `code`; None if there is no such line."""
    identified_languages = [language for language in identified if language]
    if not identified_languages:
        return None
    wrong = len(identified_languages) - identified_languages.count(code)
    return wrong / len(identified_languages)


def _counts(identified: Sequence[str | None]) -> dict[str, int]:
    """Number of lines in each language, most frequent first."""
    counts = Counter(filter(None, identified))
    return dict(counts.most_common())
