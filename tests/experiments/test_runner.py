"""Execution of experiments: missing runs are trained, complete ones are kept."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from polyglot.core.errors import ConfigError, TrainingError
from polyglot.core.yaml import dump_yaml
from polyglot.experiments import Experiment, run_experiment
from polyglot.experiments.results_page import save
from polyglot.experiments.runs import COMPLETE, ExperimentRun, experiment_runs
from polyglot.experiments.systems import check_systems, systems_of
from polyglot.experiments.train_all import train_all
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.runs.config_changes import accept_changes
from polyglot.runs.run import Run
from tests.builders.command_line import SMALL_PHRASEBOOK, SMALL_RUN, Program

TWO_STEPS = [*SMALL_RUN, *SMALL_PHRASEBOOK, "training.steps=2"]
EMBEDDINGS = {"representations": ["bridge.mean"], "probe_sentences": 0, "map_sentences": 2}


class Training:
    """`polyglot train` in this process; records the arguments of its calls."""

    def __init__(self, program: Program, *, fails_at: int = 0) -> None:
        """fails_at: number of the call that is interrupted after two steps; 0 for none"""
        self.program = program
        self.fails_at = fails_at
        self.calls: list[list[str]] = []

    def __call__(self, run: ExperimentRun, arguments: Sequence[str]) -> None:
        self.calls.append(list(arguments))
        if len(self.calls) == self.fails_at:
            self.program("train", *arguments, "training.steps=2")
            raise TrainingError("interrupted")
        result = self.program("train", *arguments)
        assert result.status == 0, result.errors


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


def fail_to_train(run: ExperimentRun, arguments: Sequence[str]) -> None:
    pytest.fail("trained")


def forbid_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    for translator in (Translator, EnsembleTranslator):
        monkeypatch.setattr(
            translator, "generate", lambda *arguments, **options: pytest.fail("translated again")
        )


def page_of(folder: Path) -> str:
    return (folder / "result.md").read_text(encoding="utf-8")


def numbers_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def test_an_interrupted_experiment_continues(folder, program, monkeypatch) -> None:
    experiment = Experiment.load("experiment.yaml")
    out = folder / "out"
    with pytest.raises(TrainingError):
        run_experiment(experiment, out, train=Training(program, fails_at=2))
    config = out / "runs" / "with-copies-seed2" / "config.yaml"
    interrupted = config.read_text(encoding="utf-8")
    config.write_text(interrupted.replace("  steps: 2\n", "  steps: 4\n"), encoding="utf-8")
    accept_changes(config.parent, Run.open(config.parent, accept_changes=True).config)

    second = Training(program)
    save(run_experiment(experiment, out, train=second), out)
    resumed, started = second.calls
    assert resumed == [str(out / "runs" / "with-copies-seed2"), "--resume"]
    assert started[0] == "phrasebook"
    assert {"schedule.base=english_centric", "seed=1"} <= set(started)
    check_page(out)

    page = page_of(out)
    forbid_translation(monkeypatch)
    save(run_experiment(experiment, out, train=fail_to_train), out)
    assert page_of(out) == page

    systems = {"with copies": experiment.systems["without copies"]}
    changed = experiment.model_copy(update={"systems": systems})
    message = r"schedule.copies: true in the run, false in the experiment"
    with pytest.raises(ConfigError, match=message):
        run_experiment(changed, out, train=fail_to_train)


def check_page(out: Path) -> None:
    """Page, numbers and figure of the experiment with and without copies."""
    page = page_of(out)
    for part in (
        "# With and without \\<copies\\>",
        "**Question.** What are they worth?",
        "| without copies |",
        "de-en-fr",
        "the paper",
        "Table 2, lower part",
        "schedule.base=english_centric",
        "| without copies, zero-shot: at least 99 |",
        "## Direct and pivot translation",
        "## 95 % confidence intervals",
        "## Configurations and training commands",
        "| `schedule.copies` | `true` | `false` |",
    ):
        assert part in page, part
    values = numbers_of(out)["systems"]["with copies"]
    de_fr = values["directions"]["de-fr"]
    assert de_fr["intervals"].keys() == {"bleu"}
    assert de_fr["kind"] == "zero-shot"
    assert de_fr["paper"] == 26.46
    assert de_fr["scores"]["bleu"]["count"] == 2
    assert "de-fr" in values["hops"]
    assert (out / "result.png").read_bytes().startswith(b"\x89PNG")


def test_pairs_left_out_of_training(folder, program) -> None:
    pairs = {"en-de": "de-en", "en-fr": "fr-en", "de-fr": "fr-de"}
    systems = {}
    for pair, reverse in pairs.items():
        settings = [
            "languages=[en, de, fr]",
            "validation.bleu_pairs=[]",
            "validation.best_by=loss",
            f"schedule={{base: many_to_many, exclude: [{pair}, {reverse}]}}",
        ]
        systems[f"without {pair}"] = {"config": "phrasebook", "set": [*TWO_STEPS, *settings]}
    protocol = {"metrics": ["bleu"], "copies": False, "search": {"beam": 1}, "resamples": 0}
    values = {
        "title": "One pair left out",
        "figure": "left_out",
        "protocol": protocol,
        "seeds": [1, 2],
        "systems": systems,
    }
    train = Training(program)
    results = run_experiment(Experiment.model_validate(values), folder / "out", train=train)
    assert len(train.calls) == 6
    assert results.figure == "left_out"

    left_out = {str(direction.pair): direction for direction in results.left_out_directions()}
    assert left_out.keys() == {*pairs, *pairs.values()}
    assert all(direction.trained.count == 2 for direction in left_out.values())
    for system, pair in zip(results.systems, pairs):
        assert system.directions[pair].kind == "zero-shot"
        assert system.spread("en-de", results.measure).count == 2
        assert system.means_by_kind(results.measure)["supervised"].deviation is not None

    save(results, folder / "out")
    page = page_of(folder / "out")
    assert "`schedule.exclude`" in page
    assert "A score over several seeds is mean ± standard deviation." in page
    assert (folder / "out" / "result.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_without_its_last_checkpoint_is_trained_again_from_the_one_before(
    folder, program
) -> None:
    settings = [
        *SMALL_RUN,
        *SMALL_PHRASEBOOK,
        "training.steps=4",
        "training.checkpoint.every=2",
        "validation.every=2",
    ]
    protocol = {"pairs": ["de-fr"], "metrics": ["bleu"], "search": {"beam": 1}, "resamples": 0}
    systems = {"mine": {"config": "phrasebook", "set": settings}}
    experiment = Experiment.model_validate(
        {"title": "Lost", "systems": systems, "protocol": protocol}
    )
    out = folder / "out"
    run_experiment(experiment, out, train=Training(program))
    (run,) = experiment_runs(experiment, out)
    checkpoints = sorted((run.path / "checkpoints").glob("step-*"))
    assert [path.name for path in checkpoints] == ["step-00000002", "step-00000004"]
    assert run.is_complete

    shutil.rmtree(checkpoints[-1])
    assert not run.is_complete
    train = Training(program)
    results = run_experiment(experiment, out, train=train)
    assert train.calls == [[str(run.path), "--resume"]]
    assert checkpoints[-1].is_dir()
    assert run.is_complete
    assert results.systems[0].runs[0].checkpoint["steps"] in ([2], [4])

    for content in (b"", b"garbage", b"[]", b"\xff", b"{}", b'{"step": 4}'):
        (run.path / COMPLETE).write_bytes(content)
        assert run.is_complete, content
    shutil.rmtree(run.path / "checkpoints")
    assert not run.is_complete


def test_an_existing_run_is_evaluated_and_not_changed(trained_folder) -> None:
    values = {
        "title": "Existing",
        "systems": {"mine": {"run": "runs/mine"}},
        "protocol": {"pairs": ["de-fr"], "resamples": 0},
        "embeddings": EMBEDDINGS,
    }
    out = trained_folder / "out"
    before = {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*")}
    results = run_experiment(Experiment.model_validate(values), out, train=fail_to_train)
    assert {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*")} == before
    assert list(results.systems[0].directions) == ["de-fr"]
    assert not results.comparisons
    assert results.significance_note == ""

    save(results, out)
    page = page_of(out)
    assert "existing run: mine" in page
    means = results.embeddings["mine"].retrieval["bridge.mean"].means("p@1")
    assert means
    assert numbers_of(out)["embeddings"]["mine"]["bridge.mean"]["p@1"] == means
    size = results.embeddings["mine"].sizes["bridge.mean"]
    assert f"| bridge.mean | mine | {size} | {means['supervised']:.1f} |" in page
    assert (out / "analysis" / "mine-mine" / "map.png").is_file()
    assert not (trained_folder / "runs" / "mine" / "analysis").exists()


def test_embeddings_are_measured_only_on_request(trained_folder) -> None:
    values = {
        "title": "Existing",
        "systems": {"mine": {"run": "runs/mine"}},
        "protocol": {"pairs": ["de-fr"], "resamples": 0},
    }
    out = trained_folder / "out"
    results = run_experiment(Experiment.model_validate(values), out, train=fail_to_train)
    save(results, out)
    assert results.embeddings == {}
    assert "Sentence embeddings" not in page_of(out)


ENSEMBLES = {
    "title": "Ensembles",
    "seeds": [1, 2],
    "checkpoint": "2",
    "embeddings": EMBEDDINGS,
    "protocol": {
        "pairs": ["en-de", "de-fr"],
        "search": {"beam": 2},
        "metrics": ["bleu", "chrf"],
        "resamples": 10,
        "pivot": "en",
    },
    "goals": [
        {"system": "both", "scores": "en-de", "at_least": 0},
        {"system": "both", "scores": "zero-shot", "behind_pivot": 100},
    ],
    "systems": {
        "all": {"ensemble": ["single", "existing"]},
        "single": {"config": "mine.yaml"},
        "both": {"ensemble": "single"},
        "existing": {"run": "runs/mine"},
    },
}


def test_an_ensemble_has_all_runs_of_its_systems(folder, program, monkeypatch) -> None:
    larger = program("train", "mine.yaml", "seed=3", "model.encoder.size=12")
    assert larger.status == 0
    (folder / "ensembles.yaml").write_text(dump_yaml(ENSEMBLES))
    plan = program("experiment", "ensembles.yaml", "--dry-run").output
    assert re.search(r"\n both +2 in ", plan)
    assert re.search(r"\n all +3 in ", plan)

    out = folder / "out"
    experiment = Experiment.load("ensembles.yaml")
    train = Training(program)
    results = run_experiment(experiment, out, train=train)
    assert len(train.calls) == 2, "an ensemble trains nothing"
    of_all, single, both, existing = results.systems
    seeds = [out / "runs" / f"single-seed{seed}" for seed in (1, 2)]
    source = (folder / "train.en").read_text(encoding="utf-8").splitlines()
    for system, paths in ((both, seeds), (of_all, [*seeds, folder / "runs" / "mine"])):
        ensemble = EnsembleTranslator.load(paths, checkpoints=[2])
        translations = ensemble.translate(source, source="en", target="de", beam=2)
        assert system.matrices[0].hypotheses["en-de"] == translations
        steps = [member["steps"] for member in system.runs[0].checkpoint["members"]]
        assert steps == [[2]] * len(paths)

    assert len(both.matrices) == 1
    assert len(single.matrices) == 2
    assert both.parameters == 2 * single.parameters
    assert of_all.parameters == both.parameters + existing.parameters
    assert existing.parameters > single.parameters
    assert [result.reached for result in results.goal_results] == [True, True]
    assert results.embeddings.keys() == {"single-seed1", "single-seed2", "existing"}
    assert of_all.settings["model.encoder.size"] == "8, 12"
    assert both.settings["model.encoder.size"] == "8"

    save(results, out)
    page = page_of(out)
    assert "ensemble: single-seed1 single-seed2\n" in page
    assert "ensemble: single-seed1 single-seed2 existing-mine\n" in page
    assert (
        "- single-seed1: 2 checkpoint, step 2; single-seed2: 2 checkpoint, step 2; "
        "all scores: `evaluation/both-ensemble/matrix.md`" in page
    )
    forbid_translation(monkeypatch)
    save(run_experiment(experiment, out, train=fail_to_train), out)
    assert page_of(out) == page


def test_runs_with_and_without_copies_can_form_an_ensemble(folder) -> None:
    (folder / "copies.yaml").write_text(
        "{title: Copies, config: mine.yaml, systems: "
        "{a: {}, b: {set: [schedule=english_centric]}, c: {ensemble: [a, b]}}}"
    )
    experiment = Experiment.load("copies.yaml").at_size()
    runs = experiment_runs(experiment, folder)
    assert set(runs[0].config.pairs) != set(runs[1].config.pairs)
    check_systems(systems_of(experiment, runs), where="copies.yaml")


def test_different_vocabularies_are_reported_before_the_evaluation(folder, program) -> None:
    (folder / "drawn.yaml").write_text(
        "{title: Drawn, config: mine.yaml, seeds: [1, 2], "
        "systems: {a: {set: [vocabulary.sentences=3]}, b: {ensemble: a}}}"
    )
    with pytest.raises(
        ConfigError,
        match="drawn.yaml: .*\n  systems.b.ensemble: its runs have different vocabularies of en",
    ):
        run_experiment(Experiment.load("drawn.yaml"), folder / "out", train=Training(program))
    assert not (folder / "out" / "evaluation").exists()


def test_separate_models_of_pairs_are_one_system(folder, program) -> None:
    settings = [
        "languages=[SOURCE, TARGET]",
        "schedule.pairs=[SOURCE-TARGET]",
        "schedule.copies=false",
        "schedule.phases=[]",
        "validation.bleu_pairs=[SOURCE-TARGET]",
    ]
    values = {
        "title": "Bilingual",
        "protocol": {"metrics": ["bleu"], "pivot": "en", "search": {"beam": 1}, "resamples": 0},
        "systems": {
            "multilingual": {
                "config": "phrasebook",
                "set": TWO_STEPS,
                "paper": {"en-de": 20.0, "fr-en": 9.0},
            },
            "bilingual": {
                "config": "phrasebook",
                "separately": ["en-de", "fr-en"],
                "set": [*TWO_STEPS, *settings],
                "paper": {"en-de": 19.0, "fr-en": 9.0},
            },
        },
    }
    train = Training(program)
    results = run_experiment(Experiment.model_validate(values), folder / "out", train=train)
    assert len(train.calls) == 3
    multilingual, bilingual = results.systems
    names = [run.name for run in bilingual.runs]
    assert names == ["bilingual-en-de-seed1", "bilingual-fr-en-seed1"]
    assert list(bilingual.directions) == ["en-de", "fr-en"]
    assert bilingual.matrices[0].languages == ["en", "de", "fr"]
    assert [str(pair) for pair in bilingual.matrices[0].trained] == ["en-de", "fr-en"]
    assert bilingual.parameters == sum(run.parameters for run in bilingual.runs) > 0
    assert "de-en-fr" in multilingual.directions

    (claim,) = [claim for claim in results.claims if claim.direction == "fr-en"]
    assert claim.paper == 0.0
    assert claim.has_same_sign is None
    save(results, folder / "out")
    page = page_of(folder / "out")
    assert "| bilingual, en-de | multilingual | -1.00 |" in page
    assert f"- {bilingual.parameters:,} parameters" in page


class FakeRun:
    """Stands for an `ExperimentRun`: a name, and the runs that it starts from."""

    def __init__(self, name: str, *initial: str) -> None:
        self.name = name
        self.path = Path(name)
        self.initialized_from = {Path(run) for run in initial}
        self.is_complete = False
        self.is_started = False
        self.arguments = [name]

    def mark_complete(self) -> None:
        self.is_complete = True


@pytest.mark.parametrize("parallel", [1, 2, 5])
def test_a_run_waits_for_the_runs_that_it_starts_from(parallel: int) -> None:
    runs = [FakeRun("d", "b"), FakeRun("a"), FakeRun("b", "a"), FakeRun("c"), FakeRun("e")]
    lock = threading.Lock()
    running: set[str] = set()
    numbers_running: list[int] = []
    ended: list[str] = []

    def train(run: FakeRun, arguments: Sequence[str]) -> None:
        assert arguments == [run.name]
        assert all(other.is_complete for other in runs if other.path in run.initialized_from)
        with lock:
            running.add(run.name)
            numbers_running.append(len(running))
        time.sleep(0.05)
        with lock:
            running.remove(run.name)
            ended.append(run.name)

    train_all(runs, train, parallel=parallel)
    assert sorted(ended) == ["a", "b", "c", "d", "e"]
    assert all(run.is_complete for run in runs)
    assert max(numbers_running) <= parallel
    if parallel > 1:
        assert max(numbers_running) == min(parallel, 3), "a, c and e run at the same time"


@pytest.mark.parametrize("parallel", [1, 2])
def test_after_a_failure_no_run_is_started_and_running_ones_are_completed(parallel: int) -> None:
    runs = [FakeRun("a"), FakeRun("b"), FakeRun("c")]

    def train(run: FakeRun, arguments: Sequence[str]) -> None:
        if run.name == "a":
            raise TrainingError("a failed")
        time.sleep(0.1)

    with pytest.raises(TrainingError, match="a failed"):
        train_all(runs, train, parallel=parallel)
    assert [run.is_complete for run in runs] == [False, parallel == 2, False]


@pytest.mark.parametrize("parallel", [1, 2])
def test_runs_that_start_from_each_other_are_an_error(parallel: int) -> None:
    runs = [FakeRun("x", "y"), FakeRun("y", "x")]
    message = "x, y: each starts from a run that is not trained before it"
    with pytest.raises(ConfigError, match=message):
        train_all(runs, lambda run, arguments: pytest.fail("trained"), parallel=parallel)
