"""Schema of a configuration: one YAML file is one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from polyglot.core.problems import InvalidSettings, Problem
from polyglot.core.registry import ComponentConfig, HomePath
from polyglot.core.setting_types import StepCount, StepNumber
from polyglot.core.yaml import dump_yaml
from polyglot.data.batching import BatchingConfig
from polyglot.data.corpora import CORPORA
from polyglot.data.filters import FilterConfig
from polyglot.decoding.base import SearchConfig
from polyglot.distributed.config import ParallelConfig
from polyglot.model.config import ModelConfig
from polyglot.model.losses import LossesConfig
from polyglot.optim.lr_schedules import LEARNING_RATES
from polyglot.optim.optimizers import OPTIMIZERS
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.tasks.schedule import SCHEDULES, schedule_tasks
from polyglot.tasks.sharing import Sharing, SharingConfig
from polyglot.text.preprocessing import STEPS
from polyglot.text.symbols import SymbolsConfig
from polyglot.text.vocabulary import VocabularyConfig

if TYPE_CHECKING:  # the union of all corpus types is only known when they are registered
    CorpusList = list[ComponentConfig]
else:
    CorpusList = list[CORPORA.config_type()]


class DataConfig(ComponentConfig):
    """Corpora, and filters of training text."""

    folder: HomePath = "."
    """Folder that relative corpus paths start from; itself relative to the working directory."""
    train: CorpusList = Field(min_length=1)
    """Training corpora; a task uses all corpora that have its pair."""
    valid: CorpusList = []
    """Corpora of validation."""
    test: CorpusList = []
    """Corpora that `evaluate` translates, unless its protocol names others."""
    filter: FilterConfig = FilterConfig()
    """Filters of training sentences."""


class TextConfig(ComponentConfig):
    """Text steps before the vocabulary, undone on output where they can be."""

    steps: list[STEPS.config_type()] = []
    """Steps for every language, in order."""
    languages: dict[str, list[STEPS.config_type()]] = {}
    """Steps of single languages, instead of the common ones."""
    symbols: SymbolsConfig | None = None
    """Typed symbols for numbers, names and acronyms, after the steps: `{}` with the defaults below;
    null for none."""

    def for_language(self, language: str) -> list[ComponentConfig]:
        return self.languages.get(language, self.steps)


class VocabulariesConfig(VocabularyConfig):
    """Vocabulary settings of all languages, and differences of single languages."""

    languages: dict[str, VocabularyConfig] = {}
    """Differences of single languages, such as `fr: {size: 9000}`; other settings are as above."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in_languages(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("languages"), dict):
            return value
        common = {key: value[key] for key in VocabularyConfig.model_fields if key in value}
        languages = {}
        for language, settings in value["languages"].items():
            if isinstance(settings, dict):
                settings = {**common, **settings}
            languages[language] = settings
        return {**value, "languages": languages}

    def for_language(self, language: str) -> VocabularyConfig:
        return self.languages.get(language, self)


class CheckpointConfig(ComponentConfig):
    """Interval and number of checkpoints."""

    every: StepCount = 1000
    """Steps between checkpoints; the last step always has one."""
    keep: int = Field(3, ge=1, le=1_000_000)
    """Number of newest checkpoints to keep; the best one is kept too."""


MOST_LANGUAGES = 2000
"""More than any corpus has; all pairs of them are four million."""

LENGTH_KEYS = ("steps", "epochs")
"""Keys of `training` that give the length of a run; a user sets exactly one of them."""


class TrainingConfig(ComponentConfig):
    """Settings of the training loop."""

    steps: StepCount | None = None
    """Number of updates of the whole run; required without `epochs`."""
    epochs: float | None = Field(None, gt=0, le=1_000_000)
    """Length of the run in epochs, in place of `steps`. In an epoch, as many sentence pairs are
    drawn as all tasks have together; copies count as tasks."""
    clip_norm: float | None = Field(5.0, gt=0, le=1e12)
    """Largest global norm of the gradients of the trained components; null for no clipping."""
    precision: Literal["no", "bf16", "fp16"] = "no"
    """Mixed precision, through accelerate."""
    tf32: bool = False
    """On CUDA, compute products of float32 from ten bits of each number, several times as fast. In
    `bf16` and `fp16` the float32 parts, such as recurrences, always do so."""
    deterministic: bool = False
    """On CUDA, use only operations with reproducible results, which are slower, so that resuming
    is exact. A warning names an operation that has none. A CPU is always reproducible."""
    log_every: StepCount = 50
    """Steps between lines of the log."""
    checkpoint: CheckpointConfig = CheckpointConfig()
    """Interval and number of checkpoints."""
    trackers: list[Literal["tensorboard", "wandb", "mlflow", "comet_ml", "aim", "clearml"]] = []
    """Experiment trackers, through accelerate; each needs its own package."""

    @model_validator(mode="after")
    def _check_length(self) -> TrainingConfig:
        """Require a length. A stored configuration may have both, and `steps` counts."""
        if self.steps is None and self.epochs is None:
            message = "missing; it has no default: write steps, or epochs in its place"
            raise InvalidSettings([Problem(("steps",), message)])
        return self


