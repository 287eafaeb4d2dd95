"""The other benchmarks: each one runs with little text and small models."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest
import transformer
from programs import ROOT, Polyglot
from suite import QUICK_SETTINGS
from suite_text import prepare_text

from polyglot.core.environment import SHAPE_CACHES
from tests.benchmarks.in_process import run_in_process
from tests.builders.command_line import SMALL_PHRASEBOOK

SMALL_TRAINING = [
    "model.embedding.size=8",
    "model.encoder.size=8",
    "model.decoder.size=8",
    "batching.size=8",
    "validation.sentences=4",
    "search.max_length_ratio=1",
    "search.max_length_extra=4",
]


@pytest.fixture(autouse=True)
def no_processes(monkeypatch):
    """Run the child processes of all benchmarks in this process."""

    def run(command, *, check=False, cwd=None, **settings):
        printed = run_in_process(command, folder=cwd)
        return subprocess.CompletedProcess(command, 0, printed, "")

    monkeypatch.setattr(subprocess, "run", run)
    for name in SHAPE_CACHES:
        monkeypatch.delenv(name, raising=False)  # restored afterwards


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return prepare_text(None, tmp_path_factory.mktemp("text"), quick=True)


@pytest.fixture(scope="module")
def run(text, tmp_path_factory):
    """Run of a small Transformer that has learnt nothing."""
    folder = tmp_path_factory.mktemp("runs")
    version = Polyglot("Polyglot", ROOT, folder, text, 1, QUICK_SETTINGS)
    test = "[{type: text, path: 'test_2016_flickr.{language}.gz'}]"
    settings = [*transformer.SETTINGS, "vocabulary={type: bpe, size: 400}", f"data.test={test}"]
    settings += ["search.max_length_ratio=1", "search.max_length_extra=2"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("programs.run_process", run_in_process)
        return version.train("run", "multi30k/small", settings, updates=1)


def call(name, *words):
    """Call the main function of a benchmark; return its module."""
    module = importlib.import_module(name)
    arguments = sys.argv
    sys.argv = [f"{name}.py", *map(str, words)]
    try:
        module.main()
    finally:
        sys.argv = arguments
    return module


def test_components(tmp_path, monkeypatch, few_resamples):
    import components

    settings = components.run_settings

    def small_settings(run, steps, *arguments, **options):
        values = settings(run, steps, *arguments, **options)
        return [*values, *SMALL_PHRASEBOOK, *SMALL_TRAINING]

    monkeypatch.setattr(components, "run_settings", small_settings)
    call("components", tmp_path, "--steps", 4, "--encoder", "embedding", "--bridge", "mean")
    page = (tmp_path / "components.md").read_text()
    assert "| embedding | mean |" in page
    assert "failed" not in page


def test_embeddings(run, text, tmp_path):
    arguments = [run, text.folder / "train.en.gz", tmp_path, "--language", "en"]
    call("embeddings", *arguments, "--sentences", 8, "--repetitions", 1, "--pooling", "mean")
    results = json.loads((tmp_path / "embeddings.json").read_text())
    assert min(results["sentences_per_second"].values()) > 0
    assert "GFLOP/s" in results["machine"]


def test_gpu_compares_configurations_with_the_cpu():
    import gpu

    device = gpu.torch.device("cpu")
    settings = next(iter(gpu.CASES))
    expected = gpu.outputs_and_gradients(settings, device)
    assert set(expected) > {"states", "loss"}
    assert gpu.problem_of_update(settings, device, "bf16", "adam") is None
    assert "no_such_key" in gpu.problem_of_update({"no_such_key": 1}, device, "no", "adam")


@pytest.mark.slow
def test_gpu_on_a_cpu(tmp_path, monkeypatch):
    import gpu

    run_command = gpu.run_command

    def run_small_command(command, device):
        return run_command([*command, *SMALL_PHRASEBOOK, *SMALL_TRAINING], device)

    layers = {"type": "lstm", "size": 16, "layers": 1}
    model = {"encoder": layers, "decoder": layers, "embedding": {"size": 16}}
    monkeypatch.setattr(gpu, "run_command", run_small_command)
    monkeypatch.setattr(gpu, "MODELS", {"LSTM": model})
    monkeypatch.setattr(gpu, "VOCABULARY", 50)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        call("gpu", "work", "--device", "cpu", "--quick")
    page = (tmp_path / "work" / "gpu.md").read_text()
    assert end.value.code == 0, page
    assert "## Speed and memory" in page


def test_gpu_updates(tmp_path, monkeypatch, capsys):
    import gpu_updates

    monkeypatch.setattr(gpu_updates, "FIRST", 1)
    monkeypatch.setattr(gpu_updates, "UPDATES", 1)
    settings = ["training.steps=3", *SMALL_PHRASEBOOK, *SMALL_TRAINING]
    with pytest.raises(SystemExit) as end:
        call("gpu_updates", "phrasebook", f"run={tmp_path}/run", *settings)
    assert not end.value.code
    printed = capsys.readouterr().out
    assert "an update: " in printed
    assert "aten::mm" in printed


def test_gpu_updates_without_a_gpu_cannot_count_waits(tmp_path):
    with pytest.raises(SystemExit, match="no CUDA device"):
        call("gpu_updates", "--waits", "phrasebook", f"run={tmp_path}/run")


def test_many_languages(tmp_path, monkeypatch):
    import many_languages

    def polyglot(*arguments, cache=None):
        run_in_process([sys.executable, "-m", "polyglot", *arguments])
        return {"seconds": 1.0}

    monkeypatch.setattr(many_languages, "polyglot", polyglot)
    call("many_languages", tmp_path, "--languages", 3, "--schedule", "english_centric")
    report, dry_run = json.loads((tmp_path / "many_languages.json").read_text())
    assert report["megabytes"] > 0
    assert dry_run["again_seconds"] == 1.0


def test_options(tmp_path, monkeypatch):
    import options

    monkeypatch.setattr(options, "PIECES", 50)
    call("options", tmp_path, "--only", "gate", "--threads", 1, "--steps", 1, "--turns", 2)
    assert "GFLOP/s" in (tmp_path / "options.md").read_text()


def test_precision(run, monkeypatch):
    import precision

    monkeypatch.setattr(precision, "LONGEST", 4)
    call("precision", run, "--from", "en", "--to", "de", "--repetitions", 1)
    page = (run / "precision.md").read_text()
    assert "| CTranslate2, float32 |" in page
    assert "GFLOP/s" in page


def test_placement_of_many_languages(tmp_path):
    call("scaling", tmp_path, "--counts", 3, "--only", "placement")
    results = json.loads((tmp_path / "scaling.json").read_text())
    assert 0 < results["placement"]["share"] < 1
    assert "GFLOP/s" in results["conditions"]["placement"]["machine"]


@pytest.mark.slow
def test_scaling(tmp_path, monkeypatch):
    import scaling

    def peak_memory_of(arguments):
        run_in_process([sys.executable, "-m", "polyglot", *arguments])
        return 1.0

    monkeypatch.setattr(scaling, "peak_memory_of", peak_memory_of)
    arguments = ["--counts", 3, "--steps", 2, "--repetitions", 1, "--only", "languages"]
    call("scaling", tmp_path, *arguments, "--only", "estimate")
    results = json.loads((tmp_path / "scaling.json").read_text())
    assert results["languages"]["3"]["step_seconds"] > 0
    assert (tmp_path / "scaling.png").exists()


def test_selection(capsys):
    sizes = ["--vocabulary", 200, "--words", 20, "--size", 16, "--length", 4]
    call("selection", *sizes, "--sentences", 4, "--repetitions", 1, "--threads", 1, "--beam", 2)
    assert "20 words of each sentence" in capsys.readouterr().out


def test_streaming(tmp_path, monkeypatch):
    import streaming

    monkeypatch.setattr(streaming, "FILE_SIZE", 1000)
    arguments = ["--lines", 1000, "--read", 2048, "--only", "memory", "--only", "shapes"]
    call("streaming", tmp_path, *arguments, "--shapes", 1, 2)
    results = json.loads((tmp_path / "streaming.json").read_text())
    assert results["memory"]["1000"]["pairs_per_second"] > 0
    assert "GFLOP/s" in results["machine"]


def test_words(capsys):
    call("words", "--size", 8, "--words", 50, "--tokens", 100, "--steps", 1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[2:6]] == ["none", "initial", "states", "both"]


def test_profile_of_search(run, text, tmp_path, capsys):
    lines = tmp_path / "lines"
    lines.write_text("a\n")
    call("search_profile", run, lines, "--from", "en", "--to", "de", "--beam", 2)
    assert "Self CPU" in capsys.readouterr().out
