"""Language codes: what users write, its normal form, and the code that each library needs.

Accepted spellings: ISO 639-1 and 639-3 (`de`, `deu`, also `ger`), BCP 47 with underscores
(`pt_BR`, `zh_Hant`), FLORES and NLLB (`deu_Latn`), mBART (`de_DE`, `en_XX`), upper case,
macrolanguages and their usual member (`lav` and `lvs`). The code of the user stays the name of the
language in files and tables; this module only interprets it.

The data are those of langcodes: the subtag registry of BCP 47 and Unicode CLDR.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

from polyglot.core.errors import ConfigError, abbreviate

SCRIPT_NAMES = {
    "arabic": "Arab",
    "cyrillic": "Cyrl",
    "devanagari": "Deva",
    "latin": "Latn",
    "simplified": "Hans",
    "traditional": "Hant",
}
"""Scripts that corpora write as words: `sr_latin`, `zh_traditional`."""

SCRIPT_VARIANTS = {
    ("ko", "Hang"): "Kore",
    ("ja", "Hira"): "Jpan",
    ("ja", "Hrkt"): "Jpan",
    ("ja", "Kana"): "Jpan",
    ("zh", "Hani"): "Hans",
    ("yue", "Hani"): "Hant",
    ("ur", "Aran"): "Arab",
    ("fa", "Aran"): "Arab",
}
"""Scripts that name a part or a style of the usual script of a language."""

ANY_REGION = "XX"
"""Region in the codes of mBART for a language without one: `en_XX`."""

AMBIGUOUS_MACROLANGUAGES = frozenset({"ak", "man"})
"""Macrolanguages whose members in CLDR are several (Twi and Fante): their members stay apart."""

SAME_LANGUAGE = {"nb": "no"}
"""CLDR 45 uses `no` for Bokmål; the data of langcodes have both."""

USUAL_SCRIPTS = {"azb": "Arab"}
"""Scripts of languages that langcodes has none for, and whose macrolanguage has another one."""

OTHER_NAMES = {"fil": "tl", "kok": "gom"}
"""Codes that libraries use besides those of CLDR."""

CHINESE_SCRIPTS = frozenset({"Hans", "Hant", "Hani", "Hanb", "Bopo"})
JAPANESE_SCRIPTS = frozenset({"Jpan", "Hira", "Kana", "Hrkt"})
SCRIPTS_WITHOUT_SPACES = (
    CHINESE_SCRIPTS
    | JAPANESE_SCRIPTS
    | frozenset("Thai Laoo Khmr Mymr Tibt".split())
    | frozenset("Bali Batk Bugi Java Kawi Lana Maka Phag Tale Talu Tavt Yiii".split())
)
"""Scripts that write no spaces between words, or only between phrases or syllables.

Unicode Standard 16, chapters 13 and 16 to 18.
"""


@dataclass(frozen=True, slots=True)
class LanguageCode:
    """Meaning of a language code."""

    name: str
    """as the user wrote it"""
    language: str
    """language subtag of BCP 47, such as `zh` or `yue`; the name in lower case if not known"""
    script: str | None
    """script that is written in the code, or the usual one of the language; None if not known"""
    normal_form: str
    """shortest tag of BCP 47 with this meaning (CLDR); equal for all spellings of one language"""
    is_known: bool
    """False if the language is in no registry"""
    unknown_part: str
    """end of the name that is in no registry; empty if everything is known"""
    subtag: str
    """language subtag before macrolanguages are unified: `lvs`, where `language` is `lv`"""


@cache
def parse_language(name: str) -> LanguageCode:
    """Interpret a language code; never fails."""
    parts = re.split("[-_]", name)
    for count in range(len(parts), 0, -1):
        tag = _read_tag(parts[:count])
        if tag is not None:
            return _interpret(name, tag, rest=parts[count:])
    return LanguageCode(
        name,
        language=name.lower(),
        script=None,
        normal_form="-".join(parts).lower(),
        is_known=False,
        unknown_part=name,
        subtag=name.lower(),
    )


def normal_form(name: str) -> str:
    """Return the tag that all spellings of one language share: `de` for `deu_Latn`."""
    return parse_language(name).normal_form


def is_same_language(first: str, second: str) -> bool:
    """True for two spellings of one language.

    A language whose usual script is not known is the same with and without a script.
    """
    left = parse_language(first)
    right = parse_language(second)
    if left.normal_form == right.normal_form:
        return True
    if left.script is not None and right.script is not None:
        return False
    return _without_script(left) == _without_script(right)


def repeated_languages(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Iterate over the pairs of different names that are spellings of one language."""
    candidates: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        candidates.setdefault(_without_script(parse_language(name)), []).append(name)
    for group in candidates.values():
        for first, second in combinations(group, 2):
            if is_same_language(first, second):
                yield first, second


