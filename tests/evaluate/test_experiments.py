"""Experiments: shipped ones are right, what is missing is trained, what is there is kept, and the page says what was found."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from by_hand import matrix

from polyglot import shipped
from polyglot.config import load_config
from polyglot.data.corpora import Corpora
from polyglot.errors import ConfigError, DataError, TrainingError
from polyglot.evaluate.conditions import Measure
from polyglot.evaluate.experiments import Experiment, carry_out
from polyglot.evaluate.experiments.experiment import protocol_of
from polyglot.evaluate.experiments.figure import bars_of, figure_png
from polyglot.evaluate.experiments.members import Member, check_test, filled, members_of
from polyglot.evaluate.experiments.page import save
from polyglot.evaluate.experiments.results import Results, Spread, SystemResult, TrainedRun
from polyglot.evaluate.experiments.settings import Goal
from polyglot.evaluate.experiments.training import train_all
from polyglot.evaluate.experiments.writers import check_writers, writers_of
from polyglot.evaluate.matrix import Cell, Matrix
from polyglot.evaluate.protocol import Reference
from polyglot.evaluate.scores import Score
from polyglot.inference import Translator
from polyglot.task import LanguagePair, match_pairs
from polyglot.together import EnsembleTranslator
from polyglot.training.matching import TOLERANCE, parameters
from polyglot.yaml_file import write_yaml
from tests.command_line import CONFIG, PHRASEBOOK, SMALL, Program, write_text
from tests.rendered import ODD, marks, texts
from tests.conftest import ROOT

MINE = {
    "title": "With and without <copies>",
    "question": "What are they worth?",
    "protocol": {"metrics": ["bleu"], "pivot": "en", "search": {"beam": 1}, "resamples": 20},
    "seeds": [1, 2],
    "goals": [{"system": "without copies", "scores": "zero-shot", "at_least": 99}],
    "systems": {
        "with copies": {"config": "phrasebook", "set": [*SMALL, *PHRASEBOOK], "reference": "attention_bridge_english_centric_with_copies"},
        "without copies": {"config": "phrasebook", "set": [*SMALL, *PHRASEBOOK, "schedule.base=english_centric"], "seeds": [1]},
    },
}
"""The English-centric experiment on very little of the phrasebook, with models of a few thousand parameters."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path)
    (tmp_path / "mine.yaml").write_text(CONFIG)
    (tmp_path / "experiment.yaml").write_text(write_yaml(MINE))
    return tmp_path


class Training:
    """`polyglot train` in this process, and what it was called with."""

    def __init__(self, program: Program, *, fails_at: int = 0) -> None:
        self.program, self.fails_at, self.calls = program, fails_at, []

    def __call__(self, member: Member, arguments: Sequence[str]) -> None:
        self.calls.append(list(arguments))
        if len(self.calls) == self.fails_at:
            self.program("train", *arguments, "training.steps=2")  # half of it, as an interruption leaves it
            raise TrainingError("interrupted")
        result = self.program("train", *arguments)
        assert result.status == 0, result.errors


