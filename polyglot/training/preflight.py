"""What a configuration needs of the machine it is on: text, packages, a precision, other runs; all that is missing is said at once."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from accelerate import PartialState
from accelerate.tracking import get_available_trackers
from accelerate.utils import is_bf16_available

from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError, DataError, collect_errors
from polyglot.core.registry import ComponentConfig
from polyglot.data.corpora import Corpora
from polyglot.tasks.pairs import LanguagePair
from polyglot.training.warm_start import open_initial_runs

logger = logging.getLogger("polyglot")


def preflight_problems(config: Config) -> list[str]:
    """Everything that a new run misses or cannot use here, as far as it shows without reading much."""
    return [
        *_of_machine(config, begun=False),
        *_of_text(_corpora(config, config.data.train), _held_out(config)),
    ]


def preflight(config: Config, *, begun: bool = False) -> Corpora:
    """The text that a configuration trains on, once all that it needs is there; of test text, languages that have none are said.

    begun: a run that goes on needs those no more that its components started from.
    Raises ConfigError with everything that is missing here, DataError where that is text alone.
    """
    train, held_out = _corpora(config, config.data.train), _held_out(config)
    machine, text = _of_machine(config, begun=begun), list(_of_text(train, held_out))
    if machine:
        raise ConfigError(
            machine + text, where=f"the configuration of {config.run}, on this machine"
        )
    if text:
        raise DataError("\n".join(text))
    if config.data.test:
        held_out["test"].check_any(directions(config))
        for sentence in held_out["test"].lacking():
            logger.warning(
                f"data.test: {sentence}; directions with that language will have no score"
            )
    _say_what_is_left_aside(train)
    return train


def load_training_corpora(config: Config) -> Corpora:
    """The same, whatever else a run would need. Raises DataError with every problem that shows without reading much."""
    train = _corpora(config, config.data.train)
    if problems := train.check():
        raise DataError("\n".join(problems))
    _say_what_is_left_aside(train)
    return train


def directions(config: Config) -> list[LanguagePair]:
    """From every language with an encoder into every one with a decoder."""
    pairs = config.pairs
    sources, targets = (
        dict.fromkeys(pair.source for pair in pairs),
        dict.fromkeys(pair.target for pair in pairs),
    )
    return [LanguagePair(source, target) for source in sources for target in targets]


def _of_machine(config: Config, *, begun: bool) -> list[str]:
    """Packages, a precision and runs that are not there."""
    problems: list[str] = []
    if missing := [
        name for name in config.training.trackers if name not in map(str, get_available_trackers())
    ]:
        install = "for tensorboard, pip install 'polyglot-nmt[trackers]'"
        problems.append(f"training.trackers: {', '.join(missing)} not installed; {install}")
    precision, device = config.training.precision, PartialState().device.type
    if (precision == "fp16" and device == "cpu") or (
        precision == "bf16" and not is_bf16_available()
    ):
        problems.append(
            f"training.precision: {precision!r} cannot be had on this machine's {device}; use 'no' or another"
        )
    if not begun:
        with collect_errors(problems):
            open_initial_runs(config)
    return problems


def _of_text(train: Corpora, held_out: dict[str, Corpora]) -> Iterator[str]:
    """All that trains must be there; of held-out text only what is there must be usable."""
    said = dict.fromkeys(train.check())
    yield from said
    for part, corpora in held_out.items():
        for problem in corpora.problems():
            if problem not in said:  # a file may be named twice
                said[problem] = None
                yield f"data.{part}: {problem}"


def _corpora(config: Config, corpora: Sequence[ComponentConfig]) -> Corpora:
    return Corpora(corpora, folder=Path(config.data.folder), languages=config.languages)


def _held_out(config: Config) -> dict[str, Corpora]:
    return {part: _corpora(config, getattr(config.data, part)) for part in ("valid", "test")}


def _say_what_is_left_aside(train: Corpora) -> None:
    for sentence in train.left_aside():
        logger.info(sentence)
