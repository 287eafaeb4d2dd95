"""Several processes that train one tiny run after the other: `python -m tests.training.together FOLDER NAME…`, started for each process.

What they find is left in the folder: the runs themselves, and `NAME.PROCESS.json` about each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from accelerate.state import AcceleratorState

from polyglot import checkpoint as checkpoints
from polyglot.config import check_config
from polyglot.distributed.processes import Processes
from polyglot.errors import TrainingError
from polyglot.evaluate.validation import Validator
from polyglot.run import Run
from polyglot.training.start import build_trainer
from polyglot.training.trainer import Trainer
from tests.runs import tiny_run, tiny_settings

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
    "encoder": {"type": "transformer", "size": 16, "layers": 2, "heads": 2, "feed_forward": 24, "dropout": 0.1},
    "decoder": {"type": "transformer", "size": 16, "layers": 2, "heads": 2, "feed_forward": 24, "dropout": 0.1},
}
STREAMED = {"train": [{"type": "text", "path": "train.{language}", "streaming": True}]}
CASES = {
    "mixed": {},
    "same": {"parallel": {"tasks": "same"}},
    "copies": {"schedule": {"copies": True}, "model": {"embedding": {"tie_sides": True}}},
    "frozen": {"freeze": ["encoder.de", "bridge"]},
    "penalty": {"losses": {"bridge": {"weight": 5.0}}},
    "sharing": {"sharing": "all", "parallel": {"bucket": 0.002}},
    "dropout": {"model": DROPOUT},
    "several tasks": {"schedule": {"tasks_per_update": 2, "copies": True}, "parallel": {"bucket": 0.001}},
    "momentum": {"optimizer": {"type": "sgd", "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.01}},
    "partitioned": {"schedule": {"copies": True}, "parallel": {"placement": "partitioned"}},
    "partitioned and shared": {
        "sharing": {"vocabulary": {"west": ["en", "fr"]}, "encoder": {"west": ["en", "fr"]}},
        "training": {"clip_norm": 0.1},
        "parallel": {"placement": "partitioned"},
    },
    "streamed": {"data": STREAMED, "batching": {"buffer": 20}},
    "streamed and the same": {"data": STREAMED, "batching": {"buffer": 20}, "parallel": {"tasks": "same"}},
    "streamed and partitioned": {"data": STREAMED, "batching": {"buffer": 20}, "parallel": {"placement": "partitioned"}},
    "transformer": {"model": TRANSFORMER, "batching": {"by": "tokens", "size": 60}},
}


def settings(name: str) -> dict[str, object]:
    """Of a case, laid over what all have."""
    own = CASES[name]
    return {
        key: {**BASE.get(key, {}), **own[key]} if isinstance(own.get(key), dict) else own.get(key, BASE.get(key)) for key in {**BASE, **own}
    }


def trainer_of(folder: Path, name: str, processes: Processes) -> Trainer:
    own = settings(name)
    run = (
        tiny_run(folder, name, **own)
        if processes.main
        else Run(folder / name, check_config(tiny_settings(folder, name, **own), where="tiny"))
    )
    AcceleratorState._reset_state()
    return processes.first_by_main(name, lambda: build_trainer(run, Validator(run, processes), processes))


def train(folder: Path, name: str, processes: Processes) -> None:
    """A whole run, with the bytes that each update sent beside the size of what it trained."""
    trainer, sent = trainer_of(folder, name, processes), []
    update = trainer.update

    def counted() -> torch.Tensor:
        before, plan = trainer.exchange.bytes, trainer.placement.at(trainer.progress.step)
        norm = update()
        sent.append([trainer.exchange.bytes - before, sorted({task.name for _, task in plan})])
        return norm

    trainer.update = counted
    trainer.train()
    exchanged = {name: len(own) for name, own in trainer.parameters.items() if len(trainer.placement.holders(name)) > 1}
    (folder / f"{name}.{processes.index}.json").write_text(
        json.dumps({"sent": sent, "step": trainer.progress.step, "exchanged": exchanged})
    )


def go_on(folder: Path, processes: Processes) -> None:
    """Half of the steps on one process that has everything, the other half divided over all."""
    path = folder / "continued"
    if processes.main:
        half = {**settings("partitioned"), "training": {"steps": STEPS // 2}}
        AcceleratorState._reset_state()
        build_trainer(tiny_run(folder, "continued", **half), lambda model: None).train()
    processes.meet("half")
    run = Run.reconfigure(path, [f"training.steps={STEPS}"])
    AcceleratorState._reset_state()
    trainer = processes.first_by_main("continued", lambda: build_trainer(run, lambda model: None, processes))
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


def main(folder: Path, names: list[str]) -> None:
    torch.set_num_threads(1)
    with Processes.together() as processes:
        for name in names:
            train(folder, name, processes)
        if processes.number == 2:
            go_on(folder, processes)
            CASES["differ"] = {}
            differ(folder, "differ", processes)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
