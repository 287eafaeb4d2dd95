"""Warm start: components that start from other runs, with their vocabularies; frozen components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from torch import Tensor, nn

from polyglot.config.schema import Config, InitialConfig
from polyglot.core.errors import CheckpointError, ConfigError, collect_errors
from polyglot.core.problems import Problem
from polyglot.layers.annealing import is_annealed
from polyglot.model.options import is_decoder_option_tensor
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.averaging import average_component
from polyglot.runs.parameters import check_compatible, copy_parameters
from polyglot.runs.run import Run
from polyglot.tasks.pairs import Task
from polyglot.tasks.sharing import component_names
from polyglot.text.vocabulary import Vocabulary

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class InitialComponent:
    """A component of a new run, and the component of another run that it starts from."""

    name: str
    """name in the new run"""
    settings: InitialConfig
    run: Run
    """run that the parameters come from"""

    @property
    def original_name(self) -> str:
        """Name in the other run."""
        return self.settings.component or self.name

    @property
    def key(self) -> str:
        """Place in the configuration, for messages."""
        return f"initialize.{self.name}"

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """Parameters in the other run. Raises CheckpointError if it has no such component."""
        chosen = self.run.choose_checkpoints(self.settings.checkpoint)
        return average_component(chosen, self.original_name)

    def exists(self) -> bool:
        """Return whether the chosen checkpoints of the other run have the component."""
        chosen = self.run.choose_checkpoints(self.settings.checkpoint)
        return all(checkpoint.has_component(self.original_name) for checkpoint in chosen)

    def has_vocabulary(self) -> bool:
        """Return whether rows of its parameters belong to the pieces of a vocabulary."""
        if self.original_name == "bridge":
            return False
        if "embedding" in self.original_name:
            return True
        return any(name.startswith(("embedding.table", "output.")) for name in self.tensors)

    def original_language(self) -> str:
        """Language, in the other run, whose vocabulary the component was trained with."""
        kind, _, language_or_group = self.original_name.partition(".")
        config = self.run.config
        for language in config.languages:
            if language_or_group in (language, _group_name(config, kind, language)):
                return language
        return language_or_group

    def languages(self, config: Config) -> list[str]:
        """Languages of the new run that use the component."""
        kind, _, language_or_group = self.name.partition(".")
        languages = []
        for language in config.languages:
            if language_or_group in (language, _group_name(config, kind, language)):
                languages.append(language)
        return languages


class WarmStart:
    """Components of a run that start from other runs, as `initialize` of its configuration says."""

    def __init__(self, config: Config) -> None:
        """Raises ConfigError for paths without a run, CheckpointError for missing components."""
        self.config = config
        self.components: list[InitialComponent] = []
        runs = open_initial_runs(config)
        for name in config.components:
            component = self._find(name, runs)
            if component:
                self.components.append(component)

    def _find(self, name: str, runs: Mapping[str, Run]) -> InitialComponent | None:
        """First entry of `initialize` that matches a component.

        A pattern matches only components that the other run has.
        """
        for pattern, settings in self.config.initialize.items():
            component = InitialComponent(name, settings, runs[settings.run])
            if name == pattern:
                return component
            if fnmatchcase(name, pattern) and component.exists():
                return component
        return None

    def vocabularies(self) -> dict[str, Vocabulary]:
        """Vocabulary of every language whose embeddings or output layer start from another run.

        Raises ConfigError if two runs have different vocabularies for a language, or if another run
        preprocesses text differently from this run.
        """
        vocabularies: dict[str, Vocabulary] = {}
        origins: dict[str, InitialComponent] = {}
        for component, language, vocabulary in self._component_vocabularies():
            if language not in vocabularies:
                vocabularies[language] = vocabulary
                origins[language] = component
            elif vocabularies[language].sha256 != vocabulary.sha256:
                origin = origins[language]
                raise ConfigError(
                    f"{component.key}: {origin.name} and {component.name} start from runs "
                    f"with different vocabularies for {language}: {origin.run.path} and "
                    f"{component.run.path}"
                )
        return vocabularies

    def _component_vocabularies(self) -> Iterator[tuple[InitialComponent, str, Vocabulary]]:
        """Yield each component with a vocabulary, and each language that gets this vocabulary.

        These are the languages that use the component, and those that share a vocabulary with them.
        """
        sharing = self.config.sharing
        for component in self.components:
            if not component.has_vocabulary():
                continue
            for language in component.languages(self.config):
                vocabulary = self._original_vocabulary(component, language)
                for member in sharing.members("vocabulary", language, self.config.languages):
                    yield component, member, vocabulary

    def _original_vocabulary(self, component: InitialComponent, language: str) -> Vocabulary:
        """Vocabulary that a component was trained with.

        Raises CheckpointError if it is missing, ConfigError if the two runs preprocess text
        differently.
        """
        run = component.run
        original_language = component.original_language()
        vocabulary = run.vocabularies.get(original_language)
        if vocabulary is None:
            raise CheckpointError(
                f"{run.vocabulary_file(original_language)}: no such file, but "
                f"{component.original_name} was trained with it"
            )

        text_steps = self.config.text.for_language(language)
        if text_steps != run.config.text.for_language(original_language):
            raise ConfigError(
                f"{component.key}: the text steps of {language} differ from those of "
                f"{original_language} in {run.path}; make text.steps the same"
            )
        if self.config.text.symbols != run.config.text.symbols:
            raise ConfigError(
                f"{component.key}: text.symbols differ from those of {run.path}, whose vocabulary "
                "is used here; make them the same"
            )
        return vocabulary

    def check_vocabularies(self, vocabularies: Mapping[str, Vocabulary]) -> None:
        """Raises ConfigError if a vocabulary of the run differs from that of its components."""
        for language, vocabulary in self.vocabularies().items():
            if vocabularies[language].sha256 != vocabulary.sha256:
                raise ConfigError(
                    f"initialize: the vocabulary of {language} in the run directory is not the one "
                    "that its components were trained with"
                )

    def load_into(self, model: TranslationModel) -> None:
        """Copy the components' parameters. Raises CheckpointError if names or shapes differ."""
        for old_tensors, new_tensors, where in self._matched_tensors(model):
            copy_parameters(old_tensors, new_tensors, where=where)

    def check_shapes(self, model: TranslationModel) -> None:
        """Check names and shapes like `load_into`; the model may be on the meta device."""
        for old_tensors, new_tensors, where in self._matched_tensors(model):
            check_compatible(old_tensors, new_tensors, where=where)

    def _matched_tensors(self, model: TranslationModel) -> Iterator[tuple[Tensors, Tensors, str]]:
        """Old tensors, new tensors, and the beginning of a message, for each component.

        Annealed quantities and tensors of word predictors may exist in only one of the runs: for
        example, the new run has one-hot roles and the old one softmax roles. Such tensors are not
        copied.
        """
        tensors_by_component = model.component_tensors()
        for component in self.components:
            if component.name not in tensors_by_component:  # a bridge may have no parameters
                continue
            new_tensors = tensors_by_component[component.name]
            old_tensors = component.tensors
            optional = set()
            for name in new_tensors.keys() ^ old_tensors.keys():
                if is_annealed(name) or is_decoder_option_tensor(name):
                    optional.add(name)
            where = f"{component.key}: {component.original_name} of {component.run.path}"
            yield _without(old_tensors, optional), _without(new_tensors, optional), where