def test_from_the_file_to_the_page_and_on_after_an_interruption(folder, monkeypatch, capsys) -> None:
    program, experiment = Program(monkeypatch, capsys), Experiment.load("experiment.yaml")
    first = Training(program, fails_at=2)
    with pytest.raises(TrainingError):
        carry_out(experiment, folder / "out", train=first)
    halved = folder / "out" / "runs" / "with-copies-seed2" / "config.yaml"
    halved.write_text(halved.read_text(encoding="utf-8").replace("  steps: 2\n", "  steps: 4\n"), encoding="utf-8")
    second = Training(program)
    save(carry_out(experiment, folder / "out", train=second), folder / "out")
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
    assert de_fr["intervals"].keys() == {"bleu"} and "de-fr" in values["systems"]["with copies"]["hops"]
    assert (de_fr["kind"], de_fr["paper"], de_fr["scores"]["bleu"]["count"]) == ("zero-shot", 26.46, 2)
    assert (folder / "out" / "result.png").read_bytes().startswith(b"\x89PNG")

    third = Training(program)
    monkeypatch.setattr(Translator, "write", lambda *given, **other: pytest.fail("translated again"))
    save(carry_out(experiment, folder / "out", train=third), folder / "out")
    assert third.calls == [] and (folder / "out" / "result.md").read_text(encoding="utf-8") == page

    with pytest.raises(ConfigError, match=r"now \(schedule.copies true there, false here"):
        changed = experiment.model_copy(update={"systems": {"with copies": experiment.systems["without copies"]}})
        carry_out(changed, folder / "out", train=third)


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
                "set": [*SMALL, *PHRASEBOOK, "languages=[en, de, fr]", "validation.bleu_pairs=[]", "validation.best_by=loss", "training.steps=2",
                        f"schedule={{base: many_to_many, exclude: [{pair}, {'-'.join(reversed(pair.split('-')))}]}}"],
            }
            for pair in pairs
        },
    }  # fmt: skip
    train = Training(Program(monkeypatch, capsys))
    results = carry_out(Experiment.model_validate(values), folder / "out", train=train)
    assert len(train.calls) == 6 and results.figure == "left_out"
    found = {str(pair): (unseen, seen) for pair, unseen, seen in results.left_out()}
    assert sorted(found) == sorted([*pairs, "de-en", "fr-en", "fr-de"]) and all(seen.count == 2 for _, seen in found.values())
    assert all(system.directions[left_out].kind == "zero-shot" for system, left_out in zip(results.systems, pairs))
    assert all(
        system.spread("en-de", results.measure).count == 2 and system.kinds(results.measure)["supervised"].deviation is not None
        for system in results.systems
    )
    save(results, folder / "out")
    assert (folder / "out" / "result.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "out" / "result.md").read_text(encoding="utf-8")
    assert "`schedule.exclude`" in page and "A number over several seeds is mean ± standard deviation." in page


def test_a_run_is_taken_as_it_is(folder, monkeypatch, capsys) -> None:
    program = Program(monkeypatch, capsys)
    assert program("train", "mine.yaml").status == 0
    experiment = Experiment.model_validate(
        {"title": "Taken", "systems": {"mine": {"run": "runs/mine"}}, "protocol": {"pairs": ["de-fr"], "resamples": 0}}
    )
    before = {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*")}
    results = carry_out(experiment, folder / "out", train=lambda *given: pytest.fail("trained"))
    assert list(results.systems[0].directions) == ["de-fr"] and not results.comparisons and results.note == ""
    assert {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*")} == before
    save(results, folder / "out")
    page = (folder / "out" / "result.md").read_text(encoding="utf-8")
    assert "taken as it is: mine" in page and "Sentence embeddings" not in page


def test_an_ensemble_is_all_runs_of_its_systems_together(folder, monkeypatch, capsys) -> None:
    program = Program(monkeypatch, capsys)
    assert program("train", "mine.yaml", "seed=3", "model.encoder.size=12").status == 0
    protocol = {"pairs": ["en-de", "de-fr"], "search": {"beam": 2}, "metrics": ["bleu", "chrf"], "resamples": 10, "pivot": "en"}
    goals = [{"system": "both", "scores": "en-de", "at_least": 0}, {"system": "both", "scores": "zero-shot", "behind_pivot": 100}]
    file = {"title": "Together", "seeds": [1, 2], "protocol": protocol, "checkpoint": "2", "goals": goals, "embeddings": {
                "representations": ["bridge.mean"], "probe_sentences": 0, "map_sentences": 2},
            "systems": {"all": {"ensemble": ["one", "there"]}, "one": {"config": "mine.yaml"}, "both": {"ensemble": "one"},
                        "there": {"run": "runs/mine"}}}  # fmt: skip
    (folder / "together.yaml").write_text(write_yaml(file))
    plan = program("experiment", "together.yaml", "--dry-run").output
    assert "2 together" in plan and "3 together" in plan
    experiment, train = Experiment.load("together.yaml"), Training(program)
    results = carry_out(experiment, folder / "out", train=train)
    assert len(train.calls) == 2, "an ensemble trains nothing"
    everything, one, both, there = results.systems
    runs = [folder / "out" / "runs" / f"one-seed{seed}" for seed in (1, 2)]
    source = (folder / "train.en").read_text(encoding="utf-8").splitlines()
    for system, own in ((both, runs), (everything, [*runs, folder / "runs" / "mine"])):
        together = EnsembleTranslator.load(own, checkpoints=[2])
        assert system.matrices[0].hypotheses["en-de"] == together.translate(source, source="en", target="de", beam=2)
        assert [member["steps"] for member in system.runs[0].checkpoint["members"]] == [[2]] * len(own)
    assert (len(both.matrices), len(one.matrices)) == (1, 2)
    assert both.parameters == one.parameters * 2 and one.parameters < there.parameters == everything.parameters - both.parameters
    assert [outcome.reached for outcome in results.outcomes] == [True, True]
    assert results.embeddings.keys() == {"one-seed1", "one-seed2", "there"}
    assert everything.settings["model.encoder.size"] == "8, 12" and both.settings["model.encoder.size"] == "8"
    save(results, folder / "out")
    page = (folder / "out" / "result.md").read_text(encoding="utf-8")
    assert "together: one-seed1 one-seed2\n" in page and "together: one-seed1 one-seed2 there-mine\n" in page
    assert "- one-seed1: 2 checkpoint, step 2; one-seed2: 2 checkpoint, step 2; `evaluation/both-ensemble/matrix.md` has all of it" in page
    for kind in (Translator, EnsembleTranslator):
        monkeypatch.setattr(kind, "write", lambda *given, **other: pytest.fail("translated again"))
    save(carry_out(experiment, folder / "out", train=train), folder / "out")
    assert (folder / "out" / "result.md").read_text(encoding="utf-8") == page


def test_copies_make_no_other_pairs_of_an_ensemble(folder) -> None:
    (folder / "copies.yaml").write_text(
        "{title: Copies, config: mine.yaml, systems: {a: {}, b: {set: [schedule=english_centric]}, c: {ensemble: [a, b]}}}"
    )
    experiment = Experiment.load("copies.yaml").at()
    members = list(members_of(experiment, folder))
    assert len({frozenset(member.config.pairs) for member in members}) == 2
    check_writers(writers_of(experiment, members), where="copies.yaml")


def test_vocabularies_that_a_seed_draws_are_found_to_differ_before_anything_is_evaluated(folder, monkeypatch, capsys) -> None:
    (folder / "drawn.yaml").write_text(
        "{title: Drawn, config: mine.yaml, seeds: [1, 2], systems: {a: {set: [vocabulary.sentences=3]}, b: {ensemble: a}}}"
    )
    with pytest.raises(ConfigError, match="drawn.yaml: .*\n  systems.b.ensemble: its runs have different vocabularies of en, and cannot write it"):
        carry_out(Experiment.load("drawn.yaml"), folder / "out", train=Training(Program(monkeypatch, capsys)))
    assert not (folder / "out" / "evaluation").exists()


def test_embeddings_are_measured_where_the_file_asks_for_it(folder, monkeypatch, capsys) -> None:
    program = Program(monkeypatch, capsys)
    assert program("train", "mine.yaml").status == 0
    file = {"title": "Embedded", "systems": {"mine": {"run": "runs/mine"}}, "protocol": {"pairs": ["de-fr"], "resamples": 0},
            "embeddings": {"representations": ["bridge.mean"], "probe_sentences": 0, "map_sentences": 2}}  # fmt: skip
    results = carry_out(Experiment.model_validate(file), folder / "out", train=lambda *given: pytest.fail("trained"))
    save(results, folder / "out")
    means = results.embeddings["mine"].retrieval["bridge.mean"].means("p@1")
    values = json.loads((folder / "out" / "result.json").read_text(encoding="utf-8"))
    assert means and values["embeddings"]["mine"]["bridge.mean"]["p@1"] == means
    row = f"| bridge.mean | mine | {results.embeddings['mine'].sizes['bridge.mean']} | {means['supervised']:.1f} |"
    assert row in (folder / "out" / "result.md").read_text(encoding="utf-8")
    assert (folder / "out" / "analysis" / "mine-mine" / "map.png").is_file() and not (folder / "runs" / "mine" / "analysis").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("systems: {a: {}}", "systems.a: one of `config`, `run` and `ensemble`"),
        ("systems: {a: {config: mine.yaml, beside: b}}", "systems.a.beside: no system named 'b'. Known: a"),
        ("config: mine.yaml\nsystems: {a: {beside: b}, b: {}}", "systems.a.beside: comes back to 'a'"),
        ("config: mine.yaml\nsystems: {a: {}, b: {beside: c}, c: {beside: b}}", "systems.b.beside: comes back to 'b'"),
        ("systems: {a: {config: mine.yaml, separately: [ende]}}", "systems.a.separately: 'ende'"),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {cpu: {systems: {b: []}}}",
            "sizes.cpu.systems: no system to be trained named 'b'. Known: a",
        ),
        ("systems: {a: {config: mine.yaml}}\nsizes: {cpu: {only: [a, b]}}", "sizes.cpu.only: no system named 'b'. Known: a"),
        (
            "systems: {a: {config: mine.yaml, separately: [en-de]}}\nsizes: {cpu: {separately: [de-en]}}",
            "sizes.cpu.separately: no pair with a model of its own named 'de-en'. Known: en-de",
        ),
        (
            "config: mine.yaml\nsystems: {a: {separately: [en-de]}, b: {separately: [de-en]}}\nsizes: {cpu: {separately: [de-en]}}",
            "sizes.cpu.separately: leaves nothing of 'a', which has en-de",
        ),
        ("config: mine.yaml\nsystems: {a: {}, b: {}}\nsizes: {cpu: {only: [b]}}", "sizes.cpu.only: leaves out 'a', the first"),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {}, c: {beside: b}}\nsizes: {cpu: {only: [a, c]}}",
            "sizes.cpu.only: 'c' is shown beside 'b', which it leaves out; name both or neither",
        ),
        ("systems: {a: {}}\nsizes: {cpu: {config: mine.yaml}, full: {}}", "systems.a: one of `config`, `run` and `ensemble`"),
        ("systems: {a: {config: mine.yaml, run: runs/x}}", "systems.a: one of `config`, `run` and `ensemble`"),
        ("systems: {a: {run: runs/x}}", "systems.a.run: runs/x: no run directory"),
        ("systems: {a: {run: runs/x, seeds: [1]}}", "systems.a: `set`, `seeds` and `separately` are for a `config`; a `run` or"),
        ("config: mine.yaml\nsystems: {a: {}, b: {ensemble: c}}", "systems.b.ensemble: no system named 'c'. Known: a"),
        ("config: mine.yaml\nsystems: {a: {}, b: {ensemble: b}}", "systems.b.ensemble: 'b' is an ensemble itself; name the systems"),
        ("config: mine.yaml\nsystems: {a: {separately: [en-de]}, b: {ensemble: a}}", "systems.b.ensemble: 'a' has a model for each pair (`separately`); name a system"),
        ("config: mine.yaml\nsystems: {a: {}, b: {ensemble: a, config: mine.yaml}}", "systems.b: one of `config`, `run` and `ensemble`"),
        ("config: mine.yaml\nsystems: {a: {}, b: {ensemble: a, seeds: [2]}}", "systems.b: `set`, `seeds` and `separately` are for a `config`"),
        ("config: mine.yaml\nsystems: {a: {}, b: {ensemble: [a, a]}}", "systems.b.ensemble: a named twice"),
        ("config: mine.yaml\nsystems: {a: {}, b: {ensemble: a}}", "systems.b.ensemble: has one run alone, a-seed1; name another seed or system"),
        (
            "config: mine.yaml\nseeds: [1, 2]\nsystems: {a: {}, b: {ensemble: a}}\ngoals: [{system: b, scores: de-it, at_least: 1}]",
            "goals.0.scores: de-it: 'b' has no language it",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, c: {set: ['schedule={base: bilingual, pairs: [en-de]}', 'validation.bleu_pairs=[]', "
            "validation.best_by=loss]}, b: {ensemble: [a, c]}}",
            "systems.b.ensemble: a-seed1 and c-seed1 are trained on different pairs (de-en, en-fr, fr-en)",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, c: {set: [vocabulary.languages.de.size=50]}, b: {ensemble: [a, c]}}",
            "systems.b.ensemble: its runs have different vocabularies of de, and cannot write it together; give them the same settings",
        ),
        (
            "config: mine.yaml\nfigure: left_out\nseeds: [1, 2]\nsystems: {a: {}, b: {ensemble: a}}",
            "systems.b.ensemble: `figure: left_out` compares models that saw a direction with those that did not",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, c: {}, b: {ensemble: [a, c]}}\nsizes: {cpu: {only: [a, b]}}",
            "sizes.cpu.only: 'b' is made of 'c', left out; name all or none",
        ),
        (
            "config: mine.yaml\nseeds: [1, 2]\nsystems: {a: {}, b: {ensemble: a}}\nsizes: {cpu: {systems: {b: []}}}",
            "sizes.cpu.systems: no system to be trained named 'b'. Known: a",
        ),
        ("systems: {a: {run: []}}", "systems.a.run: names nothing; name one, or leave it out"),
        ("systems: {a: {config: mine.yaml}}\nsizes: {cpu: {only: []}}", "sizes.cpu.only: names nothing"),
        ("systems: {a: {config: mine.yaml}}\nsizes: {../cpu: {}}", "sizes: '../cpu' will be the name of a folder; use letters"),
        ("systems: {a: {config: mine.yaml, set: [seed=7]}}", "systems.a.set: seed=7: the experiment itself says seed of every run; leave it out"),
        ("systems: {a: {config: mine.yaml}}\nsizes: {cpu: {systems: {a: [run=x]}}}", "run=x: the experiment itself says run of every run"),
        ("config: mine.yaml\nsystems: {a: {}, b: {paper: {en-de: 3}}}", "systems.b.paper: en-de: no score of 'a' to put it beside"),
        ("systems: {a: {config: mine.yaml, paper: {en-it: 3}}}", "systems.a.paper: en-it: 'a' has no language it"),
        ("systems: {a: {config: mine.yaml}}\ngoals: [{system: a, scores: de-it, at_least: 1}]", "goals.0.scores: de-it: 'a' has no language it"),
        ("systems: {a: {config: mine.yaml, separately: [en-de]}}", "systems.a.separately: en-de: it trains "),
        (
            "systems: {a: {config: mine.yaml, set: ['initialize={\"*\": RUNS/b-seedSEED}']}}",
            "runs/b-seed1, which is not there and is trained by no system before it",
        ),
        ("systems: {a: {config: mine.yaml, set: ['initialize={\"*\": RUNS/a-seed1}']}}", "runs/a-seed1, which is not there and is trained by no system before it"),
        ("systems: {a: {config: mine.yaml, set: [data.folder=nowhere, 'data.train=[{type: text, path: \"train.{language}\"}]']}}", "nowhere"),
        ("systems: {a: {run: [runs/x, runs/x]}}", "systems.a.run: runs/x named twice; each counts once"),
        ("systems: {a: {config: mine.yaml, separately: [en-de, de-en, en-de]}}", "systems.a.separately: en-de named twice"),
        ("systems: {a: {config: mine.yaml, seeds: [3, 3]}}", "systems.a.seeds: 3 named twice"),
        ("systems: {a: {config: mine.yaml}}\nseeds: [1, 1]", "seeds: 1 named twice"),
        ("systems: {a: {config: mine.yaml}}\nsizes: {cpu: {seeds: [1, 1]}}", "sizes.cpu.seeds: 1 named twice"),
        ("systems: {a: {config: mine.yaml, set: [model.encodr=1]}}", "model.encodr: no key named 'encodr'"),
        ("systems: {a b: {config: mine.yaml}, a-b: {config: mine.yaml}}", "'a b' and 'a-b' are the same folder, a-b; use other letters"),
        (f"systems: {{{'ä' * 101}: {{config: mine.yaml}}}}", "makes a folder name of 202 bytes; use at most 200"),
        ("systems: {'!': {config: mine.yaml}}", "'!' makes no folder name; use letters or digits"),
        ("systems: {a: {config: mine.yaml, reference: nobody}}", "no reference named 'nobody'"),
        ("systems: {a: {config: mine.yaml}}\nprotocol: quik", "no evaluation protocol named 'quik'"),
        ("systems: {a: {config: mine.yaml}}\nprotocol: {test_sets: {one: [phrasebook]}}", "an experiment has one test set"),
        ("systems: {a: {config: mine.yaml}}\nprotocol: {pivt: en}", "protocol.pivt: no key named 'pivt'. Did you mean 'pivot'?"),
        ("systems: {a: {config: mine.yaml}}\nprotocol: {pivot: it}", "a-seed1: protocol.pivot: target language: no decoder named 'it'"),
        ("systems: {a: {config: mine.yaml}}\nprotocol: {pairs: [de-it]}", "pairs: target language: no decoder named 'it'"),
        ("systems: {a: {config: mine.yaml, set: ['data.test=[]']}}", "a-seed1: data.test names no corpus"),
        (
            "systems: {a: {config: mine.yaml}}\nprotocol: {test: [{type: text, path: 'no.{language}'}]}",
            "no.{language}: nothing for any of en, de, fr",
        ),
        ("systems: {a: {config: mine.yaml}}\ncheckpoint: bst", "checkpoint: found 'bst'; write best, last, a step, or average:N"),
        (
            "systems: {a: {config: mine.yaml}}\ngoals: [{system: b, scores: en-de, at_least: 1}]",
            "goals.0.system: no system named 'b'. Known: a",
        ),
        (
            "systems: {a: {config: mine.yaml}}\ngoals: [{system: a, scores: all, at_least: 1}]",
            "found 'all'; write supervised, zero-shot or a direction such as en-de",
        ),
        ("systems: {a: {config: mine.yaml}}\ngoals: [{system: a, scores: en-de}]", "found none of at_least, above_paper, each_above_paper"),
        (
            "systems: {a: {config: mine.yaml}}\ngoals: [{system: a, scores: en-de, at_least: 1, behind_pivot: 2}]",
            "found at_least, behind_pivot of at_least, above_paper, each_above_paper, behind_pivot; a goal has one of them",
        ),
        (
            "systems: {a: {config: mine.yaml}}\ngoals: [{system: a, scores: en-de, above_paper: 1}]",
            "goals.0: 'a' has no `reference` to be above",
        ),
        (
            "systems: {a: {config: mine.yaml}}\ngoals: [{system: a, scores: en-de, behind_pivot: 1}]",
            "goals.0.behind_pivot: the protocol has no `pivot`",
        ),
        ("systems: {}", "systems: found {}"),
    ],
)
def test_mistakes_are_sentences_before_anything_is_trained(text: str, sentence: str, folder: Path, monkeypatch, capsys) -> None:
    (folder / "wrong.yaml").write_text(f"title: Wrong\n{text}\n")
    with pytest.raises((ConfigError, DataError)) as caught:
        carry_out(Experiment.load("wrong.yaml"), folder / "out", train=lambda *given: pytest.fail("trained"))
    assert sentence in str(caught.value)
    assert isinstance(caught.value, DataError) or str(caught.value).startswith("wrong.yaml: ")
    assert sentence in " ".join(Program(monkeypatch, capsys).refuses("experiment", "wrong.yaml", "--dry-run").split())


