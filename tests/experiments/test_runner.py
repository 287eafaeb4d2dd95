"""Experiments: shipped ones are right, what is missing is trained, what is there is kept, and the page says what was found."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path

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
from tests.builders.command_line import SMALL_PHRASEBOOK, SMALL_RUN, Program


class Training:
    """`polyglot train` in this process, and what it was called with."""

    def __init__(self, program: Program, *, fails_at: int = 0) -> None:
        self.program, self.fails_at, self.calls = program, fails_at, []

    def __call__(self, member: ExperimentRun, arguments: Sequence[str]) -> None:
        self.calls.append(list(arguments))
        if len(self.calls) == self.fails_at:
            self.program(
                "train", *arguments, "training.steps=2"
            )  # half of it, as an interruption leaves it
            raise TrainingError("interrupted")
        result = self.program("train", *arguments)
        assert result.status == 0, result.errors


def test_from_the_file_to_the_page_and_on_after_an_interruption(
    folder, monkeypatch, capsys
) -> None:
    program, experiment = Program(monkeypatch, capsys), Experiment.load("experiment.yaml")
    first = Training(program, fails_at=2)
    with pytest.raises(TrainingError):
        run_experiment(experiment, folder / "out", train=first)
    halved = folder / "out" / "runs" / "with-copies-seed2" / "config.yaml"
    halved.write_text(
        halved.read_text(encoding="utf-8").replace("  steps: 2\n", "  steps: 4\n"), encoding="utf-8"
    )
    second = Training(program)
    save(run_experiment(experiment, folder / "out", train=second), folder / "out")
    resumed, begun = second.calls
    assert resumed == [str(folder / "out" / "runs" / "with-copies-seed2"), "--resume"]
    assert begun[0] == "phrasebook" and {"schedule.base=english_centric", "seed=1"} <= set(begun)

    page = (folder / "out" / "result.md").read_text(encoding="utf-8")
    for part in (
        "# With and without \\<copies\\>",
        "What are they worth?",
        "| without copies |",
        "de-en-fr",
        "the paper",
        "Table 2, lower part",
        "schedule.base=english_centric",
        "| without copies, zero-shot: at least 99 |",
        "## One hop and two",
        "## 95 % confidence intervals",
        "| `schedule.copies` | `true` | `false` |",
    ):
        assert part in page, part
    values = json.loads((folder / "out" / "result.json").read_text(encoding="utf-8"))
    de_fr = values["systems"]["with copies"]["directions"]["de-fr"]
    assert (
        de_fr["intervals"].keys() == {"bleu"}
        and "de-fr" in values["systems"]["with copies"]["hops"]
    )
    assert (de_fr["kind"], de_fr["paper"], de_fr["scores"]["bleu"]["count"]) == (
        "zero-shot",
        26.46,
        2,
    )
    assert (folder / "out" / "result.png").read_bytes().startswith(b"\x89PNG")

    third = Training(program)
    monkeypatch.setattr(
        Translator, "generate", lambda *given, **other: pytest.fail("translated again")
    )
    save(run_experiment(experiment, folder / "out", train=third), folder / "out")
    assert third.calls == [] and (folder / "out" / "result.md").read_text(encoding="utf-8") == page

    with pytest.raises(ConfigError, match=r"now \(schedule.copies true there, false here"):
        changed = experiment.model_copy(
            update={"systems": {"with copies": experiment.systems["without copies"]}}
        )
        run_experiment(changed, folder / "out", train=third)


def test_leaving_one_pair_out_on_the_phrasebook(folder, monkeypatch, capsys) -> None:
    pairs = ["en-de", "en-fr", "de-fr"]
    values = {
        "title": "One pair left out",
        "figure": "left_out",
        "protocol": {"metrics": ["bleu"], "copies": False, "search": {"beam": 1}, "resamples": 0},
        "seeds": [1, 2],
        "systems": {
            f"without {pair}": {
                "config": "phrasebook",
                "set": [*SMALL_RUN, *SMALL_PHRASEBOOK, "languages=[en, de, fr]", "validation.bleu_pairs=[]", "validation.best_by=loss", "training.steps=2",
                        f"schedule={{base: many_to_many, exclude: [{pair}, {'-'.join(reversed(pair.split('-')))}]}}"],
            }
            for pair in pairs
        },
    }  # fmt: skip
    train = Training(Program(monkeypatch, capsys))
    results = run_experiment(Experiment.model_validate(values), folder / "out", train=train)
    assert len(train.calls) == 6 and results.figure == "left_out"
    found = {str(pair): (unseen, seen) for pair, unseen, seen in results.left_out_directions()}
    assert sorted(found) == sorted([*pairs, "de-en", "fr-en", "fr-de"]) and all(
        seen.count == 2 for _, seen in found.values()
    )
    assert all(
        system.directions[left_out].kind == "zero-shot"
        for system, left_out in zip(results.systems, pairs)
    )
    assert all(
        system.spread("en-de", results.measure).count == 2
        and system.means_by_kind(results.measure)["supervised"].deviation is not None
        for system in results.systems
    )
    save(results, folder / "out")
    assert (folder / "out" / "result.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "out" / "result.md").read_text(encoding="utf-8")
    assert (
        "`schedule.exclude`" in page
        and "A number over several seeds is mean ± standard deviation." in page
    )


def test_a_run_that_has_lost_its_last_checkpoint_is_trained_on(folder, monkeypatch, capsys) -> None:
    system = {
        "config": "phrasebook",
        "set": [
            *SMALL_RUN,
            *SMALL_PHRASEBOOK,
            "training.steps=4",
            "training.checkpoint.every=2",
            "validation.every=2",
        ],
    }
    protocol = {"pairs": ["de-fr"], "metrics": ["bleu"], "search": {"beam": 1}, "resamples": 0}
    experiment, program = (
        Experiment.model_validate(
            {"title": "Lost", "systems": {"mine": system}, "protocol": protocol}
        ),
        Program(monkeypatch, capsys),
    )
    run_experiment(experiment, folder / "out", train=Training(program))
    [member] = experiment_runs(experiment, folder / "out")
    steps = sorted((member.path / "checkpoints").glob("step-*"))
    assert member.is_complete and [step.name for step in steps] == [
        "step-00000002",
        "step-00000004",
    ]
    shutil.rmtree(steps[-1])
    assert not member.is_complete
    train = Training(program)
    results = run_experiment(experiment, folder / "out", train=train)
    assert (
        train.calls == [[str(member.path), "--resume"]]
        and steps[-1].is_dir()
        and member.is_complete
    )
    assert results.systems[0].runs[0].checkpoint["steps"] in ([2], [4])
    for mark in (b"", b"garbage", b"[]", b"\xff", b"{}", b'{"step": 4}'):
        (member.path / COMPLETE).write_bytes(mark)
        assert member.is_complete, mark
    shutil.rmtree(member.path / "checkpoints")
    assert not member.is_complete


def test_a_run_is_taken_as_it_is(folder, monkeypatch, capsys) -> None:
    program = Program(monkeypatch, capsys)
    assert program("train", "mine.yaml").status == 0
    experiment = Experiment.model_validate(
        {
            "title": "Taken",
            "systems": {"mine": {"run": "runs/mine"}},
            "protocol": {"pairs": ["de-fr"], "resamples": 0},
        }
    )
    before = {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*")}
    results = run_experiment(
        experiment, folder / "out", train=lambda *given: pytest.fail("trained")
    )
    assert (
        list(results.systems[0].directions) == ["de-fr"]
        and not results.comparisons
        and results.significance_note == ""
    )
    assert {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*")} == before
    save(results, folder / "out")
    page = (folder / "out" / "result.md").read_text(encoding="utf-8")
    assert "taken as it is: mine" in page and "Sentence embeddings" not in page


def test_an_ensemble_is_all_runs_of_its_systems_together(folder, monkeypatch, capsys) -> None:
    program = Program(monkeypatch, capsys)
    assert program("train", "mine.yaml", "seed=3", "model.encoder.size=12").status == 0
    protocol = {
        "pairs": ["en-de", "de-fr"],
        "search": {"beam": 2},
        "metrics": ["bleu", "chrf"],
        "resamples": 10,
        "pivot": "en",
    }
    goals = [
        {"system": "both", "scores": "en-de", "at_least": 0},
        {"system": "both", "scores": "zero-shot", "behind_pivot": 100},
    ]
    file = {"title": "Together", "seeds": [1, 2], "protocol": protocol, "checkpoint": "2", "goals": goals, "embeddings": {
                "representations": ["bridge.mean"], "probe_sentences": 0, "map_sentences": 2},
            "systems": {"all": {"ensemble": ["one", "there"]}, "one": {"config": "mine.yaml"}, "both": {"ensemble": "one"},
                        "there": {"run": "runs/mine"}}}  # fmt: skip
    (folder / "together.yaml").write_text(dump_yaml(file))
    plan = program("experiment", "together.yaml", "--dry-run").output
    assert "2 in an ensemble" in plan and "3 in an ensemble" in plan
    experiment, train = Experiment.load("together.yaml"), Training(program)
    results = run_experiment(experiment, folder / "out", train=train)
    assert len(train.calls) == 2, "an ensemble trains nothing"
    everything, one, both, there = results.systems
    runs = [folder / "out" / "runs" / f"one-seed{seed}" for seed in (1, 2)]
    source = (folder / "train.en").read_text(encoding="utf-8").splitlines()
    for system, own in ((both, runs), (everything, [*runs, folder / "runs" / "mine"])):
        together = EnsembleTranslator.load(own, checkpoints=[2])
        assert system.matrices[0].hypotheses["en-de"] == together.translate(
            source, source="en", target="de", beam=2
        )
        assert [member["steps"] for member in system.runs[0].checkpoint["members"]] == [[2]] * len(
            own
        )
    assert (len(both.matrices), len(one.matrices)) == (1, 2)
    assert (
        both.parameters == one.parameters * 2
        and one.parameters < there.parameters == everything.parameters - both.parameters
    )
    assert [outcome.reached for outcome in results.goal_results] == [True, True]
    assert results.embeddings.keys() == {"one-seed1", "one-seed2", "there"}
    assert (
        everything.settings["model.encoder.size"] == "8, 12"
        and both.settings["model.encoder.size"] == "8"
    )
    save(results, folder / "out")
    page = (folder / "out" / "result.md").read_text(encoding="utf-8")
    assert (
        "together: one-seed1 one-seed2\n" in page
        and "together: one-seed1 one-seed2 there-mine\n" in page
    )
    assert (
        "- one-seed1: 2 checkpoint, step 2; one-seed2: 2 checkpoint, step 2; `evaluation/both-ensemble/matrix.md` has all of it"
        in page
    )
    for kind in (Translator, EnsembleTranslator):
        monkeypatch.setattr(
            kind, "generate", lambda *given, **other: pytest.fail("translated again")
        )
    save(run_experiment(experiment, folder / "out", train=train), folder / "out")
    assert (folder / "out" / "result.md").read_text(encoding="utf-8") == page


def test_copies_make_no_other_pairs_of_an_ensemble(folder) -> None:
    (folder / "copies.yaml").write_text(
        "{title: Copies, config: mine.yaml, systems: {a: {}, b: {set: [schedule=english_centric]}, c: {ensemble: [a, b]}}}"
    )
    experiment = Experiment.load("copies.yaml").at_size()
    members = list(experiment_runs(experiment, folder))
    assert len({frozenset(member.config.pairs) for member in members}) == 2
    check_systems(systems_of(experiment, members), where="copies.yaml")


def test_vocabularies_that_a_seed_draws_are_found_to_differ_before_anything_is_evaluated(
    folder, monkeypatch, capsys
) -> None:
    (folder / "drawn.yaml").write_text(
        "{title: Drawn, config: mine.yaml, seeds: [1, 2], systems: {a: {set: [vocabulary.sentences=3]}, b: {ensemble: a}}}"
    )
    with pytest.raises(
        ConfigError,
        match="drawn.yaml: .*\n  systems.b.ensemble: its runs have different vocabularies of en, and cannot write it",
    ):
        run_experiment(
            Experiment.load("drawn.yaml"),
            folder / "out",
            train=Training(Program(monkeypatch, capsys)),
        )
    assert not (folder / "out" / "evaluation").exists()


def test_embeddings_are_measured_where_the_file_asks_for_it(folder, monkeypatch, capsys) -> None:
    program = Program(monkeypatch, capsys)
    assert program("train", "mine.yaml").status == 0
    file = {"title": "Embedded", "systems": {"mine": {"run": "runs/mine"}}, "protocol": {"pairs": ["de-fr"], "resamples": 0},
            "embeddings": {"representations": ["bridge.mean"], "probe_sentences": 0, "map_sentences": 2}}  # fmt: skip
    results = run_experiment(
        Experiment.model_validate(file), folder / "out", train=lambda *given: pytest.fail("trained")
    )
    save(results, folder / "out")
    means = results.embeddings["mine"].retrieval["bridge.mean"].means("p@1")
    values = json.loads((folder / "out" / "result.json").read_text(encoding="utf-8"))
    assert means and values["embeddings"]["mine"]["bridge.mean"]["p@1"] == means
    row = f"| bridge.mean | mine | {results.embeddings['mine'].sizes['bridge.mean']} | {means['supervised']:.1f} |"
    assert row in (folder / "out" / "result.md").read_text(encoding="utf-8")
    assert (folder / "out" / "analysis" / "mine-mine" / "map.png").is_file() and not (
        folder / "runs" / "mine" / "analysis"
    ).exists()


def test_a_model_for_each_pair_and_their_scores_are_one_system(folder, monkeypatch, capsys) -> None:
    values = {
        "title": "Bilingual",
        "protocol": {"metrics": ["bleu"], "pivot": "en", "search": {"beam": 1}, "resamples": 0},
        "systems": {
            "together": {"config": "phrasebook", "set": [*SMALL_RUN, *SMALL_PHRASEBOOK, "training.steps=2"], "paper": {"en-de": 20.0, "fr-en": 9.0}},
            "bilingual": {
                "config": "phrasebook",
                "separately": ["en-de", "fr-en"],
                "set": [*SMALL_RUN, *SMALL_PHRASEBOOK, "training.steps=2", "languages=[SOURCE, TARGET]", "schedule.pairs=[SOURCE-TARGET]",
                        "schedule.copies=false", "schedule.phases=[]", "validation.bleu_pairs=[SOURCE-TARGET]"],
                "paper": {"en-de": 19.0, "fr-en": 9.0},
            },
        },
    }  # fmt: skip
    train = Training(Program(monkeypatch, capsys))
    results = run_experiment(Experiment.model_validate(values), folder / "out", train=train)
    together, bilingual = results.systems
    assert [run.name for run in bilingual.runs] == [
        "bilingual-en-de-seed1",
        "bilingual-fr-en-seed1",
    ] and len(train.calls) == 3
    assert list(bilingual.directions) == ["en-de", "fr-en"] and bilingual.matrices[0].languages == [
        "en",
        "de",
        "fr",
    ]
    assert list(map(str, bilingual.matrices[0].trained)) == ["en-de", "fr-en"]
    assert (
        bilingual.parameters == sum(run.parameters for run in bilingual.runs) > 0
        and "de-en-fr" in together.directions
    )
    [claim] = (claim for claim in results.claims if claim.direction == "fr-en")
    assert (claim.paper, claim.holds) == (0.0, None)
    save(results, folder / "out")
    page = (folder / "out" / "result.md").read_text(encoding="utf-8")
    assert (
        "| bilingual, en-de | together | -1.00 |" in page
        and f"- {bilingual.parameters:,} parameters" in page
    )


class Trained:
    """In the place of a member: a name, and what it starts from."""

    def __init__(self, name: str, *initialized_from: str) -> None:
        self.name, self.path, self.initialized_from = (
            name,
            Path(name),
            set(map(Path, initialized_from)),
        )
        self.is_complete = self.is_started = False
        self.arguments = [name]

    def complete(self) -> None:
        self.is_complete = True


@pytest.mark.parametrize("parallel", [1, 2, 5])
def test_a_run_waits_for_those_that_it_starts_from_and_no_more_run_than_may(parallel: int) -> None:
    members = [Trained("d", "b"), Trained("a"), Trained("b", "a"), Trained("c"), Trained("e")]
    lock, running, most, ended = threading.Lock(), set(), [], []

    def train(member: Trained, arguments: Sequence[str]) -> None:
        assert all(each.is_complete for each in members if each.path in member.initialized_from)
        with lock:
            running.add(arguments[0])
            most.append(len(running))
        time.sleep(0.05)
        with lock:
            running.remove(arguments[0])
            ended.append(arguments[0])

    train_all(members, train, parallel=parallel)
    assert (
        sorted(ended) == list("abcde")
        and all(member.is_complete for member in members)
        and max(most) <= parallel
    )
    assert parallel == 1 or max(most) == min(parallel, 3), "several at once"


@pytest.mark.parametrize("parallel", [1, 2])
def test_after_a_failure_nothing_is_begun_and_what_runs_is_waited_for(parallel: int) -> None:
    members = [Trained("a"), Trained("b"), Trained("c")]

    def train(member: Trained, arguments: Sequence[str]) -> None:
        if member.name == "a":
            raise TrainingError("a failed")
        time.sleep(0.1)

    with pytest.raises(TrainingError, match="a failed"):
        train_all(members, train, parallel=parallel)
    assert [member.is_complete for member in members] == [False, parallel == 2, False]
    with pytest.raises(
        ConfigError, match="x, y: each starts from a run that is not trained before it"
    ):
        train_all([Trained("x", "y"), Trained("y", "x")], train, parallel=parallel)
