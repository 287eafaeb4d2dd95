"""Assembly of a training run from its configuration: datasets, schedule, model, trainer."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence

import torch
from accelerate import Accelerator

from polyglot.config.schema import Config, TrainingConfig
from polyglot.core.errors import ConfigError, abbreviate
from polyglot.data.batching import BatchStream
from polyglot.data.corpora import Corpora
from polyglot.data.dataset import TaskDataset
from polyglot.data.streamed_dataset import StreamedDataset
from polyglot.data.streaming import StreamedBatches
from polyglot.distributed.processes import Processes
from polyglot.distributed.variables import accelerate_state
from polyglot.layers.cuda import avoid_cudnn_attention
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
from polyglot.training.epochs import has_steps, mean_batch_sizes, with_steps_of_epochs
from polyglot.training.loss_scaler import LossScaler
from polyglot.training.memory_estimate import count_parameters, memory_warning, parameter_memory
from polyglot.training.placement import (
    Partitioned,
    Placement,
    build_placement,
    check_processes,
    is_partitioned,
)
from polyglot.training.preflight import check_and_open_corpora
from polyglot.training.setting_warnings import warn_about_settings
from polyglot.training.train_state import Streams
from polyglot.training.trainer import Trainer
from polyglot.training.validation import ValidationPass
from polyglot.training.vocabularies import (
    check_vocabularies,
    prepare_vocabularies,
    save_vocabularies,
)
from polyglot.training.warm_start import freeze, open_warm_start

logger = logging.getLogger("polyglot")

Datasets = dict[str, TaskDataset | StreamedDataset]
"""Datasets by task name."""


def build_trainer(
    run: Run,
    validator: Callable[[TranslationModel], ValidationPass | None],
    processes: Processes = Processes(),
) -> Trainer:
    """Build everything that a run needs to train.

    Vocabularies are read from the run directory; missing ones are learnt and saved there.
    validator: called with the model; returns a function that runs one validation pass, or None if
    there is no validation text. Raises CheckpointError if a vocabulary that existing checkpoints
    need is missing.
    """
    config = run.config
    check_processes(config, processes.world_size)
    torch.manual_seed(config.seed)
    resuming = bool(checkpoints.steps(run.checkpoints))

    corpora = check_and_open_corpora(config, resuming=resuming, run=run)
    accelerator = build_accelerator(run)
    check_vocabularies(run, processes, resuming=resuming)
    warm_start = open_warm_start(config, resuming=resuming)

    new_vocabularies = prepare_vocabularies(run, corpora, warm_start, resuming=resuming)
    config_of_file = config
    datasets, placement, config = prepare_tasks(run, corpora, processes, resuming=resuming)
    run.config = config  # now with the number of steps
    warn_about_untrained(placement.schedule, config)
    model = build_local_model(run, placement, processes)
    if warm_start:
        warm_start.check_vocabularies(run.vocabularies)
        warm_start.load_into(model)
    freeze(model, config.freeze, placement.tasks_of(processes.rank))
    if processes.is_main:
        warn_about_settings(config, model, resuming=resuming)

    trainer = Trainer(
        run,
        model=model,
        optimizer=build_optimizer(config, model),
        learning_rate_schedule=LEARNING_RATES.build(
            config.learning_rate_schedule,
            steps=config.training.steps,
        ),
        placement=placement,
        streams=build_streams(config, datasets, placement, processes),
        criterion=Criterion(config.losses),
        accelerator=accelerator,
        validate=validator(model),
        processes=processes,
    )
    # Saved last: if this start fails, no vocabulary stays on disk that a later start with other
    # settings would use by mistake.
    save_vocabularies(run, new_vocabularies, processes)
    if config != config_of_file and processes.is_main and not resuming:
        run.write_config()
    return trainer


# Data --------------------------------------------------------------------------------------------


def build_datasets(
    config: Config,
    corpora: Corpora,
    vocabularies: Mapping[str, Vocabulary],
    normalisers: Mapping[str, Normaliser],
    tasks: Sequence[Task],
) -> Datasets:
    """Datasets of these tasks, by task name."""
    filters = config.data.filter
    datasets: Datasets = {}
    for task in tasks:
        if corpora.is_streamed(task.pair):
            datasets[task.name] = StreamedDataset(
                task,
                corpora,
                vocabularies,
                normalisers,
                filters=filters,
            )
        else:
            datasets[task.name] = TaskDataset(
                task,
                corpora,
                vocabularies,
                normalisers,
                filters=filters,
                seed=config.seed,
            )
    return datasets


def dataset_sizes(datasets: Datasets) -> dict[str, int | None]:
    """Number of sentences by task name; estimated for streamed text, None if unknown."""
    sizes: dict[str, int | None] = {}
    for name, dataset in datasets.items():
        if isinstance(dataset, StreamedDataset):
            sizes[name] = dataset.estimated_size
        else:
            sizes[name] = len(dataset)
    return sizes


def prepare_tasks(
    run: Run,
    corpora: Corpora,
    processes: Processes,
    *,
    resuming: bool,
) -> tuple[Datasets, Placement, Config]:
    """Datasets of the tasks of this rank, placement of all tasks, configuration with the steps.

    If the run has only a number of epochs, the configuration gets their number of steps.

    The placement depends on the size of every task. With partitioned tasks, the first rank reads
    all texts and broadcasts their sizes, so that only this rank holds all texts, and only for a
    short time.
    """
    config = run.config
    partitioned = is_partitioned(config, processes.world_size)
    reads_all = processes.is_main or not partitioned

    def read_datasets(tasks: Sequence[Task]) -> Datasets:
        return build_datasets(config, corpora, run.vocabularies, run.normalisers, tasks)

    all_datasets = read_datasets(config.tasks) if reads_all else {}
    sizes = dataset_sizes(all_datasets)
    if partitioned:
        sizes = processes.broadcast(f"sizes/{run.path}", sizes)
    placement = build_placement(build_schedule(config, sizes), config, processes.world_size)
    _log_datasets(all_datasets, placement, processes)
    if partitioned:
        _log_sampling_ratios(placement)

    if not has_steps(config, resuming=resuming):
        batch_sizes = mean_batch_sizes(all_datasets, config)
        if partitioned:
            batch_sizes = processes.broadcast(f"batches/{run.path}", batch_sizes)
        config = with_steps_of_epochs(config, placement, sizes=sizes, batch_sizes=batch_sizes)

    tasks = placement.tasks_of(processes.rank)
    if reads_all:
        datasets = {task.name: all_datasets[task.name] for task in tasks}
    else:
        datasets = read_datasets(tasks)
    return datasets, placement, config


def build_schedule(config: Config, sizes: Mapping[str, int | None]) -> Schedule:
    """Schedule of a run.

    sizes: number of sentences by task name. Raises ConfigError if the schedule needs a size that
    is unknown.
    """
    unknown = [task.name for task in config.tasks if sizes[task.name] is None]
    if unknown and SCHEDULES.get(config.schedule.type).needs_sizes:
        raise ConfigError(
            f"schedule.type: {config.schedule.type!r} needs the number of sentences of each task, "
            f"which is unknown for the streamed text of {abbreviate(unknown)}; use 'uniform', or "
            "'weighted' with your own weights"
        )

    return SCHEDULES.build(
        config.schedule,
        tasks=config.tasks,
        languages=config.languages,
        sizes={task.pair: sizes[task.name] for task in config.tasks},
        seed=config.seed,
    )


def warn_about_untrained(schedule: Schedule, config: Config) -> None:
    """Warn about tasks that no phase trains before the last step, and late back-translation."""
    settings = config.schedule.back_translation
    if settings and settings.from_step >= config.training.steps:
        logger.warning(
            f"schedule.back_translation: nothing will be back-translated, because from_step "
            f"{settings.from_step} is not before training.steps, {config.training.steps}"
        )
    untrained = schedule.untrained_tasks(steps=config.training.steps)
    if untrained:
        names = [task.name for task in untrained]
        logger.warning(
            f"schedule.phases: {', '.join(names)} will not train at all, "
            f"because no phase has them before training.steps, {config.training.steps}; "
            "train longer, or change the phases (schedule.phases=[] removes all phases)"
        )


def build_streams(
    config: Config,
    datasets: Datasets,
    placement: Placement,
    processes: Processes,
) -> Streams:
    """Endless streams of batches, by task name."""
    streams = {}
    for name, dataset in datasets.items():
        if isinstance(dataset, TaskDataset):
            streams[name] = BatchStream(dataset, config.batching, seed=config.seed)
        else:
            readers = placement.readers(dataset.task)
            streams[name] = StreamedBatches(
                dataset,
                config.batching,
                seed=config.seed,
                reader_index=readers.index(processes.rank),
                reader_count=len(readers),
            )
    return streams


def _log_datasets(datasets: Datasets, placement: Placement, processes: Processes) -> None:
    if processes.is_main:
        for name, dataset in datasets.items():
            logger.info(f"task {name}: {dataset.summary()}")

    lines: list[str] = []
    for dataset in datasets.values():
        if isinstance(dataset, StreamedDataset):
            lines += dataset.shared_file_messages(len(placement.readers(dataset.task)))
    for line in dict.fromkeys(lines):  # each line once
        logger.info(line)


def _log_sampling_ratios(placement: Partitioned) -> None:
    ratios = placement.sampling_ratios()
    smallest, largest = [f"{ratio:.2f}" for ratio in ratios]
    if smallest != largest:
        logger.info(
            f"tasks are drawn {smallest} to {largest} times as often as the schedule says, "
            "because every process makes the same number of draws, whatever the weight of its tasks"
        )


# Model -------------------------------------------------------------------------------------------


def build_accelerator(run: Run) -> Accelerator:
    """Accelerator with the precision and the trackers of the configuration."""
    training = run.config.training
    if training.deterministic:
        # Read by cuBLAS at its first product; NVIDIA's documentation names this value.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # Hides environment variables of accelerate that would change gradients or precision.
    accelerate_state()
    accelerator = Accelerator(
        mixed_precision=training.precision,
        log_with=training.trackers or None,
        project_dir=run.path,
    )
    if accelerator.device.type == "cuda":
        set_cuda_arithmetic(training)
    if accelerator.scaler is not None:
        accelerator.scaler = LossScaler.with_settings_of(accelerator.scaler, accelerator.device)
    return accelerator


def set_cuda_arithmetic(training: TrainingConfig) -> None:
    """Set the rounding and the reproducibility of operations on CUDA, for the whole process."""
    allow_tf32 = training.tf32 or training.precision != "no"
    torch.backends.cuda.matmul.allow_tf32 = allow_tf32
    torch.backends.cudnn.allow_tf32 = allow_tf32
    avoid_cudnn_attention()
    torch.use_deterministic_algorithms(training.deterministic, warn_only=True)
    # With deterministic algorithms, PyTorch also fills new tensors with NaN, to find code that
    # reads them too early. This takes time, and only tests need it.
    torch.utils.deterministic.fill_uninitialized_memory = False


def build_model(
    config: Config,
    vocabularies: Mapping[str, Vocabulary],
    *,
    seed: int | None,
    pairs: Sequence[LanguagePair] | None = None,
) -> TranslationModel:
    """Model of a run, or the part of it that these pairs need.

    On the meta device the model takes no memory, and its parameters can still be counted.
    """
    sizes = {language: len(vocabulary) for language, vocabulary in vocabularies.items()}
    return TranslationModel(
        config.model,
        vocabulary_sizes=sizes,
        pairs=config.pairs if pairs is None else pairs,
        seed=seed,
        sharing=config.sharing,
    )


def build_local_model(run: Run, placement: Placement, processes: Processes) -> TranslationModel:
    """Model with the components of this rank; warns first if it will not fit into memory."""
    config = run.config
    pairs = placement.pairs_of(processes.rank)

    with torch.device("meta"):
        counts = count_parameters(build_model(config, run.vocabularies, seed=None, pairs=pairs))
    memory = parameter_memory(config, counts, gradient_task_count=placement.gradient_task_count)
    warning = memory_warning(memory)
    if warning:
        logger.warning(warning)

    return build_model(config, run.vocabularies, seed=config.seed, pairs=pairs)


def build_optimizer(config: Config, model: TranslationModel) -> torch.optim.Optimizer:
    groups = parameter_groups(model.parameters(), hidden=model.hidden_weights())
    return OPTIMIZERS.build(config.optimizer, parameters=groups)
