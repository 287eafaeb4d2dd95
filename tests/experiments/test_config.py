"""What the file of an experiment says: every shipped one can be begun, and mistakes are found before anything is trained."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import shutil
from pathlib import Path

import pytest

from polyglot.config.loading import load_config
from polyglot.core import presets
from polyglot.core.errors import ConfigError, DataError
from polyglot.data.corpora import Corpora
from polyglot.experiments import Experiment, carry_out
from polyglot.experiments.runner import protocol_of
from polyglot.experiments.runs import check_test, filled, members_of
from polyglot.tasks.pairs import LanguagePair, match_pairs
from polyglot.training.parameter_matching import TOLERANCE, count_model_parameters
from tests.builders.command_line import Program
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("systems: {a: {}}", "systems.a: one of `config`, `run` and `ensemble`"),
        (
            "systems: {a: {config: mine.yaml, beside: b}}",
            "systems.a.beside: no system named 'b'. Known: a",
        ),
        (
            "config: mine.yaml\nsystems: {a: {beside: b}, b: {}}",
            "systems.a.beside: comes back to 'a'",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {beside: c}, c: {beside: b}}",
            "systems.b.beside: comes back to 'b'",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nprotocol: {metrics: [ter]}\ngoals: [{system: a, scores: en-de, at_least: 50}]",
            "goals: the page leads with TER, where lower is better; name bleu in the protocol's `metrics`, or chrf first",
        ),
        ("systems: {a: {config: mine.yaml, separately: [ende]}}", "systems.a.separately: 'ende'"),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {cpu: {systems: {b: []}}}",
            "sizes.cpu.systems: no system to be trained named 'b'. Known: a",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {cpu: {only: [a, b]}}",
            "sizes.cpu.only: no system named 'b'. Known: a",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {cpu: {only: [b]}}",
            "sizes.cpu.only: no system named 'b'. Known: a",
        ),
        (
            "systems: {a: {config: mine.yaml, separately: [en-de]}}\nsizes: {cpu: {separately: [de-en]}}",
            "sizes.cpu.separately: no pair with a model of its own named 'de-en'. Known: en-de",
        ),
        (
            "config: mine.yaml\nsystems: {a: {separately: [en-de]}, b: {separately: [de-en]}}\nsizes: {cpu: {separately: [de-en]}}",
            "sizes.cpu.separately: leaves nothing of 'a', which has en-de",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {}}\nsizes: {cpu: {only: [b]}}",
            "sizes.cpu.only: leaves out 'a', the first",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {}, c: {beside: b}}\nsizes: {cpu: {only: [a, c]}}",
            "sizes.cpu.only: 'c' is shown beside 'b', which it leaves out; name both or neither",
        ),
        (
            "systems: {a: {}}\nsizes: {cpu: {config: mine.yaml}, full: {}}",
            "systems.a: one of `config`, `run` and `ensemble`",
        ),
        (
            "systems: {a: {config: mine.yaml, run: runs/x}}",
            "systems.a: one of `config`, `run` and `ensemble`",
        ),
        ("systems: {a: {run: runs/x}}", "systems.a.run: runs/x: no run directory"),
        (
            "systems: {a: {run: runs/x, seeds: [1]}}",
            "systems.a: `set`, `seeds` and `separately` are for a `config`; a `run` or",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: c}}",
            "systems.b.ensemble: no system named 'c'. Known: a",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: b}}",
            "systems.b.ensemble: 'b' is an ensemble itself; name the systems",
        ),
        (
            "config: mine.yaml\nsystems: {a: {separately: [en-de]}, b: {ensemble: a}}",
            "systems.b.ensemble: 'a' has a model for each pair (`separately`); name a system",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: a, config: mine.yaml}}",
            "systems.b: one of `config`, `run` and `ensemble`",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: a, seeds: [2]}}",
            "systems.b: `set`, `seeds` and `separately` are for a `config`",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: [a, a]}}",
            "systems.b.ensemble: a named twice",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: a}}",
            "systems.b.ensemble: has one run alone, a-seed1; name another seed or system",
        ),
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
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {cpu: {only: []}}",
            "sizes.cpu.only: names nothing",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {../cpu: {}}",
            "sizes: '../cpu' will be the name of a folder; use letters",
        ),
        (
            "systems: {a: {config: mine.yaml, set: [seed=7]}}",
            "systems.a.set: seed=7: the experiment itself says seed of every run; leave it out",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {cpu: {systems: {a: [run=x]}}}",
            "run=x: the experiment itself says run of every run",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {paper: {en-de: 3}}}",
            "systems.b.paper: en-de: no score of 'a' to put it beside",
        ),
        (
            "systems: {a: {config: mine.yaml, paper: {en-it: 3}}}",
            "systems.a.paper: en-it: 'a' has no language it",
        ),
        (
            "systems: {a: {config: mine.yaml}}\ngoals: [{system: a, scores: de-it, at_least: 1}]",
            "goals.0.scores: de-it: 'a' has no language it",
        ),
        (
            "systems: {a: {config: mine.yaml, separately: [en-de]}}",
            "systems.a.separately: en-de: it trains ",
        ),
        (
            "systems: {a: {config: mine.yaml, set: ['initialize={\"*\": RUNS/b-seedSEED}']}}",
            "runs/b-seed1, which is not there and is trained by no system before it",
        ),
        (
            "systems: {a: {config: mine.yaml, set: ['initialize={\"*\": RUNS/a-seed1}']}}",
            "runs/a-seed1, which is not there and is trained by no system before it",
        ),
        (
            "systems: {a: {config: mine.yaml, set: [data.folder=nowhere, 'data.train=[{type: text, path: \"train.{language}\"}]']}}",
            "nowhere",
        ),
        (
            "systems: {a: {run: [runs/x, runs/x]}}",
            "systems.a.run: runs/x named twice; each counts once",
        ),
        (
            "systems: {a: {config: mine.yaml, separately: [en-de, de-en, en-de]}}",
            "systems.a.separately: en-de named twice",
        ),
        ("systems: {a: {config: mine.yaml, seeds: [3, 3]}}", "systems.a.seeds: 3 named twice"),
        ("systems: {a: {config: mine.yaml}}\nseeds: [1, 1]", "seeds: 1 named twice"),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {cpu: {seeds: [1, 1]}}",
            "sizes.cpu.seeds: 1 named twice",
        ),
        (
            "systems: {a: {config: mine.yaml, set: [model.encodr=1]}}",
            "model.encodr: no key named 'encodr'",
        ),
        (
            "systems: {a b: {config: mine.yaml}, a-b: {config: mine.yaml}}",
            "'a b' and 'a-b' are the same folder, a-b; use other letters",
        ),
        (
            f"systems: {{{'ä' * 101}: {{config: mine.yaml}}}}",
            "makes a folder name of 202 bytes; use at most 200",
        ),
        ("systems: {'!': {config: mine.yaml}}", "'!' makes no folder name; use letters or digits"),
        ("systems: {a: {config: mine.yaml, reference: nobody}}", "no reference named 'nobody'"),
        (
            "systems: {a: {config: mine.yaml}}\nprotocol: quik",
            "no evaluation protocol named 'quik'",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nprotocol: {test_sets: {one: [phrasebook]}}",
            "an experiment has one test set",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nprotocol: {pivt: en}",
            "protocol.pivt: no key named 'pivt'. Did you mean 'pivot'?",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nprotocol: {pivot: it}",
            "a-seed1: protocol.pivot: target language: no decoder named 'it'",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nprotocol: {pairs: [de-it]}",
            "pairs: target language: no decoder named 'it'",
        ),
        (
            "systems: {a: {config: mine.yaml, set: ['data.test=[]']}}",
            "a-seed1: data.test names no corpus",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nprotocol: {test: [{type: text, path: 'no.{language}'}]}",
            "no.{language}: nothing for any of en, de, fr",
        ),
        (
            "systems: {a: {config: mine.yaml}}\ncheckpoint: bst",
            "checkpoint: found 'bst'; write best, last, a step, or average:N",
        ),
        (
            "systems: {a: {config: mine.yaml}}\ngoals: [{system: b, scores: en-de, at_least: 1}]",
            "goals.0.system: no system named 'b'. Known: a",
        ),
        (
            "systems: {a: {config: mine.yaml}}\ngoals: [{system: a, scores: all, at_least: 1}]",
            "found 'all'; write supervised, zero-shot or a direction such as en-de",
        ),
        (
            "systems: {a: {config: mine.yaml}}\ngoals: [{system: a, scores: en-de}]",
            "found none of at_least, above_paper, each_above_paper",
        ),
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
def test_mistakes_are_sentences_before_anything_is_trained(
    text: str, sentence: str, folder: Path, monkeypatch, capsys
) -> None:
    (folder / "wrong.yaml").write_text(f"title: Wrong\n{text}\n")
    with pytest.raises((ConfigError, DataError)) as caught:
        carry_out(
            Experiment.load("wrong.yaml"),
            folder / "out",
            train=lambda *given: pytest.fail("trained"),
        )
    assert sentence in str(caught.value)
    assert isinstance(caught.value, DataError) or str(caught.value).startswith("wrong.yaml: ")
    assert sentence in " ".join(
        Program(monkeypatch, capsys).refuses("experiment", "wrong.yaml", "--dry-run").split()
    )


def test_what_is_wrong_with_the_configuration_of_several_runs_is_said_once(folder: Path) -> None:
    (folder / "wrong.yaml").write_text(
        "{title: Wrong, config: gone.yaml, seeds: [1, 2], systems: {a: {}, b: {set: [model.bridge=none]}}}"
    )
    with pytest.raises(
        ConfigError,
        match="(?s)^wrong.yaml: 1 problem\n  systems.a, b: gone.yaml: neither a file nor shipped",
    ):
        list(members_of(Experiment.load("wrong.yaml").at(), folder))


def test_a_folder_that_is_something_else_is_refused(folder, monkeypatch, capsys) -> None:
    program = Program(monkeypatch, capsys)
    assert "--folder: mine.yaml is a file" in program.refuses(
        "experiment", "experiment.yaml", "--folder", "mine.yaml", "--dry-run"
    )
    assert program("train", "mine.yaml").status == 0
    assert "--folder: runs/mine is a run" in program.refuses(
        "experiment", "experiment.yaml", "--folder", "runs/mine", "--dry-run"
    )


SIZED = [
    (name, size)
    for name in presets.names("evaluation/experiments")
    for size in Experiment.load(name).sizes or [None]
]


@pytest.mark.parametrize(("name", "size"), SIZED)
def test_every_shipped_experiment_can_be_begun_in_every_size(
    name: str, size: str | None, tmp_path: Path
) -> None:
    experiment = Experiment.load(name).at(size)
    members = list(members_of(experiment, tmp_path))
    assert len({member.path for member in members}) == len(members)
    after = set()
    for member in members:
        config = member.config
        assert member.starts_from <= after, "what it starts from comes before it"
        after.add(member.path)
        if average := re.fullmatch(r"average:(\d+)", experiment.checkpoint):
            assert (
                config.training.checkpoint.keep
                >= int(average[1])
                <= config.training.steps // config.training.checkpoint.every
            )
        if config.validation.best_by == "bleu":
            assert set(match_pairs(config.validation.bleu_pairs, config.languages)) <= set(
                config.pairs
            ), "zero-shot pairs have no say"
        sizes = {language: config.vocabulary.for_language(language).size for language in config.languages}
        assert (
            member.seed != members[0].seed or 1e6 < count_model_parameters(config, config.model, sizes) < 1.5e8
        )


@pytest.mark.parametrize(("name", "size"), SIZED)
def test_a_dry_run_of_every_shipped_experiment_finds_nothing_wrong(
    name: str, size: str | None, tmp_path: Path, monkeypatch, capsys
) -> None:
    """As a user calls it, with a line in the place of each text that it names."""
    monkeypatch.chdir(tmp_path)
    experiment = Experiment.load(name).at(size)
    files = set()
    for config in (member.config for member in members_of(experiment, tmp_path)):
        data = config.data
        for corpus in (
            one
            for one in [*data.train, *data.valid, *data.test, *experiment.protocol.test]
            if one.type == "text"
        ):
            named = [path for paths in (corpus.pairs or {}).values() for path in paths]
            named = named or [
                corpus.path.replace("{language}", language) for language in config.languages
            ]
            files |= {Path(data.folder, path) for path in named}
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(b"a line\n") if path.suffix == ".gz" else b"a line\n")
    planned = Program(monkeypatch, capsys)(
        "experiment", name, *(["--size", size] if size else []), "--dry-run"
    )
    assert planned.status == 0, planned.errors
    trained = sum(not system.trains_nothing for system in experiment.systems.values())
    assert (
        planned.output.count("polyglot train ") >= trained > 0 and not Path("experiments").exists()
    )


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
        if config.data.train[0].type != "phrasebook" and not any(
            Path(config.data.folder).glob("train.*")
        ):
            pytest.skip(f"the text of {config.data.folder} is not here")
        check_test(member, protocol_of(member.system, experiment), where=name)
        for given in (config.data.train, config.data.valid):
            Corpora(given, folder=Path(config.data.folder), languages=config.languages).check_any(
                config.pairs
            )


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
    assert (small.systems["one"].set, small.systems["one"].config, small.seeds) == (
        ["a=1", "b=1", "b=2", "b=3"],
        "phrasebook",
        [7],
    )
    assert (full.systems["one"].set, full.systems["one"].config, full.seeds) == (
        ["b=2"],
        "multi30k/paper",
        [1, 2],
    )
    assert (
        full.systems["two"].config == "multi30k/small"
        and experiment.at() == small
        and not small.sizes
    )
    assert list(full.systems) == ["one", "two", "each"] and full.systems["each"].separately == [
        "en-de",
        "de-en",
    ]
    part = experiment.at("part").systems
    assert (
        list(part) == ["one", "each"]
        and part["each"].separately == ["de-en"]
        and not part["one"].separately
    )
    with pytest.raises(
        ConfigError,
        match="size: no size named 'ful'. Did you mean 'full'\\? Known: cpu, full, part",
    ):
        experiment.at("ful")
    with pytest.raises(ConfigError, match="size: found 'cpu', but this experiment has no `sizes`"):
        small.at("cpu")


def test_the_shared_model_and_the_matched_one_are_as_large_as_what_they_stand_beside() -> None:
    def count(name: str, system: str, size: str = "full") -> int:
        experiment = Experiment.load(name)
        everybody = {
            key: value.model_copy(update={"only": []}) for key, value in experiment.sizes.items()
        }
        found = experiment.model_copy(update={"sizes": everybody}).at(size).systems[system]
        config = load_config(found.config, found.set)
        return count_model_parameters(
            config,
            config.model,
            {language: config.vocabulary.for_language(language).size for language in config.languages},
        )

    for kind, size in itertools.product(
        ("many-to-many with copies", "English-centric with copies"), ("cpu", "full")
    ):
        assert count("multi30k_best", f"fully shared, {kind}", size) == pytest.approx(
            count("multi30k_best", kind, size), rel=TOLERANCE
        )
    for name in ("manythings_roles", "iwslt14_roles"):
        assert count(name, "matched") == pytest.approx(
            count(name, "RIL softmax residual"), rel=TOLERANCE
        )


def test_a_system_starts_from_the_run_of_another_of_the_same_seed(tmp_path: Path) -> None:
    members = list(members_of(Experiment.load("manythings_roles").at("full"), tmp_path))
    tuned = [member for member in members if member.system == "RIL onehot residual"]
    given = {
        member.path: member.config for member in members if member.system == "RIL softmax residual"
    }
    assert len(tuned) == 5
    for member, path in zip(tuned, given):
        assert (
            member.config.initialize["*"].run == str(path)
            and member.config.seed == given[path].seed
        )
        assert {
            option.assignment
            for side in ("encoder", "decoder")
            for option in getattr(member.config.model.options, side)
        } == {"onehot"}


def test_leaving_one_pair_out_leaves_out_each_pair_once(tmp_path: Path) -> None:
    left_out = []
    for member in members_of(Experiment.load("multi30k_leave_one_pair_out").at(), tmp_path):
        trained = set(member.config.pairs)
        every = {
            LanguagePair(one, other)
            for one in member.config.languages
            for other in member.config.languages
            if one != other
        }
        left_out += sorted(map(str, every - trained))
    assert len(left_out) == len(set(left_out)) == 12


def test_words_of_a_setting_are_filled_in_once_and_whole() -> None:
    words = {"SEED": "3", "RUNS": "my/SOURCE/runs", "SOURCE": "en", "TARGET": "de"}
    assert (
        filled("initialize={'*': RUNS/softmax-seedSEED}", words)
        == "initialize={'*': my/SOURCE/runs/softmax-seed3}"
    )
    assert filled("schedule.pairs=[SOURCE-TARGET]", words) == "schedule.pairs=[en-de]"
    assert filled("data.folder=/data/RESOURCES", words) == "data.folder=/data/RESOURCES"


def test_runs_of_one_name_have_folders_of_their_own(folder, monkeypatch, capsys) -> None:
    assert Program(monkeypatch, capsys)("train", "mine.yaml").status == 0
    Path("other").mkdir()
    shutil.copytree("runs/mine", "other/mine")
    experiment = Experiment.model_validate(
        {
            "title": "Taken",
            "systems": {"a": {"run": ["runs/mine", "other/mine"]}, "b": {"run": "runs/mine"}},
        }
    )
    assert [member.name for member in members_of(experiment, folder)] == [
        "a-mine-1",
        "a-mine-2",
        "b-mine",
    ]
