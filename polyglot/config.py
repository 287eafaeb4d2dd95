"""One YAML file is one run: its sections, overrides from the command line, and every problem reported at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator

from polyglot import shipped
from polyglot.contradictions import contradictions
from polyglot.data.batching import BatchingConfig
from polyglot.data.corpora import CORPORA
from polyglot.data.filters import FilterConfig
from polyglot.decoding.search import SearchConfig
from polyglot.distributed.settings import ParallelConfig
from polyglot.errors import ConfigError
from polyglot.model.losses import LossesConfig
from polyglot.model.model import ModelConfig
from polyglot.optim import LEARNING_RATES, OPTIMIZERS
from polyglot.problems import sentences
from polyglot.registry import ComponentConfig, HomePath
from polyglot.schedule import SCHEDULES, tasks_of
from polyglot.sharing import Sharing, SharingConfig
from polyglot.task import LanguagePair, Task
from polyglot.text.normalisation import STEPS
from polyglot.text.symbols import SymbolsConfig
from polyglot.text.vocabulary import VocabularyConfig
from polyglot.yaml_file import as_written, parse_value, read_yaml, write_yaml

if TYPE_CHECKING:  # the union of all kinds is only known when they are registered
    CorpusList = list[ComponentConfig]
else:
    CorpusList = list[CORPORA.config_type()]
Settings = TypeVar("Settings", bound=BaseModel)


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
        try:
            VocabularyConfig.model_validate(common)
        except ValidationError:  # which is said where it stands, and not again of every language
            return value
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
    """How many sentences of a pair are looked at, at most."""
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


def load_config(name: str | Path, overrides: Sequence[str] = ()) -> Config:
    """A configuration from a file or a shipped name, with `key.path=value` overrides.

    Raises ConfigError with every problem: place, what was found, what would be right.
    """
    path = shipped.find("configs", str(name))
    run = f"runs/{path.stem if path.stem != 'config' else path.parent.name}"
    return configure(read_yaml(path), overrides, run=run, where=str(name))


def configure(values: dict[str, Any], overrides: Sequence[str], *, run: str, where: str) -> Config:
    """Values to a configuration, with `key.path=value` overrides laid over them; `run` is its place unless they name one.

    Raises ConfigError with every problem; `where` names the file in it.
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
    return check_config(values, where=where, problems=problems)


def check_config(values: dict[str, Any], *, where: str, problems: Mapping[str, str] = {}) -> Config:
    """Values to a configuration. Raises ConfigError with every problem; `where` names the file in it.

    problems: what is known to be wrong already, by its key; the values are those without it.
    """
    found, wrong = list(problems.values()), {key.partition(".")[0] for key in problems}
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        found += [sentence for sentence in sentences(error, Config) if sentence.partition(":")[0] not in problems]
        wrong |= {problem["loc"][0] for problem in error.errors()}
    found += _contradictions_of_the_rest(values, wrong=wrong) if wrong else contradictions(config)
    if found:
        raise ConfigError(found, where=where)
    return config


def check_settings(kind: type[Settings], values: dict[str, Any], *, where: str) -> Settings:
    """Values to settings of one kind. Raises ConfigError with every problem; `where` names the file in it."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError(sentences(error, kind), where=where) from None


class _Rest(Config):
    """A configuration as far as contradictions need it; sections that are wrong by themselves are left out."""

    data: DataConfig | None = None
    training: Any = None


def _contradictions_of_the_rest(values: Mapping[str, Any], *, wrong: set[str]) -> list[str]:
    """What contradicts among the sections that are each right; what stands in for a wrong one is nobody's contradiction."""
    if "languages" in wrong:
        return []
    rest = _Rest.model_validate({key: value for key, value in values.items() if key not in wrong})
    return [sentence for sentence in contradictions(rest) if sentence.partition(":")[0].partition(".")[0] not in wrong]


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
        base = read_yaml(shipped.find("schedules", value["base"]))
    except ConfigError as error:
        raise ConfigError(f"schedule: {error}") from None
    return {**base, **{key: own for key, own in value.items() if key != "base"}}
