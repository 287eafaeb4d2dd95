"""Components that start from other runs, with the vocabularies they were trained with, and components that stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from torch import Tensor

from polyglot.config.schema import Config, InitialConfig
from polyglot.core.errors import CheckpointError, ConfigError, collect_errors
from polyglot.layers.annealing import is_annealed
from polyglot.model.options import is_decoder_option_tensor
from polyglot.model.translation_model import TranslationModel
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.tasks.pairs import Task
from polyglot.tasks.sharing import component_names
from polyglot.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class InitialComponent:
    """Where one component starts from."""

    name: str
    """here"""
    settings: InitialConfig
    run: Run

    @property
    def component(self) -> str:
        """Its name there."""
        return self.settings.component or self.name

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """Its parameters there. Raises CheckpointError when there are none."""
        return checkpoints.average(self.run.choose_checkpoints(self.settings.checkpoint), self.component)


class WarmStart:
    """What a run starts from: `initialize` of its configuration, component by component."""

    def __init__(self, config: Config) -> None:
        """Raises ConfigError for everything that is no run directory, CheckpointError for what one lacks."""
        self.config = config
        runs = open_initial_runs(config)
        self.sources: list[InitialComponent] = []
        for name in config.components:
            for pattern, settings in config.initialize.items():
                source = InitialComponent(name, settings, runs[settings.run])
                if name == pattern or (fnmatchcase(name, pattern) and _has(source)):
                    self.sources.append(source)
                    break

    def vocabularies(self) -> dict[str, Vocabulary]:
        """The vocabulary of every language whose words start from another run.

        Raises ConfigError where two runs disagree about it, or where text becomes pieces in another manner here.
        """
        found: dict[str, tuple[InitialComponent, Vocabulary]] = {}
        for source in self.sources:
            if not _holds_words(source):
                continue
            part, _, owner = source.component.partition(".")
            there = next(
                (
                    one
                    for one in source.run.config.languages
                    if owner in (one, _group(source.run.config, part, one))
                ),
                owner,
            )
            here = [
                one
                for one in self.config.languages
                if source.name.partition(".")[2] in (one, _group(self.config, part, one))
            ]
            for language in here:
                vocabulary, place = source.run.vocabularies.get(there), f"initialize.{source.name}"
                if vocabulary is None:
                    raise CheckpointError(
                        f"{source.run.vocabulary_file(there)}: no such file, but {source.component} was trained with it"
                    )
                if self.config.text.for_language(language) != source.run.config.text.for_language(there):
                    raise ConfigError(
                        f"{place}: the text steps of {language} differ from those of {there} in {source.run.path}; make text.steps the same"
                    )
                if self.config.text.symbols != source.run.config.text.symbols:
                    raise ConfigError(
                        f"{place}: text.symbols differ from those of {source.run.path}, whose vocabulary comes along; make them the same"
                    )
                for one in self.config.sharing.members(
                    "vocabulary", language, self.config.languages
                ):
                    other, known = found.setdefault(one, (source, vocabulary))
                    if known.sha256 != vocabulary.sha256:
                        raise ConfigError(
                            f"{place}: the vocabulary of {there} in {source.run.path} is not that in {other.run.path}, "
                            f"which {other.name} starts from"
                        )
        return {language: vocabulary for language, (_, vocabulary) in found.items()}

    def check(self, vocabularies: Mapping[str, Vocabulary]) -> None:
        """Raises ConfigError unless the run has the vocabularies that its components were trained with."""
        for language, vocabulary in self.vocabularies().items():
            if vocabularies[language].sha256 != vocabulary.sha256:
                raise ConfigError(
                    f"initialize: the vocabulary of {language} in the run directory is another than that it is to start from"
                )

    def load_into(self, model: TranslationModel) -> None:
        """Copy the components' parameters. Raises CheckpointError when names or shapes differ."""
        for tensors, parameters, where in self._matched(model):
            checkpoints.copy_parameters(tensors, parameters, where=where)

    def check_shapes(self, model: TranslationModel) -> None:
        """Raises CheckpointError as `load_into` does, of a model that only has shapes."""
        for tensors, parameters, where in self._matched(model):
            checkpoints.check_compatible(tensors, parameters, where=where)

    def _matched(
        self, model: TranslationModel
    ) -> Iterator[tuple[Mapping[str, Tensor], Mapping[str, Tensor], str]]:
        """What each component is to be, what it is, and the place for a message.

        An annealed quantity that only one of the two has stays out: a one-hot role layer may start from a softmax one. So does what
        stands beside the states, such as word prediction: it is as new, or is left behind.
        """
        components = model.component_tensors()
        for source in self.sources:
            if source.name in components:  # a bridge may have none
                own, there = components[source.name], source.tensors
                one_sided = {
                    key for key in own.keys() ^ there.keys() if is_annealed(key) or is_decoder_option_tensor(key)
                }
                matched = [
                    {key: tensor for key, tensor in each.items() if key not in one_sided}
                    for each in (there, own)
                ]
                yield *matched, f"initialize.{source.name}: {source.component} of {source.run.path}"


def open_initial_runs(config: Config) -> dict[str, Run]:
    """The runs that components start from, by how the configuration names them. Raises ConfigError with everything that is none."""
    runs, problems = {}, []
    for component, settings in config.initialize.items():
        with collect_errors(problems, f"initialize.{component}: "):
            runs[settings.run] = Run.open(settings.run)
    if problems:
        raise ConfigError(problems)
    return runs


def freeze(model: TranslationModel, patterns: Iterable[str], tasks: Iterable[Task]) -> None:
    """Components that fit a pattern get no gradients any more. Raises ConfigError for a task that has nothing left to train."""
    patterns = list(patterns)
    parameters = model.component_parameters()
    for name, own in parameters.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            for parameter in own.values():
                parameter.requires_grad_(False)
    for task in tasks:
        used = [
            one
            for name in component_names(task.pair, model.sharing)
            for one in parameters.get(name, {}).values()
        ]
        if not any(one.requires_grad for one in used):
            raise ConfigError(
                f"freeze: nothing is left to train in the task {task.name}; leave one of its components free"
            )


def _has(source: InitialComponent) -> bool:
    return all(one.has_component(source.component) for one in source.run.choose_checkpoints(source.settings.checkpoint))


def _holds_words(source: InitialComponent) -> bool:
    """Whether rows of its tables are pieces of a vocabulary."""
    if source.component == "bridge":
        return False
    return "embedding" in source.component or any(
        key.startswith(("embedding.table", "output.")) for key in source.tensors
    )


def _group(config: Config, part: str, language: str) -> str:
    return config.sharing.group_name("embeddings" if "embedding" in part else part, language)