def find_language(name: str, languages: Collection[str]) -> str | None:
    """Return the language that a code means among those of a run; None if none or several."""
    matches = _matching_languages(name, languages)
    if len(matches) != 1:
        return None
    return matches[0]


def resolve_language(name: str, languages: Collection[str]) -> str:
    """Return the language of a run that a code means; the code itself if the run has none.

    Raises ConfigError if the code may mean several languages of the run.
    """
    matches = _matching_languages(name, languages)
    if len(matches) > 1:
        names = " or ".join(map(repr, matches))
        raise ConfigError(f"language {name!r}: may mean {names}; name one of them")
    return matches[0] if matches else name


def _matching_languages(name: str, languages: Collection[str]) -> list[str]:
    """Return the same name, else other spellings of the language, else its variants.

    A variant is `en_GB` for `en`.
    """
    if name in languages:
        return [name]
    spellings = [language for language in languages if is_same_language(name, language)]
    if spellings:
        return spellings

    wanted = parse_language(name)
    if wanted.normal_form != wanted.language:
        return []
    return [language for language in languages if _is_variant(language, wanted.language)]


def _is_variant(name: str, language: str) -> bool:
    """True for a code with this language subtag, such as `en_GB` of `en`."""
    return parse_language(name).language == language


@cache
def find_code(name: str, codes: frozenset[str]) -> str | None:
    """Return the code of a library that means this language; None if it has none.

    Tried in this order: the name itself, the two-letter and three-letter codes, the codes of other
    members of the language, and its macrolanguage if that is written in the same script.
    """
    for candidate in _candidates(parse_language(name)):
        if candidate in codes:
            return candidate
    return None


def has_spaces(name: str) -> bool:
    """True for a language with spaces between words, and for one whose script is not known."""
    return parse_language(name).script not in SCRIPTS_WITHOUT_SPACES


def describe_unknown(languages: Sequence[str]) -> str:
    """Return one line about what is not known of these languages; empty if all is known."""
    unknown = []
    partly_known = []
    without_script = []
    for name in languages:
        code = parse_language(name)
        if not code.is_known:
            unknown.append(name)
        elif code.unknown_part:
            partly_known.append(f"{code.unknown_part} in {name} (treated as {code.language})")
        elif code.script is None:
            without_script.append(name)

    sentences = []
    if unknown:
        sentences.append(
            f"in no registry: {abbreviate(unknown)} (common rules for text and scores)"
        )
    if partly_known:
        sentences.append(f"in no registry: {abbreviate(partly_known)}")
    if without_script:
        sentences.append(
            f"script not known: {abbreviate(without_script)} (words are expected between spaces)"
        )
    if not sentences:
        return ""
    return f"language codes: {'; '.join(sentences)}"


# Interpretation by langcodes, which is imported late: its tables take 0.2 s


def _read_tag(parts: Sequence[str]) -> Any | None:
    """Return the `langcodes.Language` of these subtags; None if a registry lacks one of them."""
    from langcodes import Language, LanguageTagError

    subtags = [SCRIPT_NAMES.get(part.lower(), part) for part in parts]
    if len(subtags) > 1 and subtags[-1].upper() == ANY_REGION:
        subtags.pop()
    try:
        tag = Language.get("-".join(subtags))
    except LanguageTagError:
        return None
    is_private = tag.language is None or tag.language.startswith("x-")
    if is_private or not tag.is_valid():
        return None
    return tag


