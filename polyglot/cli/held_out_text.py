"""Test text that `clean` compares with the training text, named by files or by a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.core.errors import ConfigError

if TYPE_CHECKING:
    from polyglot.text.comparison_key import Hashes

LANGUAGE_PLACE = "{language}"


def read_test_text(
    names: Sequence[str],
    languages: Sequence[str],
    *,
    shortest: int,
) -> dict[str, Hashes]:
    """Hash the sentences of the test text by language. Raises ConfigError for other languages."""
    from polyglot.data.cleaning import read_hashes
    from polyglot.data.parallel_files import divide_name

    files: dict[str, list[Path]] = {}
    for name in names:
        if LANGUAGE_PLACE in name:
            matched = _files_of_languages(name, languages)
        else:
            path = Path(name)
            _, language = divide_name(path)
            if language not in languages:
                raise ConfigError(
                    f"--test {name}: the ending of its name is none of the languages "
                    f"{', '.join(languages)}"
                )
            matched = {language: path}
        for language, path in matched.items():
            files.setdefault(language, []).append(path)
    return read_hashes(files, shortest=shortest)


def _files_of_languages(pattern: str, languages: Sequence[str]) -> dict[str, Path]:
    """Find the file of each language. Raises ConfigError if no language has a file."""
    files = {}
    for language in languages:
        path = Path(pattern.replace(LANGUAGE_PLACE, language))
        if path.exists():
            files[language] = path
    if not files:
        raise ConfigError(f"--test {pattern}: no such file for any of {', '.join(languages)}")
    return files
