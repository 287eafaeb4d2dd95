"""One YAML file is one run: its sections, overrides from the command line, and every problem reported at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator

from polyglot.core import presets
from polyglot.contradictions import contradictions
from polyglot.data.batching import BatchingConfig
from polyglot.data.corpora import CORPORA
from polyglot.data.filters import FilterConfig
from polyglot.decoding.base import SearchConfig
from polyglot.distributed.config import ParallelConfig
from polyglot.core.errors import ConfigError
from polyglot.model.losses import LossesConfig
from polyglot.model.translation_model import ModelConfig
from polyglot.optim.lr_schedules import LEARNING_RATES
from polyglot.optim.optimizers import OPTIMIZERS
from polyglot.problems import Place, places, sentences
from polyglot.core.registry import ComponentConfig, HomePath
from polyglot.tasks.schedule import SCHEDULES, tasks_of
from polyglot.tasks.sharing import Sharing, SharingConfig
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.text.preprocessing import STEPS
from polyglot.text.symbols import SymbolsConfig
from polyglot.text.vocabulary import VocabularyConfig
from polyglot.core.yaml import as_written, parse_value, read_yaml, write_yaml

if TYPE_CHECKING:  # the union of all kinds is only known when they are registered
    CorpusList = list[ComponentConfig]
else:
    CorpusList = list[CORPORA.config_type()]
Settings = TypeVar("Settings", bound=BaseModel)
Besides = Callable[["Config"], Iterable[str]]
"""Gives a sentence for each problem of a configuration, or of what is right in one."""


class DataConfig(ComponentConfig):
    """Where the text is."""

    folder: HomePath = "."
    """Where relative paths of the corpora start; itself relative to where the program is called."""
    train: CorpusList = Field(min_length=1)
    """Corpora that are trained on; a task uses every one that has its pair."""
    valid: CorpusList = []
    """Corpora that validation uses."""
    test: CorpusList = []
    """Corpora that `evaluate` translates unless its protocol names others."""
    filter: FilterConfig = FilterConfig()
    """Which training sentences are left out."""


class TextConfig(ComponentConfig):
    """Steps before the vocabulary, undone on output where they can be."""

    steps: list[STEPS.config_type()] = []
    """Steps for every language, in order."""
    languages: dict[str, list[STEPS.config_type()]] = {}
    """Other steps for single languages."""
    symbols: SymbolsConfig | None = None
    """Typed symbols in the place of numbers, names and acronyms, after the steps: `{}` for all as below; null for none."""

    def of(self, language: str) -> list[ComponentConfig]:
        return self.languages.get(language, self.steps)


class VocabulariesConfig(VocabularyConfig):
    """The vocabulary of each language."""

    languages: dict[str, VocabularyConfig] = {}
    """Differences of single languages, such as `fr: {size: 9000}`; what is not named is as above."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_languages(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("languages"), dict):
            return value
        common = {key: value[key] for key in VocabularyConfig.model_fields if key in value}
        own = {language: {**common, **one} if isinstance(one, dict) else one for language, one in value["languages"].items()}
        return {**value, "languages": own}

    def of(self, language: str) -> VocabularyConfig:
        return self.languages.get(language, self)


class CheckpointConfig(ComponentConfig):
    """When checkpoints are written."""

    every: int = Field(1000, ge=1)
    """Steps between checkpoints; the last step always has one."""
    keep: int = Field(3, ge=1)
    """How many of the newest stay; the best one stays besides."""


class TrainingConfig(ComponentConfig):
    """The training loop."""

    steps: int = Field(ge=1)
    """Updates of the whole run."""
    clip_norm: float | None = Field(5.0, gt=0)
    """Largest global norm of the gradients of what was trained; null for none."""
    precision: Literal["no", "bf16", "fp16"] = "no"
    """Mixed precision, through accelerate."""
    log_every: int = Field(50, ge=1)
    """Steps between lines of the log."""
    checkpoint: CheckpointConfig = CheckpointConfig()
    """When checkpoints are written."""
    trackers: list[Literal["tensorboard", "wandb", "mlflow", "comet_ml", "aim", "clearml"]] = []
    """Experiment trackers, through accelerate; each needs its own package."""


class ValidationConfig(ComponentConfig):
    """Looking at held-out text during training."""

    every: int = Field(1000, ge=1)
    """Steps between validations."""
    bleu_pairs: list[str] = []
    """Pairs that are translated greedily and scored with BLEU, as patterns; also pairs that are not trained."""
    sentences: int = Field(500, ge=1)
    """How many sentences of a pair are looked at, at most: the first ones, so that of a sorted text it should be all."""
    tasks: int | None = Field(None, ge=1)
    """How many tasks' losses are looked at, at most, drawn by the seed; null for all."""
    best_by: Literal["loss", "bleu"] = "loss"
    """What makes a checkpoint the best one: the mean loss of the tasks that are no copies, or the mean BLEU of `bleu_pairs`."""
    patience: int | None = Field(None, ge=1)
    """Stop after this many validations without a better one; null never stops early."""


