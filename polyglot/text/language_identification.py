"""Identification of the language of a line, among the languages of a run or among all.

py3langid: 4.5 MB, the model is in the package and is not a pickle. Compared with lingua (96 MB)
on our references, choosing from the languages of the corpus:
- Multi30k, flickr 2016 (en, de, fr, cs): both 0.00 % wrong
- phrasebook test (en, de, fr, cs, es, fi; in many sentences half of the words are proper names):
  py3langid 0.33 %, lingua 0.90 %
py3langid was four times as fast.
docs/use/evaluate.md has the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from polyglot.core.language_codes import find_code


@cache
def _identifier(*, normalize: bool = False) -> Any:
    """The identifier. normalize: it returns probabilities."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # half a second to unpack

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=normalize)


def load_identifier() -> None:
    """Load the files of the identifier, which takes a second."""
    _identifier()
    _identifier(normalize=True)


def identifier_codes(languages: Sequence[str]) -> dict[str, str]:
    """Code of the identifier for each language that it knows: `zh` for `zh_Hans`."""
    identifier = _identifier()
    identifier.set_languages(None)
    labels = frozenset(identifier.labels)

    codes = {}
    for language in languages:
        code = find_code(language, labels)
        if code is not None:
            codes[language] = code
    return codes


def identify_languages(lines: Sequence[str], languages: Sequence[str]) -> list[str | None]:
    """Most probable of the languages for each line, as code of the identifier.

    None for an empty line. None for all lines if the identifier knows fewer than two languages.
    """
    code_of_language = identifier_codes(languages)
    codes = list(dict.fromkeys(code_of_language.values()))
    if len(codes) < 2:
        return [None] * len(lines)

    identifier = _identifier()
    identifier.set_languages(codes)
    identified: list[str | None] = []
    for line in lines:
        code = None
        if line.strip():
            code, _ = identifier.classify(line)
        identified.append(code)
    return identified


def language_probabilities(line: str, languages: Sequence[str]) -> list[tuple[str, float]]:
    """Probability of each language that the identifier knows, the most probable first.

    Variants of one language, such as zh_Hans and zh_Hant, have the probability of the language.
    """
    codes = identifier_codes(languages)
    identifier = _identifier(normalize=True)
    identifier.set_languages(list(dict.fromkeys(codes.values())) or None)
    probabilities = dict(identifier.rank(line))
    identifier.set_languages(None)  # as other callers expect

    ranked = [(language, float(probabilities[code])) for language, code in codes.items()]
    ranked.sort(key=lambda item: item[1], reverse=True)
    return ranked


def other_language_probabilities(lines: Sequence[str], code: str) -> list[float]:
    """Probability of the most probable language of each line if it is not `code`, else 0.

    The identifier chooses from all languages that it knows. code: a code of the identifier.
    """
    identifier = _identifier(normalize=True)
    probabilities = []
    for line in lines:
        probability = 0.0
        if line.strip():
            label, confidence = identifier.classify(line)
            if label != code:
                probability = confidence
        probabilities.append(probability)
    return probabilities