def test_what_is_wrong_with_the_configuration_of_several_runs_is_said_once(folder: Path) -> None:
    (folder / "wrong.yaml").write_text("{title: Wrong, config: gone.yaml, seeds: [1, 2], systems: {a: {}, b: {set: [model.bridge=none]}}}")
    with pytest.raises(ConfigError, match="(?s)^wrong.yaml: 1 problem\n  systems.a, b: gone.yaml: neither a file nor shipped"):
        list(members_of(Experiment.load("wrong.yaml").at(), folder))


def test_a_folder_that_is_something_else_is_refused(folder, monkeypatch, capsys) -> None:
    program = Program(monkeypatch, capsys)
    assert "--folder: mine.yaml is a file" in program.refuses("experiment", "experiment.yaml", "--folder", "mine.yaml", "--dry-run")
    assert program("train", "mine.yaml").status == 0
    assert "--folder: runs/mine is a run" in program.refuses("experiment", "experiment.yaml", "--folder", "runs/mine", "--dry-run")


SIZED = [(name, size) for name in shipped.names("evaluation/experiments") for size in Experiment.load(name).sizes or [None]]


@pytest.mark.parametrize(("name", "size"), SIZED)
def test_every_shipped_experiment_can_be_begun_in_every_size(name: str, size: str | None, tmp_path: Path) -> None:
    experiment = Experiment.load(name).at(size)
    members = list(members_of(experiment, tmp_path))
    assert len({member.path for member in members}) == len(members)
    after = set()
    for member in members:
        config = member.config
        assert member.starts_from <= after, "what it starts from comes before it"
        after.add(member.path)
        if average := re.fullmatch(r"average:(\d+)", experiment.checkpoint):
            assert config.training.checkpoint.keep >= int(average[1]) <= config.training.steps // config.training.checkpoint.every
        if config.validation.best_by == "bleu":
            assert set(match_pairs(config.validation.bleu_pairs, config.languages)) <= set(config.pairs), "zero-shot pairs have no say"
        sizes = {language: config.vocabulary.of(language).size for language in config.languages}
        assert member.seed != members[0].seed or 1e6 < parameters(config, config.model, sizes) < 1.5e8