class ValidationConfig(ComponentConfig):
    """Validation on held-out text during training."""

    every: StepCount = 1000
    """Steps between validations."""
    bleu_pairs: list[str] = []
    """Pairs that are translated greedily and scored with BLEU, as patterns; zero-shot pairs too."""
    sentences: int = Field(500, ge=1, le=1_000_000_000)
    """Largest number of sentences of a pair. The first ones are used, so choose all of a sorted
    text."""
    tasks: int | None = Field(None, ge=1, le=1_000_000_000)
    """Largest number of tasks whose loss is computed, drawn by the seed; null for all."""
    best_by: Literal["loss", "bleu"] = "loss"
    """Criterion of the best checkpoint: mean loss of the tasks that are no copies, or mean BLEU of
    `bleu_pairs`."""
    patience: int | None = Field(None, ge=1, le=1_000_000_000)
    """Early stopping after this many validations without improvement; null for none."""


class InitialConfig(ComponentConfig):
    """Source of a component that starts with the parameters of another run."""

    run: HomePath
    """Run directory, or the output of `polyglot export`."""
    checkpoint: str | StepNumber = "best"
    """`best`, `last`, a step, or `average:N`."""
    component: str | None = None
    """Name of the component in that run, if it differs."""


def _expand_run(value: Any) -> Any:
    """Replace a path alone by `{run: path}`."""
    if isinstance(value, str):
        return {"run": value}
    return value


Initial = Annotated[InitialConfig, BeforeValidator(_expand_run)]
"""Type of the configuration field, which also accepts the path of a run."""


class Config(ComponentConfig):
    """Configuration of one run."""

    languages: list[str] = Field(min_length=1, max_length=MOST_LANGUAGES)
    """Language codes, such as `de` or `zh_Hans`."""
    seed: int = Field(1, ge=0, lt=2**64)
    """Seed of all random numbers."""
    run: HomePath | None = None
    """Run directory; by default `runs/` and the name of the configuration."""
    data: DataConfig
    """Corpora, and filters of training text."""
    text: TextConfig = TextConfig()
    """Text steps before the vocabulary."""
    vocabulary: VocabulariesConfig = VocabulariesConfig()
    """Vocabulary of each language."""
    schedule: SCHEDULES.config_type(default="uniform")
    """Tasks, and how often each trains; a name means a file of `schedules/`."""
    model: ModelConfig = ModelConfig()
    """Encoders, bridge and decoders."""
    sharing: Sharing = SharingConfig()
    """Languages that share components; `all` shares all components between all languages, with a
    vector for each target language."""
    freeze: list[str] = []
    """Components that are not trained, such as `bridge` or `"encoder.*"`."""
    initialize: dict[str, Initial] = {}
    """Components that start from other runs, such as `{encoder.de: runs/a, "decoder.*": runs/b}`;
    the first matching pattern counts. A pattern selects components that the other run has; their
    vocabularies are copied too."""
    trained_before: list[str] = []
    """Pairs that the runs of `initialize` were trained on. Their components are part of this run,
    and evaluation counts these pairs as trained."""
    losses: LossesConfig = LossesConfig()
    """Loss function."""
    batching: BatchingConfig = BatchingConfig()
    """Size and order of batches."""
    optimizer: OPTIMIZERS.config_type(default="adam")
    """Optimizer."""
    learning_rate_schedule: LEARNING_RATES.config_type(default="constant")
    """Learning-rate schedule."""
    training: TrainingConfig
    """Training loop."""
    parallel: ParallelConfig = ParallelConfig()
    """Distribution of the work over several processes."""
    validation: ValidationConfig = ValidationConfig()
    """Validation on held-out text during training."""
    search: SearchConfig = SearchConfig()
    """Search for translations, unless a command has other settings."""

    @property
    def tasks(self) -> list[Task]:
        """Return all tasks of the run, in the order of the languages."""
        return schedule_tasks(self.schedule, self.languages)

    @property
    def pairs(self) -> list[LanguagePair]:
        """Return the trained pairs with copies: the tasks, and the pairs of `trained_before`."""
        trained = dict.fromkeys(task.pair for task in self.tasks)
        trained.update(dict.fromkeys(map(LanguagePair.parse, self.trained_before)))
        return list(trained)

    @property
    def components(self) -> list[str]:
        """Return the names of all components."""
        return self.model.component_names(self.pairs, self.sharing)

    def to_yaml(self) -> str:
        """Return the configuration as YAML, with every default filled in."""
        return dump_yaml(self.model_dump())
