"""What can be wrong with translations that a score does not tell: another language, a copy, nothing, or the same words for ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from polyglot.evaluation.metrics import has_spaces

PHRASE, TIMES = 4, 3  # a loop: a phrase of at most four words, at least three times in a row


@dataclass(frozen=True, slots=True)
class OutputErrors:
    """Shares of the sentences of one direction, from 0 to 1; next to each what is expected: the same of the references."""

    off_target: float | None
    """in another language of the run than the target, of outputs that are not empty; None where the identifier does not know the target,
    or no other language of the run; two variants of one language, such as zh_Hans and zh_Hant, are one to it"""
    off_target_references: float | None
    """the identifier's own error: the same share of the references, which are all in the target language"""
    copies: float
    """the source, untranslated"""
    copies_references: float
    empty: float
    """nothing, though the source is something"""
    loops: float
    """a phrase of one to four words that stands there three times in a row or more often"""
    loops_references: float
    length_ratio: float
    """characters of all outputs by characters of all references"""
    found: dict[str, int] = field(default_factory=dict)
    """how many outputs are in each language, by the identifier's codes"""


def measure_output_errors(
    hypotheses: Sequence[str],
    *,
    sources: Sequence[str],
    references: Sequence[str],
    source: str,
    target: str,
    languages: Sequence[str],
) -> OutputErrors:
    """languages: what the identifier may choose from, the languages of the run."""
    of, copy, characters = len(hypotheses), source == target, not has_spaces(target)
    own, theirs = identify_languages(hypotheses, languages), identify_languages(references, languages)
    codes = identifier_codes(languages)
    code = codes.get(target) if len({*codes.values()}) > 1 else None
    return OutputErrors(
        off_target=_share_other(own, code) if code else None,
        off_target_references=_share_other(theirs, code) if code else None,
        copies=0.0 if copy else sum(map(_same, hypotheses, sources)) / of,
        copies_references=0.0 if copy else sum(map(_same, references, sources)) / of,
        empty=sum(
            not hypothesis.strip() and bool(line.strip())
            for hypothesis, line in zip(hypotheses, sources)
        )
        / of,
        loops=sum(has_loop(line, characters=characters) for line in hypotheses) / of,
        loops_references=sum(has_loop(line, characters=characters) for line in references) / of,
        length_ratio=sum(map(len, hypotheses)) / max(1, sum(map(len, references))),
        found=dict(Counter(one for one in own if one).most_common()),
    )


def _same(line: str, other: str) -> bool:
    """Word for word, whatever the capitals; nothing is no copy of nothing."""
    return bool(line.strip()) and line.casefold().split() == other.casefold().split()


def has_loop(line: str, *, characters: bool = False) -> bool:
    """Whether a short phrase stands there again and again; in characters for languages that are written without spaces."""
    words = list("".join(line.split())) if characters else line.casefold().split()
    for size in range(1, PHRASE + 1):
        run = 0
        for place in range(size, len(words)):
            run = run + 1 if words[place] == words[place - size] else 0
            if run >= size * (TIMES - 1):
                return True
    return False


# The language identifier -------------------------------------------------------------------------------------------------
# py3langid (4.5 MB, the model in the package, no pickle in it) and lingua (96 MB) on our references, from the languages of the corpus:
# Multi30k's flickr 2016 (en, de, fr, cs) both 0.00 % wrong; the phrasebook's test (en, de, fr, cs, es, fi; proper names are half of many
# sentences) py3langid 0.33 %, lingua 0.90 %; py3langid was four times as fast. docs/use/evaluate.md has the table.


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # half a second to unpack

    return LanguageIdentifier.from_model_file(MODEL_FILE)


def identifier_codes(languages: Sequence[str]) -> dict[str, str]:
    """Those of a run's languages that the identifier has a model for, with its own code: `zh_Hans` is its `zh`."""
    _identifier().set_languages(None)
    labels = set(_identifier().labels)
    return {
        language: code
        for language in languages
        if (code := language.split("_")[0].lower()) in labels
    }


def identify_languages(lines: Sequence[str], languages: Sequence[str]) -> list[str | None]:
    """The likeliest code of the languages for each line; None for an empty one, and for all where fewer than two are known."""
    codes = list(dict.fromkeys(identifier_codes(languages).values()))
    if len(codes) < 2:
        return [None] * len(lines)
    _identifier().set_languages(codes)
    return [_identifier().classify(line)[0] if line.strip() else None for line in lines]


def _share_other(found: Sequence[str | None], code: str) -> float:
    named = [one for one in found if one]
    return sum(one != code for one in named) / len(named) if named else 0.0