@pytest.mark.parametrize(("name", "size"), SIZED)
def test_the_text_of_every_shipped_experiment_is_there(
    name: str, size: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the data sets are: in `data/` of the clone, or where POLYGLOT_DATA says, which must end in `data`."""
    data = Path(os.environ.get("POLYGLOT_DATA", ROOT / "data"))
    experiment = Experiment.load(name).at(size)
    members = list(members_of(experiment, tmp_path))
    monkeypatch.chdir(data.parent if data.is_dir() else tmp_path)
    for member in members:
        config = member.config
        if config.data.train[0].type != "phrasebook" and not any(Path(config.data.folder).glob("train.*")):
            pytest.skip(f"the text of {config.data.folder} is not here")
        check_test(member, protocol_of(member.system, experiment), where=name)
        for given in (config.data.train, config.data.valid):
            Corpora(given, folder=Path(config.data.folder), languages=config.languages).check_any(config.pairs)


def test_a_size_lays_its_settings_below_a_systems_own_and_those_of_a_system_above() -> None:
    values = {
        "title": "Sized",
        "config": "phrasebook",
        "seeds": [1, 2],
        "sizes": {
            "cpu": {"set": ["a=1", "b=1"], "systems": {"one": ["b=3"]}, "seeds": [7]},
            "full": {"config": "multi30k/paper"},
            "part": {"only": ["one", "each"], "separately": ["de-en"]},
        },
        "systems": {
            "one": {"set": ["b=2"]},
            "two": {"config": "multi30k/small"},
            "each": {"separately": ["en-de", "de-en"]},
        },
    }
    experiment = Experiment.model_validate(values)
    small, full = experiment.at("cpu"), experiment.at("full")
    assert (small.systems["one"].set, small.systems["one"].config, small.seeds) == (["a=1", "b=1", "b=2", "b=3"], "phrasebook", [7])
    assert (full.systems["one"].set, full.systems["one"].config, full.seeds) == (["b=2"], "multi30k/paper", [1, 2])
    assert full.systems["two"].config == "multi30k/small" and experiment.at() == small and not small.sizes
    assert list(full.systems) == ["one", "two", "each"] and full.systems["each"].separately == ["en-de", "de-en"]
    part = experiment.at("part").systems
    assert list(part) == ["one", "each"] and part["each"].separately == ["de-en"] and not part["one"].separately
    with pytest.raises(ConfigError, match="size: no size named 'ful'. Did you mean 'full'\\? Known: cpu, full, part"):
        experiment.at("ful")
    with pytest.raises(ConfigError, match="size: found 'cpu', but this experiment has no `sizes`"):
        small.at("cpu")


def test_the_shared_model_and_the_matched_one_are_as_large_as_what_they_stand_beside() -> None:
    def count(name: str, system: str, size: str = "full") -> int:
        experiment = Experiment.load(name)
        everybody = {key: value.model_copy(update={"only": []}) for key, value in experiment.sizes.items()}
        found = experiment.model_copy(update={"sizes": everybody}).at(size).systems[system]
        config = load_config(found.config, found.set)
        return parameters(config, config.model, {language: config.vocabulary.of(language).size for language in config.languages})

    for kind, size in itertools.product(("many-to-many with copies", "English-centric with copies"), ("cpu", "full")):
        assert count("multi30k_best", f"fully shared, {kind}", size) == pytest.approx(count("multi30k_best", kind, size), rel=TOLERANCE)
    for name in ("manythings_roles", "iwslt14_roles"):
        assert count(name, "matched") == pytest.approx(count(name, "RIL softmax residual"), rel=TOLERANCE)


def test_a_model_for_each_pair_and_their_scores_are_one_system(folder, monkeypatch, capsys) -> None:
    values = {
        "title": "Bilingual",
        "protocol": {"metrics": ["bleu"], "pivot": "en", "search": {"beam": 1}, "resamples": 0},
        "systems": {
            "together": {"config": "phrasebook", "set": [*SMALL, *PHRASEBOOK, "training.steps=2"], "paper": {"en-de": 20.0, "fr-en": 9.0}},
            "bilingual": {
                "config": "phrasebook",
                "separately": ["en-de", "fr-en"],
                "set": [*SMALL, *PHRASEBOOK, "training.steps=2", "languages=[SOURCE, TARGET]", "schedule.pairs=[SOURCE-TARGET]",
                        "schedule.copies=false", "schedule.phases=[]", "validation.bleu_pairs=[SOURCE-TARGET]"],
                "paper": {"en-de": 19.0, "fr-en": 9.0},
            },
        },
    }  # fmt: skip
    train = Training(Program(monkeypatch, capsys))
    results = carry_out(Experiment.model_validate(values), folder / "out", train=train)
    together, bilingual = results.systems
    assert [run.name for run in bilingual.runs] == ["bilingual-en-de-seed1", "bilingual-fr-en-seed1"] and len(train.calls) == 3
    assert list(bilingual.directions) == ["en-de", "fr-en"] and bilingual.matrices[0].languages == ["en", "de", "fr"]
    assert list(map(str, bilingual.matrices[0].trained)) == ["en-de", "fr-en"]
    assert bilingual.parameters == sum(run.parameters for run in bilingual.runs) > 0 and "de-en-fr" in together.directions
    [claim] = (claim for claim in results.claims if claim.direction == "fr-en")
    assert (claim.paper, claim.holds) == (0.0, None)
    save(results, folder / "out")
    page = (folder / "out" / "result.md").read_text(encoding="utf-8")
    assert "| bilingual, en-de | together | -1.00 |" in page and f"- {bilingual.parameters:,} parameters" in page


class Trained:
    """In the place of a member: a name, and what it starts from."""

    def __init__(self, name: str, *starts_from: str) -> None:
        self.name, self.path, self.starts_from = name, Path(name), set(map(Path, starts_from))
        self.is_complete = self.is_begun = False
        self.arguments = [name]

    def complete(self) -> None:
        self.is_complete = True


@pytest.mark.parametrize("parallel", [1, 2, 5])
def test_a_run_waits_for_those_that_it_starts_from_and_no_more_run_than_may(parallel: int) -> None:
    members = [Trained("d", "b"), Trained("a"), Trained("b", "a"), Trained("c"), Trained("e")]
    lock, running, most, ended = threading.Lock(), set(), [], []

    def train(member: Trained, arguments: Sequence[str]) -> None:
        assert all(each.is_complete for each in members if each.path in member.starts_from)
        with lock:
            running.add(arguments[0])
            most.append(len(running))
        time.sleep(0.05)
        with lock:
            running.remove(arguments[0])
            ended.append(arguments[0])

    train_all(members, train, parallel=parallel)
    assert sorted(ended) == list("abcde") and all(member.is_complete for member in members) and max(most) <= parallel
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
    with pytest.raises(ConfigError, match="x, y: each starts from a run that is not trained before it"):
        train_all([Trained("x", "y"), Trained("y", "x")], train, parallel=parallel)


def test_a_system_starts_from_the_run_of_another_of_the_same_seed(tmp_path: Path) -> None:
    members = list(members_of(Experiment.load("manythings_roles").at("full"), tmp_path))
    tuned = [member for member in members if member.system == "RIL onehot residual"]
    given = {member.path: member.config for member in members if member.system == "RIL softmax residual"}
    assert len(tuned) == 5
    for member, path in zip(tuned, given):
        assert member.config.initialize["*"].run == str(path) and member.config.seed == given[path].seed
        assert {option.assignment for side in ("encoder", "decoder") for option in getattr(member.config.model.options, side)} == {"onehot"}


def test_leaving_one_pair_out_leaves_out_each_pair_once(tmp_path: Path) -> None:
    left_out = []
    for member in members_of(Experiment.load("multi30k_leave_one_pair_out").at(), tmp_path):
        trained = set(member.config.pairs)
        every = {LanguagePair(one, other) for one in member.config.languages for other in member.config.languages if one != other}
        left_out += sorted(map(str, every - trained))
    assert len(left_out) == len(set(left_out)) == 12


# By hand -----------------------------------------------------------------------------------------------------------------


def system(name: str, *runs: dict[str, tuple[str, float]], **given: Any) -> SystemResult:
    """A system with a matrix for each run, of the directions' kinds and scores."""

    def matrix_of(scores: dict[str, tuple[str, float]]) -> Matrix:
        cells = {
            LanguagePair.parse(pair): Cell(LanguagePair.parse(pair), kind, {"bleu": Score(value, "s")}, sentences=1)
            for pair, (kind, value) in scores.items()
        }
        texts = {"": ["a"]}
        return dataclasses.replace(matrix(), cells=cells, hypotheses={pair: ["a"] for pair in scores}, texts=texts)

    return SystemResult(name, [matrix_of(run) for run in runs], None, [TrainedRun(name, "polyglot train mine") for _ in runs], {}, **given)


def test_each_system_is_compared_with_the_one_that_it_stands_beside(tmp_path: Path) -> None:
    scores = {"first": 10.0, "control": 11.0, "mine": 13.0, "other": 9.0, "lone": 8.0}
    beside = {"control": "first", "mine": "control", "other": "first"}
    elsewhere = {"mine": {"de-fr": (0.4, "first")}, "other": {"de-fr": (-0.4, "first")}}
    systems = [
        system(name, {"de-fr": ("supervised", score)}, beside=beside.get(name), elsewhere=elsewhere.get(name, {}))
        for name, score in scores.items()
    ]
    less = system("less", {"fr-de": ("supervised", 1.0)}, beside="first")
    results = Results("Beside", "", "systems", [*systems, less])
    assert [list(each.names) for each in results.comparisons] == [["first", "control", "other"], ["control", "mine"]]
    assert results.p("de-fr", less) is None is results.p("fr-de", less)
    found = {claim.system: (claim.beside, claim.paper, claim.ours, claim.holds) for claim in results.claims}
    assert found == {
        "control": ("first", None, 1.0, None),
        "mine": ("control", 0.4, 2.0, None),
        "other": ("first", -0.4, -1.0, True),
    }
    assert results.p("de-fr", systems[2]) == results.tests["mine"].rows["de-fr"]["mine"].p is not None
    save(results, tmp_path)
    assert "| mine, de-fr | control | +0.40 (from first) | +2.00" in (tmp_path / "result.md").read_text(encoding="utf-8")
    assert results.p("de-fr", systems[0]) is None is results.p("de-fr", systems[4])
    assert "control, other from first; mine from control" in results.note


def test_a_papers_difference_is_from_the_nearest_system_that_it_has() -> None:
    experiment = Experiment.model_validate(
        {
            "title": "Differences",
            "config": "phrasebook",
            "systems": {
                "first": {"paper": {"de-en": 20.0, "en-de": 15.0}},
                "control": {},
                "mine": {"beside": "control", "paper": {"de-en": 21.5}},
                "more": {"beside": "mine", "paper": {"de-en": 21.0, "en-de": 16.0}},
            },
        }
    )
    assert [experiment.base_of(name) for name in experiment.systems] == [None, "first", "control", "mine"]
    assert [experiment.papers_differences(name) for name in experiment.systems] == [
        {},
        {},
        {"de-en": (1.5, "first")},
        {"de-en": (-0.5, "mine"), "en-de": (1.0, "first")},
    ]


def test_what_is_left_out_stands_beside_mean_and_deviation_of_those_that_saw_it(tmp_path: Path) -> None:
    one = system("without de-fr", {"de-fr": ("zero-shot", 10.0), "fr-de": ("supervised", 30.0)})
    other = system("without fr-de", {"de-fr": ("supervised", 20.0), "fr-de": ("zero-shot", 12.0)})
    third = system("all", {"de-fr": ("supervised", 22.0), "fr-de": ("supervised", 32.0)})
    results = Results("Left out", "", "left_out", [one, other, third])
    assert list(results.left_out()) == [
        (LanguagePair("de", "fr"), 10.0, Spread(21.0, pytest.approx(2**0.5), 2)),
        (LanguagePair("fr", "de"), 12.0, Spread(31.0, pytest.approx(2**0.5), 2)),
    ]
    groups, (unseen, seen) = bars_of(results)
    assert groups == ["de-fr", "fr-de"] and [height.mean for height in unseen.heights] == [10.0, 12.0]
    assert [height.shown() for height in seen.heights] == ["21.00 ± 1.41", "31.00 ± 1.41"]
    assert figure_png(results).startswith(b"\x89PNG")
    alone = system("without cs-en", {"cs-en": ("zero-shot", 5.0)})
    save(dataclasses.replace(results, systems=[*results.systems, alone]), tmp_path)
    page = (tmp_path / "result.md").read_text(encoding="utf-8")
    assert "| de-fr | 10.00† | 21.00 ± 1.41 | -11.00 |" in page and "| cs-en | 5.00† | – |  |" in page
    left_out = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["left_out"]
    assert left_out["fr-de"]["zero-shot"] == 12.0 and left_out["cs-en"]["supervised"] is None


def test_goals_are_judged_by_the_means_of_the_seeds_and_not_where_there_are_no_scores(tmp_path: Path) -> None:
    table = Reference.load("attention_bridge_english_centric_with_copies")
    paper = table.model_copy(update={"scores": {"en-de": 30.0, "de-en": 20.0, "de-fr": 4.0, "fr-de": 12.5}})
    runs = [
        {"en-de": ("supervised", first), "de-en": ("supervised", 20.998), "de-fr": ("zero-shot", 10.0), "fr-de": ("zero-shot", 12.0)}
        for first in (29.0, 33.0)
    ]
    one, bare = dataclasses.replace(system("mine", *runs), reference=paper), system("bare", {"en-de": ("supervised", 9.0)})
    through = LanguagePair("de", "fr")
    two_hops = [{through: Cell(through, "pivot", {"bleu": Score(score, "s")}, via="en", sentences=1)} for score in (13.0, 14.0)]
    said = {**one.matrices[0].hypotheses, "de-en-fr": ["a"]}
    both = [dataclasses.replace(run, pivots=own, hypotheses=said) for run, own in zip(one.matrices, two_hops)]
    one = dataclasses.replace(one, matrices=both)
    goals = [
        ("supervised", {"at_least": 26.0}, "26.00", True),
        ("zero-shot", {"at_least": 11.1}, "11.00", False),
        ("supervised", {"above_paper": 1.0}, "+1.00", True),
        ("supervised", {"above_paper": 1.01}, "+1.00", False),
        ("supervised", {"each_above_paper": True}, "2 of 2", True),
        ("zero-shot", {"each_above_paper": True}, "1 of 2", False),
        ("de-en", {"at_least": 21.0}, "21.00", True),
        ("zero-shot", {"behind_pivot": 4.0}, "-3.50", True),
        ("zero-shot", {"behind_pivot": 3.0}, "-3.50", False),
        ("en-de", {"at_least": 31.5}, "31.00", False),
    ]
    named = [Goal(system="mine", scores=scores, **aim) for scores, aim, _, _ in goals]
    nothing = [
        Goal(system="bare", scores="zero-shot", at_least=0.0),
        Goal(system="mine", scores="supervised", behind_pivot=1.0),
        Goal(system="left out", scores="en-de", at_least=1.0),
    ]
    results = Results("Goals", "", "systems", [one, bare], goals=[*named, *nothing])
    judged = [(outcome.found, outcome.reached) for outcome in results.outcomes]
    assert judged == [(found, reached) for _, _, found, reached in goals] + [("–", None)] * 3
    save(results, tmp_path)
    page, numbers = ((tmp_path / name).read_text(encoding="utf-8") for name in ("result.md", "result.json"))
    assert "| mine, zero-shot: at most 3 behind two hops | -3.50 | no |" in page
    assert "| left out, en-de: at least 1 | – | – |" in page
    assert "| mine, supervised | 26.00 | 25.00 | +1.00 | 2 |" in page and "| mine, zero-shot | 11.00 | 8.25 | +2.75 | 2 |" in page
    assert "| mine | 26.00 ± 1.41 (2 directions) |" in page and "| bare | 9.00 (1 direction) |" in page
    assert "| de-fr | 10.00 ± 0.00† | 13.50 ± 0.71‡ | -3.50 |" in page
    assert json.loads(numbers)["goals"][0] == {"goal": "mine, supervised: at least 26", "found": "26.00", "reached": True}


def test_the_spread_of_seeds_is_that_of_their_means() -> None:
    two = system(
        "two", {"de-fr": ("zero-shot", 10.0), "fr-de": ("zero-shot", 20.0)}, {"de-fr": ("zero-shot", 12.0), "fr-de": ("zero-shot", 30.0)}
    )
    assert two.spread("de-fr", Measure("bleu")).shown() == "11.00 ± 1.41"
    assert two.kinds(Measure("bleu")) == {"zero-shot": Spread(18.0, pytest.approx(18**0.5), 2)}
    assert two.kinds(Measure("bleu"))["zero-shot"].values == (15.0, 21.0)


def test_every_seed_counts_in_what_is_tested() -> None:
    pair = LanguagePair("de", "fr")

    def seeds(*lines: str) -> list[Matrix]:
        scores = {"bleu": Score(1.0, "s")}
        direct, hops = (Cell(pair, kind, scores, sentences=1, via=via) for kind, via in (("zero-shot", None), ("pivot", "en")))
        one = dataclasses.replace(matrix(), cells={pair: direct}, pivots={pair: hops}, texts={"": ["a b c d e"]})
        return [dataclasses.replace(one, hypotheses={"de-fr": [line], "de-en-fr": ["a b c d e"]}) for line in lines]

    first = dataclasses.replace(system("first", {}), matrices=seeds("a b c d e", "a b c d e"))
    mine = dataclasses.replace(system("mine", {}, beside="first"), matrices=seeds("a b c d e", "a b c d"))
    results = Results("Tested", "", "systems", [first, mine])
    assert results.p("de-fr", mine) < 1, "the first seeds are alike, the second ones differ"
    assert results.hops["first"] == {pair: 1.0} and results.hops["mine"][pair] < 1


def test_the_page_says_that_it_is_means_over_seeds_that_are_tested(tmp_path: Path) -> None:
    scores = {"de-fr": ("zero-shot", 10.0)}
    for runs, said in ((1, False), (2, True)):
        systems = [system("first", *[scores] * runs), system("mine", scores, beside="first")]
        save(Results("Tested", "", "systems", systems), tmp_path)
        page = (tmp_path / "result.md").read_text(encoding="utf-8")
        assert "differs from first with p < 0.05" in page and ("of means over the seeds" in page) == said


def test_parameters_are_those_of_one_seed_and_of_every_part_of_it() -> None:
    run = TrainedRun("mine", "polyglot train mine", parameters=7)
    two = system("two", {"de-fr": ("zero-shot", 10.0)}, {"de-fr": ("zero-shot", 12.0)})
    assert dataclasses.replace(two, runs=[run, run]).parameters == 7
    assert dataclasses.replace(two, runs=[run] * 4).parameters == 14, "two models for each seed"


def test_a_direction_that_one_seed_lacks_is_said_to_have_no_score(tmp_path: Path) -> None:
    two = system("two", {"de-fr": ("zero-shot", 10.0), "fr-de": ("zero-shot", 20.0)}, {"de-fr": ("zero-shot", 12.0)})
    pair = LanguagePair("fr", "de")
    missing = dataclasses.replace(two.matrices[1], cells={**two.matrices[1].cells, pair: Cell(pair, "zero-shot", reason="no text")})
    save(Results("Missing", "", "systems", [dataclasses.replace(two, matrices=[two.matrices[0], missing])]), tmp_path)
    page = (tmp_path / "result.md").read_text(encoding="utf-8")
    assert "## Without a score" in page and "no text" in page and "In brackets the same of the references; of the first seed of each." in page


def test_bars_are_of_zero_shot_pairs_where_there_are_some_one_series_for_each_system() -> None:
    one = system("one", {"de-fr": ("zero-shot", 10.0), "en-de": ("supervised", 30.0)})
    other = system("other", {"de-fr": ("supervised", 20.0), "en-de": ("supervised", 31.0)})
    groups, bars = bars_of(Results("Bars", "", "systems", [one, other]))
    assert groups == ["de-fr"] and [(each.name, each.heights[0].mean) for each in bars] == [("one", 10.0), ("other", 20.0)]
    groups, bars = bars_of(Results("Bars", "", "systems", [other]))
    assert groups == ["de-fr", "en-de"] and [height.mean for height in bars[0].heights] == [20.0, 31.0]


def test_words_of_a_setting_are_filled_in_once_and_whole() -> None:
    words = {"SEED": "3", "RUNS": "my/SOURCE/runs", "SOURCE": "en", "TARGET": "de"}
    assert filled("initialize={'*': RUNS/softmax-seedSEED}", words) == "initialize={'*': my/SOURCE/runs/softmax-seed3}"
    assert filled("schedule.pairs=[SOURCE-TARGET]", words) == "schedule.pairs=[en-de]"
    assert filled("data.folder=/data/RESOURCES", words) == "data.folder=/data/RESOURCES"


def test_runs_of_one_name_have_folders_of_their_own(folder, monkeypatch, capsys) -> None:
    assert Program(monkeypatch, capsys)("train", "mine.yaml").status == 0
    Path("other").mkdir()
    shutil.copytree("runs/mine", "other/mine")
    experiment = Experiment.model_validate({"title": "Taken", "systems": {"a": {"run": ["runs/mine", "other/mine"]}, "b": {"run": "runs/mine"}}})
    assert [member.name for member in members_of(experiment, folder)] == ["a-mine-1", "a-mine-2", "b-mine"]


def test_names_of_systems_and_runs_stay_text_on_the_page(tmp_path: Path) -> None:
    odd = system(ODD, {"de-fr": ("zero-shot", 10.0)}, {"de-fr": ("zero-shot", 12.0)})
    plain = system("plain", {"de-fr": ("zero-shot", 9.0)}, beside=ODD)
    runs = [dataclasses.replace(each, checkpoint={"run": ODD, "checkpoint": "best"}) for each in odd.runs]
    reference = Reference.load("attention_bridge_english_centric_with_copies")
    odd = dataclasses.replace(odd, runs=runs, reference=reference, settings={"a|b": '"`c`"'})
    save(Results(ODD, ODD, "systems", [odd, plain]), tmp_path)
    page = (tmp_path / "result.md").read_text(encoding="utf-8")
    shown = texts(page)
    assert shown[:2] == [ODD, ODD]
    assert shown.count(ODD) == 6, "title, question, means, directions, differences, how it was made"
    assert f"{ODD}, the paper" in shown and f"{ODD}, zero-shot" in shown and '"`c`"' in shown
    assert any(one.startswith(f"* differs from {ODD} with p < 0.05 (paired bootstrap, BLEU|") for one in shown)
    assert any(one.startswith(f"{ODD} stands beside ") for one in shown) and any(one.startswith(f"{ODD}: best checkpoint") for one in shown)
    assert "A number over several seeds is mean ± standard deviation." in shown
    assert not {"html_inline", "html_block", "em_open", "link_open"} & marks(page)
