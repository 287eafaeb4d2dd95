"""From a configuration to a trainer: vocabularies, datasets, model, optimizer."""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Mapping, Sequence

import torch
from accelerate import Accelerator

from polyglot.config.schema import Config
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError, ConfigError, abbreviate
from polyglot.data.batching import BatchStream
from polyglot.data.corpora import Corpora
from polyglot.data.dataset import TaskDataset
from polyglot.data.streaming import StreamedBatches, StreamedDataset
from polyglot.distributed.processes import Processes
from polyglot.model.losses import Criterion
from polyglot.model.translation_model import TranslationModel
from polyglot.optim.lr_schedules import LEARNING_RATES
from polyglot.optim.optimizers import OPTIMIZERS, parameter_groups
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.tasks.schedule import SCHEDULES, Schedule
from polyglot.text.preprocessing import Normaliser
from polyglot.text.vocabulary import Vocabulary
from polyglot.training.memory_estimate import count_parameters, memory_warning, parameter_memory
from polyglot.training.placement import check_processes, is_partitioned, build_placement
from polyglot.training.preflight import preflight
from polyglot.training.trainer import Trainer
from polyglot.training.validation import ValidationResult
from polyglot.training.vocabularies import initial_vocabularies, learn_symbols
from polyglot.training.warm_start import WarmStart, freeze

logger = logging.getLogger("polyglot")


def build_datasets(
    config: Config,
    corpora: Corpora,
    vocabularies: Mapping[str, Vocabulary],
    normalisers: Mapping[str, Normaliser],
    tasks: Sequence[Task],
) -> dict[str, TaskDataset | StreamedDataset]:
    """The sentences of each task, by its name."""

    def dataset(task: Task) -> TaskDataset | StreamedDataset:
        given = {"filters": config.data.filter}
        if corpora.streams(task.pair):
            return StreamedDataset(task, corpora, vocabularies, normalisers, **given)
        return TaskDataset(task, corpora, vocabularies, normalisers, **given, seed=config.seed)

    return {task.name: dataset(task) for task in tasks}


def dataset_sizes(datasets: Mapping[str, TaskDataset | StreamedDataset]) -> dict[str, int | None]:
    """The sentences of each task, of a streamed one about; None where nobody knows."""
    return {
        name: dataset.about if isinstance(dataset, StreamedDataset) else len(dataset)
        for name, dataset in datasets.items()
    }


def build_schedule(config: Config, sizes: Mapping[str, int | None]) -> Schedule:
    """The schedule of a run; tasks that its phases leave no step to are said. sizes: sentences of each task, by its name.

    Raises ConfigError when it needs a size that nobody knows.
    """
    unknown = [task.name for task in config.tasks if sizes[task.name] is None]
    if unknown and SCHEDULES.get(config.schedule.type).needs_sizes:
        raise ConfigError(
            f"schedule.type: {config.schedule.type!r} needs to know how many sentences each task has, which a stream does not tell of "
            f"{abbreviate(unknown)}; use 'uniform', or 'weighted' with weights of your own"
        )
    given = {"sizes": {task.pair: sizes[task.name] for task in config.tasks}, "seed": config.seed}
    schedule = SCHEDULES.build(
        config.schedule, tasks=config.tasks, languages=config.languages, **given
    )
    if never := schedule.untrained_tasks(steps=config.training.steps):
        logger.warning(
            f"schedule.phases: {', '.join(task.name for task in never)} will not train at all, "
            f"because no phase has them before training.steps, {config.training.steps}; "
            "train longer, or change the phases (schedule.phases=[] leaves them out)"
        )
    return schedule


def build_model(
    config: Config,
    vocabularies: Mapping[str, Vocabulary],
    *,
    seed: int | None,
    pairs: Sequence[LanguagePair] | None = None,
) -> TranslationModel:
    """The model of a run, or the part of it that these pairs need; on the meta device it costs nothing and can still be counted."""
    sizes = {language: len(vocabulary) for language, vocabulary in vocabularies.items()}
    pairs = config.pairs if pairs is None else pairs
    return TranslationModel(
        config.model, vocabulary_sizes=sizes, pairs=pairs, seed=seed, sharing=config.sharing
    )