def _interpret(name: str, tag: Any, *, rest: Sequence[str]) -> LanguageCode:
    subtag = tag.language
    unified = tag.prefer_macrolanguage()
    if unified.language in AMBIGUOUS_MACROLANGUAGES:
        unified = tag
    language = SAME_LANGUAGE.get(unified.language, unified.language)
    written_script = SCRIPT_VARIANTS.get((language, unified.script), unified.script)
    unified = unified.update_dict({"language": language, "script": written_script})

    variants = [*(tag.extlangs or ()), *(tag.variants or ()), *rest]
    form = "-".join([_shortest_tag(unified), *variants])
    return LanguageCode(
        name,
        language=language,
        script=written_script or _usual_script(language, unified.territory),
        normal_form=form.lower() if rest else form,
        is_known=True,
        unknown_part="_".join(rest),
        subtag=subtag,
    )


def _shortest_tag(tag: Any) -> str:
    """Return language, script and region without what CLDR's likely subtags add again."""
    language, script, region = tag.language, tag.script, tag.territory
    if not _has_likely_script(language):
        if script == _usual_script(language):
            script = None
        return "-".join(part for part in (language, script, region) if part)

    written = [part for part in (language, script, region) if part]

    complete = _maximal("-".join(written))
    for parts in ((language,), (language, complete.script), (language, complete.territory)):
        shorter = "-".join(parts)
        if _maximal(shorter) == complete:
            return shorter
    return complete.to_tag()


def _maximal(tag: str) -> Any:
    from langcodes import Language

    maximal = Language.get(tag, normalize=False).maximize()
    return Language.make(maximal.language, script=maximal.script, territory=maximal.territory)


def _has_likely_script(language: str) -> bool:
    from langcodes.data_dicts import LIKELY_SUBTAGS

    return language in LIKELY_SUBTAGS


def _usual_script(language: str, region: str | None = None) -> str | None:
    """Usual script of a language and region, or of its macrolanguage; None if not known."""
    if language in USUAL_SCRIPTS:
        return USUAL_SCRIPTS[language]
    for candidate in (language, _macrolanguage(language)):
        if candidate is not None and _has_likely_script(candidate):
            written = [part for part in (candidate, region) if part]
            return _maximal("-".join(written)).script
    return None


def _macrolanguage(language: str) -> str | None:
    from langcodes.data_dicts import MACROLANGUAGES

    return MACROLANGUAGES.get(language)


def _candidates(code: LanguageCode) -> Iterator[str]:
    """Iterate over the codes that a library may use for a language, the most exact first."""
    yield code.name
    if not code.is_known:
        yield code.language
        return
    for language in dict.fromkeys([code.subtag, code.language]):
        yield language
        yield from _three_letter_code(language)
    if code.language in OTHER_NAMES:
        yield OTHER_NAMES[code.language]
    yield from _members(code.language)

    macrolanguage = _macrolanguage(code.language)
    if macrolanguage is not None and _is_same_script(parse_language(macrolanguage), code):
        yield macrolanguage


def _is_same_script(first: LanguageCode, second: LanguageCode) -> bool:
    scripts = {first.script, second.script}
    return len(scripts) == 1 or scripts <= CHINESE_SCRIPTS


def _three_letter_code(language: str) -> list[str]:
    from langcodes import Language

    try:
        return [Language.get(language).to_alpha3()]
    except LookupError:
        return []


def _members(language: str) -> list[str]:
    """Languages that CLDR unifies with this one: `gug` for `gn`."""
    from langcodes.data_dicts import NORMALIZED_MACROLANGUAGES

    return [member for member, macro in NORMALIZED_MACROLANGUAGES.items() if macro == language]


def _without_script(code: LanguageCode) -> str:
    parts = [part for part in code.normal_form.split("-") if part != code.script]
    return "-".join(parts)
