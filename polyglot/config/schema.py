"""Sections and keys of a configuration: one YAML file is one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from polyglot.core.registry import ComponentConfig, HomePath
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

if TYPE_CHECKING:  # the union of all kinds is only known when they are registered
    CorpusList = list[ComponentConfig]
else:
    CorpusList = list[CORPORA.config_type()]


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

    def for_language(self, language: str) -> list[ComponentConfig]:
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
        own = {
            language: {**common, **one} if isinstance(one, dict) else one
            for language, one in value["languages"].items()
        }
        return {**value, "languages": own}

    def for_language(self, language: str) -> VocabularyConfig:
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
    initialize: dict[
        str,
        Annotated[
            InitialConfig,
            BeforeValidator(lambda value: {"run": value} if isinstance(value, str) else value),
        ],
    ] = {}
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
        return schedule_tasks(self.schedule, self.languages)

    @property
    def pairs(self) -> list[LanguagePair]:
        """The trained pairs, copies included: those of the tasks, and those that were trained before."""
        return list(
            dict.fromkeys(
                [*(task.pair for task in self.tasks), *map(LanguagePair.parse, self.trained_before)]
            )
        )

    @property
    def components(self) -> list[str]:
        """The names of all components."""
        return self.model.component_names(self.pairs, self.sharing)

    def to_yaml(self) -> str:
        """The configuration with every default filled in."""
        return dump_yaml(self.model_dump())
