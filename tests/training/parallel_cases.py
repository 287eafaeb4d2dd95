"""Several processes that train one tiny run after the other: `python -m tests.training.parallel_cases NUMBER FOLDER NAME…`.

One process loads PyTorch and divides into so many. What they find is left in the folder: the runs themselves, and `NAME.PROCESS.json`
about each.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import sys
from itertools import islice
from pathlib import Path

import torch
from accelerate.state import AcceleratorState

from polyglot.config.loading import check_config
from polyglot.core.errors import TrainingError
from polyglot.distributed.processes import Processes
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training.build import build_trainer
from polyglot.training.trainer import Trainer
from polyglot.training.validation import Validator
from tests.builders.runs import WORDS, sample_sentences, tiny_run, tiny_settings

STEPS = 20
BASE = {
    "training": {"steps": STEPS, "log_every": 4, "checkpoint": {"every": 10}},
    "validation": {"every": 10, "bleu_pairs": ["de-fr", "fr-en"], "sentences": 4},
    "parallel": {"verify": 1},
    # Adam divides by gradients that may be nothing but rounding, and those of four sums differ: the usual rate, not the tiny runs' 0.01.
    "optimizer": {"type": "adam", "learning_rate": 0.001},
}
DROPOUT = {part: {"dropout": 0.3} for part in ("embedding", "encoder", "decoder")}
TRANSFORMER = {
    "embedding": {"size": 16},
    "encoder": {
        "type": "transformer",
        "size": 16,
        "layers": 2,
        "heads": 2,
        "feed_forward": 24,
        "dropout": 0.1,
    },
    "decoder": {
        "type": "transformer",
        "size": 16,
        "layers": 2,
        "heads": 2,
        "feed_forward": 24,
        "dropout": 0.1,
    },
}
STREAMED = {"train": [{"type": "text", "path": "part-*.{language}", "streaming": True}]}
ONE_FILE = {"train": [{"type": "text", "path": "whole.{language}", "streaming": True}]}
PARTS = (9, 3, 6, 4, 10)
"""Lines of the files that the streamed text is divided into; each process reads files of its own."""
BUFFER = {"buffer": 12}  # and so few lines, for several pools and epochs in a few updates
CASES = {
    "mixed": {},
    "same": {"parallel": {"tasks": "same"}},
    "copies": {"schedule": {"copies": True}, "model": {"embedding": {"tie_sides": True}}},
    "frozen": {"freeze": ["encoder.de", "bridge"]},
    "penalty": {"losses": {"bridge": {"weight": 5.0}}},
    "agreement": {"losses": {"agreement": {"weight": 5.0}}},
    "muon": {"optimizer": {"type": "muon", "learning_rate": 0.01}},
    "sharing": {"sharing": "all", "parallel": {"bucket": 0.002}},
    "dropout": {"model": DROPOUT},
    "several tasks": {
        "schedule": {"tasks_per_update": 2, "copies": True},
        "parallel": {"bucket": 0.001},
    },
    "momentum": {
        "optimizer": {"type": "sgd", "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.01}
    },
    "partitioned": {"schedule": {"copies": True}, "parallel": {"placement": "partitioned"}},
    "partitioned and shared": {
        "sharing": {"vocabulary": {"west": ["en", "fr"]}, "encoder": {"west": ["en", "fr"]}},
        "training": {"clip_norm": 0.1},
        "parallel": {"placement": "partitioned"},
    },
    "streamed": {"data": STREAMED, "batching": BUFFER},
    "streamed and the same": {"data": ONE_FILE, "batching": BUFFER, "parallel": {"tasks": "same"}},
    "streamed and partitioned": {
        "data": STREAMED,
        "batching": BUFFER,
        "parallel": {"placement": "partitioned"},
    },
    "transformer": {"model": TRANSFORMER, "batching": {"by": "tokens", "size": 60}},
    "options": {
        "model": {
            "options": {
                "encoder": ["roles"],
                "decoder": [{"type": "word_prediction", "predict": "both"}],
            }
        }
    },
    # The sums of four are added up in another order, and what the prediction from the initial state gives the bias of its keys nearly
    # cancels out.
    "options of four": {
        "model": {
            "options": {
                "encoder": ["roles"],
                "decoder": [{"type": "word_prediction", "predict": "states"}],
            }
        }
    },
    "everybody": {
        "schedule": {"pairs": ["*-*"], "copies": True},
        "training": {"clip_norm": 0.1},
        "parallel": {"placement": "partitioned"},
    },
    "everybody, encoders shared": {
        "schedule": {"pairs": ["*-*"]},
        "sharing": {"vocabulary": {"west": ["en", "fr"]}, "encoder": {"west": ["en", "fr"]}},
        "parallel": {"placement": "partitioned"},
    },
}
"""By name: what is laid over BASE. Where everybody is translated into everybody, two of three processes have components in common."""
BY_NUMBER = {
    2: [name for name in CASES if name != "options of four"],
    3: ["partitioned", "everybody", "everybody, encoders shared"],
    4: ["mixed", "same", "copies", "frozen", "penalty", "options of four"],
}


STOPPED = 13
"""The step at which runs of streamed text are interrupted: in the middle of a pool, and in the second epoch."""


def settings(name: str) -> dict[str, object]:
    """Of a case, laid over what all have."""
    own = CASES[name]
    return {
        key: {**BASE.get(key, {}), **own[key]}
        if isinstance(own.get(key), dict)
        else own.get(key, BASE.get(key))
        for key in {**BASE, **own}
    }


def write_parts(folder: Path) -> None:
    """What is streamed, in one file and in several."""
    for language in WORDS:
        lines = [f"{line}\n" for line in sample_sentences(language, seed=2, lines=sum(PARTS))]
        (folder / f"whole.{language}").write_text("".join(lines), encoding="utf-8")
        left = iter(lines)
        for number, length in enumerate(PARTS):
            (folder / f"part-{number}.{language}").write_text(
                "".join(islice(left, length)), encoding="utf-8"
            )


def trainer_of(folder: Path, name: str, processes: Processes, *, run: str | None = None) -> Trainer:
    """run: the name of its folder where it is not that of the case."""
    own, path = settings(name), run or name
    created = (
        tiny_run(folder, path, **own)
        if processes.main
        else Run(folder / path, check_config(tiny_settings(folder, path, **own), where="tiny"))
    )
    return prepared(created, path, processes)


def prepared(run: Run, place: str, processes: Processes) -> Trainer:
    """place: where the processes wait for the first one."""
    AcceleratorState._reset_state()
    return processes.first_by_main(
        place, lambda: build_trainer(run, Validator(run, processes), processes)
    )


def train(folder: Path, name: str, processes: Processes) -> None:
    """A whole run, with the bytes that each update sent beside the size of what it trained."""
    trainer, sent = trainer_of(folder, name, processes), []
    update = trainer.update

    def counted() -> torch.Tensor:
        before, plan = trainer.exchange.transferred_bytes, trainer.placement.batches_at(trainer.progress.step)
        norm = update()
        sent.append([trainer.exchange.transferred_bytes - before, sorted({task.name for _, task in plan})])
        return norm

    trainer.update = counted
    trainer.train()
    exchanged = {
        name: len(own)
        for name, own in trainer.parameters.items()
        if len(trainer.placement.ranks_of(name)) > 1
    }
    (folder / f"{name}.{processes.index}.json").write_text(
        json.dumps({"sent": sent, "step": trainer.progress.step, "exchanged": exchanged})
    )


def stop_and_go_on(folder: Path, name: str, processes: Processes) -> None:
    """The run of a case once more: the second process is asked to end, new trainers read the checkpoint."""
    path = f"{name} stopped"
    trainer = trainer_of(folder, name, processes, run=path)
    update = trainer.update

    def interrupted() -> torch.Tensor:
        if trainer.progress.step + 1 == STOPPED and processes.index == 1:
            trainer.interrupted = signal.SIGINT
        return update()

    trainer.update = interrupted
    trainer.train()
    run = Run.open(folder / path)
    stopped = checkpoints.choose(run.checkpoints, "last")[0]
    assert stopped.step == STOPPED
    trainer = prepared(run, f"{path} and resumed", processes)
    trainer.resume(stopped)
    trainer.train()


def go_on(folder: Path, processes: Processes) -> None:
    """Half of the steps on one process that has everything, the other half divided over all."""
    path = folder / "continued"
    if processes.main:
        half = {**settings("partitioned"), "training": {"steps": STEPS // 2}}
        AcceleratorState._reset_state()
        build_trainer(tiny_run(folder, "continued", **half), lambda model: None).train()
    processes.meet("half")
    run = Run.open_with_overrides(path, [f"training.steps={STEPS}"])
    AcceleratorState._reset_state()
    trainer = processes.first_by_main(
        "continued", lambda: build_trainer(run, lambda model: None, processes)
    )
    trainer.resume(checkpoints.choose(run.checkpoints, "last")[0])
    trainer.train()


def differ(folder: Path, name: str, processes: Processes) -> None:
    """One process changes a number of its own."""
    trainer = trainer_of(folder, name, processes)
    update = trainer.update

    def changed() -> torch.Tensor:
        if trainer.progress.step == 7 and processes.index == 1:
            with torch.no_grad():
                trainer.model.bridge.hidden.weight[0, 0] += 1e-6
        return update()

    trainer.update = changed
    try:
        trainer.train()
    except TrainingError as error:
        (folder / f"differ.{processes.index}.json").write_text(json.dumps(str(error)))
    processes.meet("differ")


def work(folder: Path, names: list[str], *, index: int, number: int, port: int) -> None:
    together = {
        "RANK": index,
        "LOCAL_RANK": index,
        "WORLD_SIZE": number,
        "LOCAL_WORLD_SIZE": number,
    }
    os.environ |= {
        key: str(value)
        for key, value in (together | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}).items()
    }
    with Processes.together() as processes:
        for name in names:
            train(folder, name, processes)
            if name.startswith("streamed"):
                stop_and_go_on(folder, name, processes)
        if processes.number == 2:
            go_on(folder, processes)
            CASES["differ"] = {}
            differ(folder, "differ", processes)


def main(number: int, folder: Path, names: list[str]) -> None:
    """Exits with 1 when a process failed."""
    torch.set_num_threads(1)
    os.fsync = lambda descriptor: None  # as in all tests
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    forks = multiprocessing.get_context("fork")
    started = [
        forks.Process(
            target=work,
            args=(folder, names),
            kwargs={"index": index, "number": number, "port": port},
        )
        for index in range(number)
    ]
    for process in started:
        process.start()
    try:
        for process in started:  # when one fails, the others end by themselves
            process.join()
    finally:
        for process in started:
            process.kill()
    sys.exit(int(any(process.exitcode for process in started)))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
