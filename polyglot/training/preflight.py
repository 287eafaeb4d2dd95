"""Preflight checks of text, packages, precision and other runs, all reported at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from accelerate.tracking import get_available_trackers
from accelerate.utils import is_bf16_available

from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError, DataError, collect_errors
from polyglot.core.language_codes import describe_unknown
from polyglot.core.problems import Problem, as_problems
from polyglot.core.registry import ComponentConfig
from polyglot.data.corpora import Corpora
from polyglot.distributed.variables import accelerate_state
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer, fallback_messages
from polyglot.runs.data_folder import find_data_folder, tried_folders
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, match_pairs
from polyglot.training.warm_start import open_initial_runs

logger = logging.getLogger("polyglot")

DATA_FOLDER = ("data", "folder")
TRAINING_TEXT = ("data", "train")


def check_and_open_corpora(
    config: Config,
    *,
    resuming: bool = False,
    run: Run | None = None,
) -> Corpora:
    """Check everything that a run needs on this machine; returns its training text.

    Warns about languages without test text, unknown language codes and missing tokenizers.
    resuming: True for a continued run; the runs of `initialize` are then not checked. run: a
    continued run; its relative paths of texts are also tried in the folder where it was started.
    Raises ConfigError with all problems, DataError if all problems are about text.
    """
    train = _corpora(config, config.data.train, run)
    held_out = held_out_corpora(config, run)
    machine_problems = _machine_problems(config, resuming=resuming)
    text_problems = _text_problems(train, held_out, trained_languages(config))
    if machine_problems:
        raise ConfigError(
            machine_problems + as_problems(text_problems),
            where=f"the configuration of {config.run}, on this machine",
        )
    if text_problems:
        tried = tried_folders(run) if run else ""
        raise DataError("\n".join(text_problems) + tried)

    if config.data.test:
        held_out["test"].check_any(directions(config))
        for message in held_out["test"].missing_languages(trained_languages(config)):
            logger.warning(
                f"data.test: {message}; directions with that language will have no score"
            )
    _log_unused_and_missing_text(train)
    unknown = describe_unknown(config.languages)
    if unknown:
        logger.info(unknown)
    for message in tokenizer_messages(config):
        logger.warning(message)
    return train


def preflight_problems(config: Config) -> list[Problem]:
    """Problems of a new run on this machine that can be found without reading much text."""
    train = _corpora(config, config.data.train)
    problems = _machine_problems(config, resuming=False)
    try:
        languages = trained_languages(config)
    except ConfigError:  # the schedule is not valid, which another check reports
        languages = set(config.languages)

    language_of_message = {}
    for language in languages:
        for message in train.missing_languages({language}):
            language_of_message[message] = language
    text_problems = _text_problems(train, held_out_corpora(config), languages)
    for problem in as_problems(text_problems):
        # A problem is shown only if none of its `related` keys has a problem: text may be missing
        # only because the folder is wrong.
        language = language_of_message.get(problem.message)
        if language is None:
            problem = replace(problem, related=(DATA_FOLDER,))
        else:
            # The language may be in a training corpus that has a problem of its own.
            problem = replace(
                problem,
                related=(DATA_FOLDER, TRAINING_TEXT),
                languages=(language,),
            )
        problems.append(problem)
    return problems


def load_training_corpora(config: Config) -> Corpora:
    """Training text alone.

    Raises DataError with all problems that can be found without reading much text.
    """
    train = _corpora(config, config.data.train)
    problems = train.check(trained_languages(config))
    if problems:
        raise DataError("\n".join(problems))
    _log_unused_and_missing_text(train)
    return train


def tokenizer_messages(config: Config) -> list[str]:
    """One line for each tokenizer that validation or evaluation needs and this machine lacks."""
    pairs: list[LanguagePair] = []
    if config.data.valid:
        pairs += match_pairs(config.validation.bleu_pairs, config.languages)
    if config.data.test:
        pairs += directions(config)
    targets = dict.fromkeys(pair.target for pair in pairs)
    return fallback_messages(Scorer(Measure("bleu"), target=target) for target in targets)


def trained_languages(config: Config) -> set[str]:
    """Languages that need text: all, except those that only an earlier run trained."""
    before = set()
    for name in config.trained_before:
        pair = LanguagePair.parse(name)
        before |= {pair.source, pair.target}
    trained = set(config.languages) - before
    for task in config.tasks:
        trained |= {task.source, task.target}
    return trained


def directions(config: Config) -> list[LanguagePair]:
    """All pairs of a language with an encoder and a language with a decoder."""
    sources = dict.fromkeys(pair.source for pair in config.pairs)
    targets = dict.fromkeys(pair.target for pair in config.pairs)
    return [LanguagePair(source, target) for source in sources for target in targets]


def _machine_problems(config: Config, *, resuming: bool) -> list[Problem]:
    """Packages, a precision and runs that the configuration needs and this machine lacks."""
    problems: list[Problem] = []
    available = [str(tracker) for tracker in get_available_trackers()]
    missing = [name for name in config.training.trackers if name not in available]
    if missing:
        install = "for tensorboard, pip install 'polyglot-nmt[trackers]'"
        problems.append(
            Problem(("training", "trackers"), f"{', '.join(missing)} not installed; {install}")
        )

    precision = config.training.precision
    device = accelerate_state().device.type
    if not _supports_precision(precision, device):
        message = (
            f"{precision!r} is not available on this machine's {device}; "
            "use training.precision=no (float32) or another precision"
        )
        problems.append(Problem(("training", "precision"), message))
    if not resuming:
        with collect_errors(problems):
            open_initial_runs(config)
    return problems


def _supports_precision(precision: str, device: str) -> bool:
    if precision == "fp16":
        return device != "cpu"
    if precision == "bf16":
        return is_bf16_available()
    return True


def _text_problems(
    train: Corpora,
    held_out: Mapping[str, Corpora],
    languages: set[str],
) -> list[str]:
    """Problems of all texts, each once; held-out text may lack languages but must be readable.

    languages: those that need training text.
    """
    train_problems = train.check(languages)
    problems = dict.fromkeys(train_problems)
    mentioned = set(train_problems)
    for part, corpora in held_out.items():
        for problem in corpora.problems():
            if problem not in mentioned:  # the same file may be both valid and test text
                mentioned.add(problem)
                problems[f"data.{part}: {problem}"] = None
    return list(problems)


def _corpora(
    config: Config,
    corpora: Sequence[ComponentConfig],
    run: Run | None = None,
) -> Corpora:
    folder = Path(config.data.folder)
    if run:
        folder = find_data_folder(run, corpora)
    return Corpora(corpora, folder=folder, languages=config.languages)


def held_out_corpora(config: Config, run: Run | None = None) -> dict[str, Corpora]:
    """Validation and test text, by the name of the part."""
    return {
        "valid": _corpora(config, config.data.valid, run),
        "test": _corpora(config, config.data.test, run),
    }


def _log_unused_and_missing_text(train: Corpora) -> None:
    for message in [*train.ignored_languages(), *train.missing_files()]:
        logger.info(message)
