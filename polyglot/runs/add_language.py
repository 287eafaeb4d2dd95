"""Configuration of a run that adds a language to another run."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from polyglot.config.loading import configure
from polyglot.config.overrides import override_key
from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.language_codes import is_same_language, resolve_language
from polyglot.data.corpora import Corpora
from polyglot.runs.language_data import LanguageData, LanguageText
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import ALL_LANGUAGES


def config_with_language(
    run: Run,
    language: str,
    overrides: Sequence[str] = (),
    *,
    partners: Sequence[str] = (),
    free: Sequence[str] = (),
    checkpoint: str | int = "best",
    data_file: str | Path | None = None,
) -> Config:
    """Return the configuration of a new run with all languages of a run and a new language.

    The new language trains with its partners in both directions, and copies itself if the other
    languages do. By default the partners are all languages, or those that `data_file` has text
    with. All components start from the run and are frozen, except those that match a pattern of
    `free`.

    data_file: text of the new language, in place of all corpora of the run.
    Raises ConfigError with every problem.
    """
    before = run.config
    partners = [resolve_language(partner, before.languages) for partner in partners]
    _check_arguments(run, language, partners=partners, free=free)
    values = before.model_dump()
    trained_partners = list(partners) or before.languages
    if data_file is not None:
        data = LanguageData.load(data_file)
        text = LanguageText(data, language, before.languages)
        copies = bool(before.schedule.copies)
        _check_text_of_file(text, data_file, overrides, partners=partners, copies=copies)
        trained_partners = list(partners) or text.partners
        values["data"] = data.values(before.data.filter)
        values["validation"] |= _validation(before, text, trained_partners)

    values["languages"] = [*before.languages, language]
    values["run"] = None
    values["schedule"] |= _new_tasks(before, language, trained_partners)
    values["sharing"] = _without_new_language(values["sharing"], before.languages)
    values |= _start_from_run(run, checkpoint, free)
    if before.training.epochs is not None:
        values["training"]["steps"] = None  # computed again, from the text of the new language
    return configure(
        values,
        overrides,
        run=str(run.derived_path(language)),
        where=f"{run.path} with {language}",
    )


def _start_from_run(run: Run, checkpoint: str | int, free: Sequence[str]) -> dict[str, Any]:
    """Return settings that start components from a checkpoint; most components are frozen."""
    components = run.config.components
    start = {"run": run.address, "checkpoint": checkpoint}
    return {
        "initialize": {name: dict(start) for name in components},
        "freeze": [name for name in components if not _matches_any(name, free)],
        "trained_before": [str(pair) for pair in run.config.pairs],
    }


def _check_text_of_file(
    text: LanguageText,
    file: str | Path,
    overrides: Sequence[str],
    *,
    partners: Sequence[str],
    copies: bool,
) -> None:
    """Raise ConfigError with every problem of the text that a file names.

    Overrides may name more text, so that partners without text in the file are no problem.
    """
    if any(override_key(override).startswith("data") for override in overrides):
        partners = ()
    problems = text.problems(partners, copies=copies)
    if not problems:
        problems = text.content_problems()
    if problems:
        raise ConfigError(problems, where=str(file))


def check_text(config: Config, language: str) -> None:
    """Check that the corpora of a new run have its new language. Raises ConfigError if not."""
    corpora = Corpora(
        config.data.train,
        folder=Path(config.data.folder),
        languages=config.languages,
    )
    if LanguagePair(language, language) in corpora.pairs():
        return
    problems = corpora.check([language]) or [f"data.train: no text in {language}"]
    hint = "name its text with --data FILE.yaml, or add it with data.train+=…"
    raise ConfigError([*problems, hint], where=f"text in {language}")


def _check_arguments(
    run: Run,
    language: str,
    *,
    partners: Sequence[str],
    free: Sequence[str],
) -> None:
    languages = run.config.languages
    if language in languages:
        raise ConfigError(f"{run.path}: has {language} already")
    for known in languages:
        if is_same_language(known, language):
            raise ConfigError(f"{run.path}: has {language} already, with the code {known}")
    for partner in partners:
        if partner not in languages:
            message = unknown_name("language", partner, languages)
            raise ConfigError(f"{run.path}: {message}")

    components = run.config.components
    for pattern in free:
        if not any(fnmatchcase(name, pattern) for name in components):
            message = unknown_name("component", pattern, components)
            raise ConfigError(f"{run.path}: {message}")


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _new_tasks(before: Config, language: str, partners: Sequence[str]) -> dict[str, Any]:
    """Return settings of the schedule that train only the new language."""
    sources = {pair.source for pair in before.pairs}
    targets = {pair.target for pair in before.pairs}
    pairs = [f"{language}-{partner}" for partner in partners if partner in targets]
    pairs += [f"{partner}-{language}" for partner in partners if partner in sources]
    copies = False
    if before.schedule.copies:
        copies = [language]
    return {
        "pairs": pairs,
        "exclude": [],
        "copies": copies,
        "phases": [],
    }


def _validation(before: Config, text: LanguageText, partners: Sequence[str]) -> dict[str, Any]:
    """Return settings of the validation that fit the text of the new language."""
    if not text.pairs("valid"):
        return {"bleu_pairs": [], "best_by": "loss", "patience": None}
    if not before.validation.bleu_pairs:
        return {}
    bleu_pairs = []
    new_tasks = _new_tasks(before, text.language, partners)
    for pattern in new_tasks["pairs"]:
        if LanguagePair.parse(pattern) in text.pairs("valid"):
            bleu_pairs.append(pattern)
    if not bleu_pairs:
        return {"bleu_pairs": [], "best_by": "loss"}
    return {"bleu_pairs": bleu_pairs}


def _without_new_language(
    sharing: dict[str, dict[str, list[str]] | str],
    languages: Sequence[str],
) -> dict[str, dict[str, list[str]] | str]:
    """Replace `all` by the old languages: the new language has its own components."""
    groups_of_parts = {}
    for part, groups in sharing.items():
        if groups == ALL_LANGUAGES:
            groups = {ALL_LANGUAGES: list(languages)}
        groups_of_parts[part] = groups
    return groups_of_parts