def open_warm_start(config: Config, *, resuming: bool) -> WarmStart | None:
    """Warm start of a new run; None if the run resumes or starts from no other run."""
    if resuming or not config.initialize:
        return None
    return WarmStart(config)


def open_initial_runs(config: Config) -> dict[str, Run]:
    """Open the runs that components start from; returns them by the path in the configuration.

    Raises ConfigError, which lists every path that is not a run.
    """
    runs: dict[str, Run] = {}
    problems: list[Problem] = []
    for component, settings in config.initialize.items():
        with collect_errors(problems, "initialize", component):
            runs[settings.run] = Run.open(settings.run)
    if problems:
        raise ConfigError(problems)
    return runs


def freeze(model: TranslationModel, patterns: Iterable[str], tasks: Iterable[Task]) -> None:
    """Switch off the gradients of components whose name matches a pattern.

    Raises ConfigError for a task whose components are all frozen.
    """
    patterns = list(patterns)
    components = model.component_parameters()
    for component, parameters in components.items():
        if any(fnmatchcase(component, pattern) for pattern in patterns):
            for parameter in parameters.values():
                parameter.requires_grad_(False)

    for task in tasks:
        if not _is_trainable(model, components, task):
            raise ConfigError(
                f"freeze: nothing is left to train in the task {task.name}; "
                "leave one of its components free"
            )


def _is_trainable(
    model: TranslationModel,
    components: Mapping[str, Mapping[str, nn.Parameter]],
    task: Task,
) -> bool:
    for name in component_names(task.pair, model.sharing):
        for parameter in components.get(name, {}).values():
            if parameter.requires_grad:
                return True
    return False


def _without(tensors: Tensors, names: set[str]) -> dict[str, Tensor]:
    """Tensors whose name is not in a set."""
    remaining = {}
    for name, tensor in tensors.items():
        if name not in names:
            remaining[name] = tensor
    return remaining


def _group_name(config: Config, kind: str, language: str) -> str:
    """Name of the component of this kind that a language uses, without the kind."""
    part = "embeddings" if "embedding" in kind else kind
    return config.sharing.group_name(part, language)
