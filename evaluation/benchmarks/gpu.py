"""First check of a machine with a GPU: correctness, speed and memory, on one page.

    python evaluation/benchmarks/gpu.py WORK [--device cuda] [--quick] [--data DATA --peer BIN]

Needs no network, and about ten minutes on one GPU. Every component is computed on the CPU and on
the device, with its gradients, and every configuration makes one update in each precision and
translates. Then the phrasebook is trained in bf16, and random text gives speed and memory.

DATA holds Multi30k (as `polyglot fetch multi30k DATA` writes it) and BIN is the `bin` folder of an
environment with OpenNMT-py 3.0.4, and perhaps CTranslate2: they are then measured on the GPU too.
With `--device cpu` the script tries itself out on a machine without a GPU. The page is WORK/gpu.md.
Exit code 2: no such device. Exit code 1: a difference that is too large.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the configurations are those of tests/device

import torch  # noqa: E402
from gpu_peers import measure_peers  # noqa: E402
from machine import find_processor  # noqa: E402
from torch import nn  # noqa: E402

from polyglot.core.markdown import table  # noqa: E402
from polyglot.decoding.base import SearchConfig  # noqa: E402
from polyglot.decoding.beam_search import search  # noqa: E402
from polyglot.layers.cuda import avoid_cudnn_attention  # noqa: E402
from polyglot.model.losses import Criterion, LossesConfig  # noqa: E402
from polyglot.model.translation_model import TranslationModel  # noqa: E402
from polyglot.optim.optimizers import OPTIMIZERS, parameter_groups  # noqa: E402
from polyglot.tasks.batch import Batch  # noqa: E402
from polyglot.tasks.pairs import LanguagePair  # noqa: E402
from polyglot.training.loss_scaler import LossScaler  # noqa: E402
from tests.builders.models import random_batch, tiny_config, tiny_model  # noqa: E402
from tests.device.cases import CASES, case_name  # noqa: E402

LARGEST_DIFFERENCE = 1e-3
"""Largest difference in float32, relative to the largest number of a tensor."""
PRECISIONS = {"no": None, "bf16": torch.bfloat16, "fp16": torch.float16}
SEARCH = SearchConfig(beam=3, max_length_ratio=1.0, max_length_extra=4)
BATCH_SENTENCES = 128
SENTENCE_WORDS = 25
VOCABULARY = 8000
PHRASEBOOK_STEPS = 2000
MODELS = {
    "LSTM 512, 2 layers": {
        "encoder": {"type": "lstm", "size": 512, "layers": 2},
        "decoder": {"type": "lstm", "size": 512, "layers": 2},
        "embedding": {"size": 512},
    },
    "LSTM 512, input feeding": {
        "encoder": {"type": "lstm", "size": 512, "layers": 2},
        "decoder": {"type": "lstm", "size": 512, "layers": 2, "input_feeding": True},
        "embedding": {"size": 512},
    },
    "Transformer 512, 6 + 6": {
        "encoder": {"type": "transformer", "size": 512, "layers": 6},
        "decoder": {"type": "transformer", "size": 512, "layers": 6},
        "embedding": {"size": 512},
    },
}


def main() -> None:
    arguments = parse_arguments()
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("error: this machine has no CUDA device; --device cpu is a trial", file=sys.stderr)
        sys.exit(2)
    arguments.work = arguments.work.resolve()  # commands run in the root of the clone
    arguments.work.mkdir(parents=True, exist_ok=True)
    if device.type == "cuda":
        avoid_cudnn_attention()

    sections = [f"# GPU check\n\n{machine(device)}"]
    failures: list[str] = []
    for part in (
        compare_components,
        check_updates,
        train_phrasebook,
        measure_models,
        measure_peers,
    ):
        started = time.perf_counter()
        section = part(arguments, device, failures)
        if section:
            seconds = time.perf_counter() - started
            sections.append(f"{section}\n\n{seconds:.0f} s")
            print(sections[-1], flush=True)
    if failures:
        sections.append("## Failures\n\n" + "\n".join(f"- {failure}" for failure in failures))
        print(sections[-1])
    (arguments.work / "gpu.md").write_text("\n\n".join(sections) + "\n")
    sys.exit(1 if failures else 0)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="few configurations and steps")
    parser.add_argument("--data", type=Path, help="folder with Multi30k, for the peers")
    parser.add_argument("--peer", type=Path, help="bin folder of an environment with OpenNMT-py")
    return parser.parse_args()


def machine(device: torch.device) -> str:
    words = [str(find_processor())]
    if device.type == "cuda":
        words.append(torch.cuda.get_device_name(device))
    return f"{', '.join(words)}, torch {torch.__version__}, CUDA {torch.version.cuda}"


# Correctness


def cases(arguments: argparse.Namespace) -> Iterator[tuple[str, dict]]:
    """Yield the name and the settings of every configuration, without dropout."""
    for case in CASES[:: 12 if arguments.quick else 1]:
        settings = {}
        for key, value in case.items():
            has_dropout = isinstance(value, dict) and "dropout" in value
            settings[key] = {**value, "dropout": 0.0} if has_dropout else value
        yield case_name(case), settings


def compare_components(
    arguments: argparse.Namespace, device: torch.device, failures: list[str]
) -> str:
    """Compare states, losses, gradients and translations in float32 with those of the CPU."""
    # cuDNN's recurrences would otherwise round to TF32, with ten bits of mantissa.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    rows = []
    for name, settings in cases(arguments):
        expected = outputs_and_gradients(settings, torch.device("cpu"))
        computed = outputs_and_gradients(settings, device)
        worst = 0.0
        worst_name = ""
        for key, value in expected.items():
            difference = relative_difference(computed[key], value)
            if not difference <= worst:  # also NaN
                worst = difference
                worst_name = key
        if not worst <= LARGEST_DIFFERENCE:
            failures.append(f"{name}: {worst_name} differs by {worst:.1e}")
        rows.append((worst, name, worst_name))
    rows.sort(key=lambda row: row[0], reverse=True)
    cells = [[name, key, f"{worst:.1e}"] for worst, name, key in rows[:10]]
    head = f"## CPU and {device.type} in float32: {len(rows)} configurations, the ten worst"
    return f"{head}\n\n{table(['configuration', 'tensor', 'difference'], cells)}"


def outputs_and_gradients(settings: dict, device: torch.device) -> dict[str, torch.Tensor]:
    """Return states, loss and gradients of one batch, on the CPU."""
    model = tiny_model(tiny_config(**settings)).to(device)
    # Without noise; but cuDNN has no backward pass outside of training.
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.RNNBase):
            module.train()
    batch = random_batch().to(device)
    output = model(batch)
    loss = Criterion(LossesConfig())(output, batch).total
    loss.backward()

    tensors = {"states": output.states.detach().cpu(), "loss": loss.detach().cpu()}
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            tensors[name] = parameter.grad.cpu()
    return tensors


def relative_difference(computed: torch.Tensor, expected: torch.Tensor) -> float:
    largest = expected.abs().max().item()
    return (computed - expected).abs().max().item() / (largest + 1e-3)


def check_updates(arguments: argparse.Namespace, device: torch.device, failures: list[str]) -> str:
    """Make one update of every configuration in each precision, and translate with it."""
    optimizers = OPTIMIZERS.names()
    rows = []
    for precision in PRECISIONS:
        if precision == "fp16" and device.type == "cpu":
            continue
        count = 0
        for number, (name, settings) in enumerate(cases(arguments)):
            optimizer = optimizers[number % len(optimizers)]
            problem = problem_of_update(settings, device, precision, optimizer)
            count += 1
            if problem:
                failures.append(f"{name}, {precision}, {optimizer}: {problem}")
        rows.append([precision, str(count)])
    return f"## One update and a translation\n\n{table(['precision', 'configurations'], rows)}"


def problem_of_update(
    settings: dict, device: torch.device, precision: str, optimizer_name: str
) -> str | None:
    """Return the reason why an update or a search failed, or None."""
    try:
        model = tiny_model(tiny_config(**settings)).to(device)
        optimizer = build_optimizer(model, optimizer_name)
        batch = random_batch().to(device)
        update(model, optimizer, batch, precision)
        for name, parameter in model.named_parameters():
            if not parameter.isfinite().all():
                return f"{name} is not finite"
        translate(model.eval(), batch, SEARCH)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def build_optimizer(model: TranslationModel, name: str) -> torch.optim.Optimizer:
    groups = parameter_groups(model.parameters(), hidden=model.hidden_weights())
    return OPTIMIZERS.build(OPTIMIZERS.configure(name), parameters=groups)


def update(
    model: TranslationModel,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    precision: str,
) -> None:
    """Make one update, as the trainer does."""
    device = batch.source.device.type
    dtype = PRECISIONS[precision]
    scaler = LossScaler(device, enabled=precision == "fp16")
    model.train()
    with torch.autocast(device, dtype=dtype, enabled=dtype is not None):
        loss = Criterion(LossesConfig())(model(batch), batch).total
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


@torch.inference_mode()
def translate(model: TranslationModel, batch: Batch, config: SearchConfig) -> list:
    memory = model.encode(batch.task.source, batch.source, batch.source_mask)
    return search(model.decoders[batch.task.target], memory, batch.source_mask.sum(1), config)


# Training


def train_phrasebook(
    arguments: argparse.Namespace, device: torch.device, failures: list[str]
) -> str:
    """Train the phrasebook in bf16 and evaluate it, with the commands of a user."""
    steps = 20 if arguments.quick else PHRASEBOOK_STEPS
    run = arguments.work / f"phrasebook-{device.type}"
    command = [sys.executable, "-m", "polyglot", "-q"]
    train = [*command, "train", "phrasebook", f"run={run}", f"training.steps={steps}"]
    train += ["training.precision=bf16", "schedule.phases=[]", f"training.log_every={steps // 4}"]
    if not (run / "checkpoints").is_dir():
        error = run_command(train, device)
        if error:
            failures.append(f"phrasebook: {error}")
            return ""
    scores = "not evaluated"
    if not arguments.quick:  # a model that has learnt nothing writes long translations
        error = run_command([*command, "evaluate", str(run), "--device", str(device)], device)
        scores = f"scores are in `{run.name}/evaluation`"
        if error:
            failures.append(f"evaluation of the phrasebook: {error}")
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    trained = [line for line in lines if line["kind"] == "training"]
    speed = trained[-1]["tokens_per_second"]
    head = f"## Phrasebook in bf16, {steps} steps"
    return f"{head}\n\n{speed:,.0f} target tokens/s; {scores}"


def run_command(command: list[str], device: torch.device) -> str | None:
    """Run a command on the device; return the end of its messages if it fails."""
    environment = {**os.environ, "ACCELERATE_USE_CPU": str(device.type == "cpu").lower()}
    done = subprocess.run(command, text=True, capture_output=True, env=environment, cwd=ROOT)
    return done.stderr[-500:] if done.returncode else None


# Speed and memory


def measure_models(arguments: argparse.Namespace, device: torch.device, failures: list[str]) -> str:
    """Measure updates and search of usual models on random text."""
    repetitions = 1 if arguments.quick else 30
    names = list(MODELS)[: 1 if arguments.quick else None]
    rows = []
    for name in names:
        settings = MODELS[name]
        for precision in ("no", "bf16"):
            try:
                rows.append([name, precision, *speed_of(settings, device, precision, repetitions)])
            except torch.OutOfMemoryError as error:
                failures.append(f"{name}, {precision}: {error}")
    columns = ["model", "precision", "target tokens/s", "GiB", "greedy", "beam 5, sentences/s"]
    return f"## Speed and memory\n\n{table(columns, rows)}"


def speed_of(
    settings: dict, device: torch.device, precision: str, repetitions: int
) -> tuple[str, str, str, str]:
    config = tiny_config(**settings).model_copy()
    model = build_large_model(config).to(device)
    optimizer = build_optimizer(model, "adam")
    sentences = 8 if repetitions < 10 else BATCH_SENTENCES
    lengths = [(SENTENCE_WORDS, SENTENCE_WORDS)] * sentences
    batch = random_batch(lengths=lengths).to(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    training = seconds_of(lambda: update(model, optimizer, batch, precision), device, repetitions)
    memory = "–"
    if device.type == "cuda":
        memory = f"{torch.cuda.max_memory_allocated(device) / 2**30:.2f}"

    rates = []
    for beam in (1, 5):
        search_config = SearchConfig(beam=beam, max_length_ratio=1.0, max_length_extra=1)
        searching = seconds_of(
            lambda config=search_config: translate(model.eval(), batch, config), device, 2
        )
        rates.append(f"{sentences / searching:,.0f}")
    return (f"{batch.target_tokens / training:,.0f}", memory, *rates)


def build_large_model(config) -> TranslationModel:
    sizes = {"de": VOCABULARY, "en": VOCABULARY}
    return TranslationModel(
        config, vocabulary_sizes=sizes, pairs=[LanguagePair.parse("de-en")], seed=1
    )


def seconds_of(work: Callable[[], object], device: torch.device, repetitions: int) -> float:
    """Return the mean time of a call, after one call as a warm-up."""
    work()
    synchronize(device)
    start = time.perf_counter()
    for _ in range(repetitions):
        work()
    synchronize(device)
    return (time.perf_counter() - start) / repetitions


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    main()