class InitialConfig(ComponentConfig):
    """Where components start from."""

    run: HomePath
    """A run directory, or one that `polyglot export` wrote."""
    checkpoint: str | int = "best"
    """`best`, `last`, a step, or `average:N`."""
    component: str | None = None
    """Its name there, where it is another."""


class Config(ComponentConfig):
    """One run."""

    languages: list[str] = Field(min_length=1)
    """The languages, by codes such as `de` or `zh_Hans`."""
    seed: int = Field(1, ge=0, lt=2**64)
    """Where all randomness comes from."""
    run: HomePath | None = None
    """The run directory; by default `runs/` and the name of the configuration."""
    data: DataConfig
    """Where the text is."""
    text: TextConfig = TextConfig()
    """Steps before the vocabulary."""
    vocabulary: VocabulariesConfig = VocabulariesConfig()
    """The vocabulary of each language."""
    schedule: SCHEDULES.config_type(default="uniform")
    """Who trains with whom, and when; a name stands for a file of `schedules/`."""
    model: ModelConfig = ModelConfig()
    """Encoders, bridge and decoders."""
    sharing: Sharing = SharingConfig()
    """Languages that share components; `all` shares everything among all, told apart by a vector for each target language."""
    freeze: list[str] = []
    """Components that stay as they are, such as `bridge` or `"encoder.*"`."""
    initialize: dict[str, Annotated[InitialConfig, BeforeValidator(lambda value: {"run": value} if isinstance(value, str) else value)]] = {}
    """Components that start from other runs, such as `{encoder.de: runs/a, "decoder.*": runs/b}`; the first that fits counts. A pattern
    takes what the run has; vocabularies come along."""
    trained_before: list[str] = []
    """Pairs that the runs of `initialize` were trained on: their components are part of this run, and evaluations count them as trained."""
    losses: LossesConfig = LossesConfig()
    """What is minimised."""
    batching: BatchingConfig = BatchingConfig()
    """How sentences come together in batches."""
    optimizer: OPTIMIZERS.config_type(default="adam")
    """The optimizer."""
    learning_rate_schedule: LEARNING_RATES.config_type(default="constant")
    """How the learning rate changes."""
    training: TrainingConfig
    """The training loop."""
    parallel: ParallelConfig = ParallelConfig()
    """How several processes share the work."""
    validation: ValidationConfig = ValidationConfig()
    """Looking at held-out text during training."""
    search: SearchConfig = SearchConfig()
    """How translations are searched for, unless a command says otherwise."""

    @property
    def tasks(self) -> list[Task]:
        """Every task of the run, in the order of the languages."""
        return tasks_of(self.schedule, self.languages)

    @property
    def pairs(self) -> list[LanguagePair]:
        """The trained pairs, copies included: those of the tasks, and those that were trained before."""
        return list(dict.fromkeys([*(task.pair for task in self.tasks), *map(LanguagePair.parse, self.trained_before)]))

    @property
    def components(self) -> list[str]:
        """The names of all components."""
        return self.model.components(self.pairs, self.sharing)

    def to_yaml(self) -> str:
        """The configuration with every default filled in."""
        return write_yaml(self.model_dump())


def load_config(name: str | Path, overrides: Sequence[str] = (), *, besides: Besides | None = None) -> Config:
    """A configuration from a file or a shipped name, with `key.path=value` overrides.

    besides: what else is wrong with what is right in a configuration that is not.
    Raises ConfigError with every problem: place, what was found, what would be right.
    """
    path = presets.find("configs", str(name))
    run = f"runs/{path.stem if path.stem != 'config' else path.parent.name}"
    return configure(read_yaml(path), overrides, run=run, where=str(name), besides=besides)


def configure(
    values: dict[str, Any], overrides: Sequence[str], *, run: str, where: str, besides: Besides | None = None
) -> Config:
    """Values to a configuration, with `key.path=value` overrides laid over them; `run` is its place unless they name one.

    besides: as for `load_config`. Raises ConfigError with every problem; `where` names the file in it.
    """
    problems: dict[str, str] = {}
    for override in overrides:
        try:
            _override(values, override)
        except ConfigError as error:
            problems[override.partition("=")[0]] = str(error)
    if "schedule" in values:
        try:
            values["schedule"] = _schedule(values["schedule"])
        except ConfigError as error:
            problems["schedule"] = str(error)
            del values["schedule"]
    if values.get("run") is None:
        values["run"] = run
    return check_config(values, where=where, problems=problems, besides=besides)