def build_trainer(
    run: Run,
    validator: Callable[[TranslationModel], Callable[[], ValidationResult] | None],
    processes: Processes = Processes(),
) -> Trainer:
    """Everything a run needs to train; vocabularies are read from the run directory, those it lacks are learnt and put there.

    Raises CheckpointError when one is gone that checkpoints were trained with.
    validator: makes of a model the function that looks at held-out text, or None.
    """
    config = run.config
    check_processes(config, processes.number)
    torch.manual_seed(config.seed)
    begun = bool(checkpoints.steps(run.checkpoints))
    corpora = preflight(config, begun=begun)
    accelerator = Accelerator(
        mixed_precision=config.training.precision,
        log_with=config.training.trackers or None,
        project_dir=run.path,
    )
    missing = [language for language in config.languages if language not in run.vocabularies]
    if missing and not processes.main:
        raise CheckpointError(
            f"{run.path}: process {processes.index} on {platform.node()} does not see what the first process has written there; "
            "put the run where all machines see the same folder"
        )
    if missing and begun:
        run.choose_checkpoints("last")  # was trained with it, and says so
    initial = WarmStart(config) if config.initialize and not begun else None
    if not begun and not run.symbols_file.is_file():
        run.symbols = learn_symbols(config, corpora, initial)
    learnt = initial_vocabularies(config, corpora, run.normalisers, initial, languages=missing)
    vocabularies = {**run.vocabularies, **learnt}
    run.vocabularies = {language: vocabularies[language] for language in config.languages}
    partitioned = is_partitioned(config, processes.number)
    text = corpora, run.vocabularies, run.normalisers
    # All are looked at, where memory shall not hold them all by the first process alone: a process's share depends on the sizes.
    datasets = build_datasets(
        config, *text, config.tasks if processes.main or not partitioned else ()
    )
    sizes = dataset_sizes(datasets)
    placement = build_placement(
        build_schedule(
            config, processes.tell(f"sizes/{run.path}", sizes) if partitioned else sizes
        ),
        config,
        processes.number,
    )
    tasks = placement.tasks(processes.index)
    for name, dataset in datasets.items() if processes.main else ():
        logger.info(f"task {name}: {dataset.in_words()}")
    streams = [dataset for dataset in datasets.values() if isinstance(dataset, StreamedDataset)]
    for words in dict.fromkeys(
        words
        for dataset in streams
        for words in dataset.read_by_all(len(placement.readers(dataset.task)))
    ):
        logger.info(words)
    if not placement.everywhere:
        least, most = (f"{one:.2f}" for one in placement.departure())
        if least != most:
            logger.info(
                f"tasks are drawn from {least} to {most} times as often as the schedule says, as they are divided over processes"
            )
        datasets = (
            {task.name: datasets[task.name] for task in tasks}
            if processes.main
            else build_datasets(config, *text, tasks)
        )
    pairs = placement.pairs(processes.index)

    def stream(dataset: TaskDataset | StreamedDataset) -> BatchStream | StreamedBatches:
        if isinstance(dataset, TaskDataset):
            return BatchStream(dataset, config.batching, seed=config.seed)
        readers = placement.readers(dataset.task)
        return StreamedBatches(
            dataset,
            config.batching,
            seed=config.seed,
            reader=readers.index(processes.index),
            readers=len(readers),
        )

    with torch.device("meta"):
        parameters = count_parameters(build_model(config, run.vocabularies, seed=None, pairs=pairs))
    if more := memory_warning(
        parameter_memory(config, parameters, trained_at_once=placement.trained_at_once)
    ):
        logger.warning(more)
    model = build_model(config, run.vocabularies, seed=config.seed, pairs=pairs)
    if initial:
        initial.check(run.vocabularies)
        initial.load_into(model)
    freeze(model, config.freeze, tasks)
    trainer = Trainer(
        run,
        model=model,
        optimizer=OPTIMIZERS.build(
            config.optimizer, parameters=parameter_groups(model.parameters(), hidden=model.hidden_weights())
        ),
        learning_rate=LEARNING_RATES.build(
            config.learning_rate_schedule, steps=config.training.steps
        ),
        placement=placement,
        streams={name: stream(dataset) for name, dataset in datasets.items()},
        criterion=Criterion(config.losses),
        accelerator=accelerator,
        validate=validator(model),
        processes=processes,
    )
    for (
        language,
        vocabulary,
    ) in learnt.items():  # last: a start that fails leaves none behind for other settings to find
        vocabulary.save(run.vocabulary_file(language))
    if run.symbols and processes.main:
        replace_file(run.symbols_file, run.symbols.dictionary.to_json())
    return trainer