def check_config(
    values: dict[str, Any], *, where: str, problems: Mapping[str, str] = {}, besides: Besides | None = None
) -> Config:
    """Values to a configuration. Raises ConfigError with every problem; `where` names the file in it.

    problems: what is known to be wrong already, by its key; the values are those without it. besides: as for `load_config`.
    """
    found, wrong = list(problems.values()), [tuple(key.split(".")) for key in problems]
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        found += [sentence for sentence in sentences(error, Config) if sentence.partition(":")[0] not in problems]
        wrong += places(error, Config)
    if wrong:
        config, wrong = _rest(values, wrong)
    if config:
        found += (one for one in contradictions(config) if not any(_speaks_of(one, place) for place in wrong))
        found += besides(config) if found and besides else ()
    if found:
        raise ConfigError(found, where=where)
    return config


def check_settings(kind: type[Settings], values: dict[str, Any], *, where: str) -> Settings:
    """Values to settings of one kind. Raises ConfigError with every problem; `where` names the file in it."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError(sentences(error, kind), where=where) from None


class _DataRest(DataConfig):
    train: CorpusList = []


class _TrainingRest(TrainingConfig):
    steps: int = 1


class _Rest(Config):
    """What is right in a configuration; what is wrong by itself is left out, also where a configuration needs it."""

    data: _DataRest = _DataRest()
    training: _TrainingRest = _TrainingRest()


def _rest(values: Mapping[str, Any], wrong: Iterable[Place]) -> tuple[_Rest | None, set[Place]]:
    """What is right in values, and what was left out for it: settings of a section, corpora, or whole sections.

    None where the languages are wrong, of which everything else speaks.
    """
    left_out = {place[: 3 if place[0] == "data" else 2] for place in wrong}
    while not any(place[0] == "languages" for place in left_out):
        try:
            return _Rest.model_validate(_without(values, left_out)), left_out
        except ValidationError as error:  # something lacks in a section what was left out of it
            left_out |= {problem["loc"][:1] for problem in error.errors()}
    return None, left_out


def _without(values: Any, left_out: set[Place], place: Place = ()) -> Any:
    """Nested values without what stands at some places."""
    if isinstance(values, dict):
        return {key: _without(one, left_out, (*place, key)) for key, one in values.items() if (*place, key) not in left_out}
    if isinstance(values, list):
        return [_without(one, left_out, (*place, number)) for number, one in enumerate(values) if (*place, number) not in left_out]
    return values


def _speaks_of(sentence: str, place: Place) -> bool:
    """Whether a contradiction is with what was left out: that is nobody's, for something else stands in for it."""
    name = re.escape(".".join(str(key) for key in place if not isinstance(key, int)))
    end = r"(?=[.:])" if len(place) == 1 else r"(?!\w)"  # a section's name is also a word
    return re.search(rf"(?<![\w.]){name}{end}", sentence) is not None


def _override(values: dict[str, Any], override: str) -> None:
    """Lay one `key.path=value` over the values; numbers select items of lists."""
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise ConfigError(f"{override!r}: an override is written key=value, such as training.steps=1000")
    try:
        value = parse_value(text)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    *parents, last = path.split(".")
    place: Any = values
    for number, key in enumerate(parents):
        if isinstance(place, list):
            place = place[_index(place, key, override)]
        else:
            if isinstance(place.get(key), str):  # a name alone: `encoder: lstm`, `schedule: with_copies`
                place[key] = {"base" if key == "schedule" and number == 0 else "type": place[key]}
            place = place.setdefault(key, {})
        if not isinstance(place, (dict, list)):
            raise ConfigError(f"{override!r}: {'.'.join(parents[: number + 1])} is {as_written(place)} and has no keys below it")
    if isinstance(place, list):
        place[_index(place, last, override)] = value
    else:
        place[last] = value


def _index(items: list[Any], key: str, override: str) -> int:
    if not key.isdigit() or int(key) >= len(items):
        raise ConfigError(f"{override!r}: {key!r} is no item of a list of {len(items)}; they count from 0")
    return int(key)


def _schedule(value: Any) -> Any:
    """A name or `base: name` to the shipped (or own) schedule with the other keys laid over it. Raises ConfigError naming the key.

    Behind overrides a name alone stands at `base` too, so what is wrong with a name is said of `schedule`, which everybody wrote.
    """
    if isinstance(value, str):
        value = {"base": value}
    if not isinstance(value, dict) or "base" not in value:
        return value
    if not isinstance(value["base"], str):
        raise ConfigError(f"schedule.base: the name of a schedule is expected, found {as_written(value['base'])}")
    try:
        base = read_yaml(presets.find("schedules", value["base"]))
    except ConfigError as error:
        raise ConfigError(f"schedule: {error}") from None
    return {**base, **{key: own for key, own in value.items() if key != "base"}}
