"""Experiment files: every preset can be run, and mistakes are reported before training."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from polyglot.config.loading import load_config
from polyglot.config.schema import Config
from polyglot.core import presets
from polyglot.core.errors import ConfigError, DataError
from polyglot.data.corpora import Corpora
from polyglot.experiments import Experiment, run_experiment
from polyglot.experiments.checks import check_test_text
from polyglot.experiments.runner import protocol_of
from polyglot.experiments.runs import ExperimentRun, experiment_runs, fill_placeholders
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair, match_pairs
from polyglot.training.parameter_matching import TOLERANCE, count_model_parameters
from tests.builders.command_line import Program
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("systems: {a: {}}", "systems.a: set one of `config`, `run` and `ensemble`"),
        (
            "systems: {a: {config: mine.yaml, beside: b}}",
            "systems.a.beside: no system named 'b'. Known: a",
        ),
        (
            "config: mine.yaml\nsystems: {a: {beside: b}, b: {}}",
            "systems.a.beside: leads back to 'a'",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {beside: c}, c: {beside: b}}",
            "systems.b.beside: leads back to 'b'",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nprotocol: {metrics: [ter]}\n"
            "goals: [{system: a, scores: en-de, at_least: 50}]",
            "goals: the main metric is TER, where lower is better; name bleu in the "
            "protocol's `metrics`, or chrf first",
        ),
        ("systems: {a: {config: mine.yaml, separately: [ende]}}", "systems.a.separately: 'ende'"),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {cpu: {systems: {b: []}}}",
            "sizes.cpu.systems: no trained system named 'b'. Known: a",
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
            "systems: {a: {config: mine.yaml, separately: [en-de]}}\n"
            "sizes: {cpu: {separately: [de-en]}}",
            "sizes.cpu.separately: no pair with a separate model named 'de-en'. Known: en-de",
        ),
        (
            "config: mine.yaml\nsystems: {a: {separately: [en-de]}, b: {separately: "
            "[de-en]}}\nsizes: {cpu: {separately: [de-en]}}",
            "sizes.cpu.separately: no pair is left of 'a', which has en-de",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {}}\nsizes: {cpu: {only: [b]}}",
            "sizes.cpu.only: lacks the first system, 'a'",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {}, c: {beside: b}}\n"
            "sizes: {cpu: {only: [a, c]}}",
            "sizes.cpu.only: 'c' is compared with 'b', which is missing; name both or neither",
        ),
        (
            "systems: {a: {}}\nsizes: {cpu: {config: mine.yaml}, full: {}}",
            "systems.a: set one of `config`, `run` and `ensemble`",
        ),
        (
            "systems: {a: {config: mine.yaml, run: runs/x}}",
            "systems.a: found config and run; set only one of `config`, `run` and `ensemble`",
        ),
        ("systems: {a: {run: runs/x}}", "systems.a.run: runs/x: no run directory"),
        (
            "systems: {a: {run: runs/x, seeds: [1]}}",
            "systems.a: `set`, `seeds` and `separately` need a `config`; a `run` or",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: c}}",
            "systems.b.ensemble: no system named 'c'. Known: a",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: b}}",
            "systems.b.ensemble: 'b' is itself an ensemble; name the systems",
        ),
        (
            "config: mine.yaml\nsystems: {a: {separately: [en-de]}, b: {ensemble: a}}",
            "systems.b.ensemble: 'a' has one model per pair (`separately`); name a system",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: a, config: mine.yaml}}",
            "systems.b: found config and ensemble; set only one of `config`, `run` and `ensemble`",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: a, seeds: [2]}}",
            "systems.b: `set`, `seeds` and `separately` need a `config`",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: [a, a]}}",
            "systems.b.ensemble: a named twice",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {ensemble: a}}",
            "systems.b.ensemble: has only one run, a-seed1; add a seed or a system",
        ),
        (
            "config: mine.yaml\nseeds: [1, 2]\nsystems: {a: {}, b: {ensemble: a}}\n"
            "goals: [{system: b, scores: de-it, at_least: 1}]",
            "goals.0.scores: de-it: 'b' has no language it",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, c: {set: ['schedule={base: bilingual, "
            "pairs: [en-de]}', 'validation.bleu_pairs=[]', "
            "validation.best_by=loss]}, b: {ensemble: [a, c]}}",
            "systems.b.ensemble: a-seed1 and c-seed1 are trained on different pairs "
            "(de-en, en-fr, fr-en)",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, c: {set: "
            "[vocabulary.languages.de.size=50]}, b: {ensemble: [a, c]}}",
            "systems.b.ensemble: its runs have different vocabularies of de, so that "
            "they cannot translate together; give them the same settings",
        ),
        (
            "config: mine.yaml\nfigure: left_out\nseeds: [1, 2]\n"
            "systems: {a: {}, b: {ensemble: a}}",
            "systems.b.ensemble: `figure: left_out` compares models with and without a "
            "direction; it cannot show ensembles",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, c: {}, b: {ensemble: [a, c]}}\n"
            "sizes: {cpu: {only: [a, b]}}",
            "sizes.cpu.only: the ensemble 'b' needs 'c', which is missing; name all or none",
        ),
        (
            "config: mine.yaml\nseeds: [1, 2]\nsystems: {a: {}, b: {ensemble: a}}\n"
            "sizes: {cpu: {systems: {b: []}}}",
            "sizes.cpu.systems: no trained system named 'b'. Known: a",
        ),
        (
            "systems: {a: {run: []}}",
            "systems.a.run: found an empty list; name at least one, or leave the key out",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {cpu: {only: []}}",
            "sizes.cpu.only: found an empty list",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {../cpu: {}}",
            "sizes: '../cpu' cannot be the name of a folder; use letters",
        ),
        (
            "systems: {a: {config: mine.yaml, set: [seed=7]}}",
            "systems.a.set: seed=7: the experiment sets seed of every run itself; leave it out",
        ),
        (
            "systems: {a: {config: mine.yaml}}\nsizes: {cpu: {systems: {a: [run=x]}}}",
            "run=x: the experiment sets run of every run itself",
        ),
        (
            "config: mine.yaml\nsystems: {a: {}, b: {paper: {en-de: 3}}}",
            "systems.b.paper: en-de: 'a' has no score of the paper to compare with",
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
            "systems.a.separately: en-de: the model trains ",
        ),
        (
            "systems: {a: {config: mine.yaml, set: ['initialize={\"*\": RUNS/b-seedSEED}']}}",
            "runs/b-seed1, which does not exist and is not trained before it",
        ),
        (
            "systems: {a: {config: mine.yaml, set: ['initialize={\"*\": RUNS/a-seed1}']}}",
            "runs/a-seed1, which does not exist and is not trained before it",
        ),
        (
            "systems: {a: {config: mine.yaml, set: [data.folder=nowhere, "
            "'data.train=[{type: text, path: \"train.{language}\"}]']}}",
            "nowhere",
        ),
        (
            "systems: {a: {run: [runs/x, runs/x]}}",
            "systems.a.run: runs/x named twice; name each only once",
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
            "'a b' and 'a-b' have the same folder, a-b; use other letters",
        ),
        (
            f"systems: {{{'ä' * 101}: {{config: mine.yaml}}}}",
            "gives a folder name of 202 bytes; use at most 200",
        ),
        (
            "systems: {'!': {config: mine.yaml}}",
            "'!' has no letters for a folder name; use letters or digits",
        ),
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
            "systems: {a: {config: mine.yaml}}\n"
            "protocol: {test: [{type: text, path: 'no.{language}'}]}",
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
            "systems: {a: {config: mine.yaml}}\n"
            "goals: [{system: a, scores: en-de, at_least: 1, behind_pivot: 2}]",
            "found at_least, behind_pivot of at_least, above_paper, each_above_paper, "
            "behind_pivot; set exactly one",
        ),
        (
            "systems: {a: {config: mine.yaml}}\n"
            "goals: [{system: a, scores: en-de, above_paper: 1}]",
            "goals.0: 'a' has no `reference` to compare with",
        ),
        (
            "systems: {a: {config: mine.yaml}}\n"
            "goals: [{system: a, scores: en-de, behind_pivot: 1}]",
            "goals.0.behind_pivot: the protocol has no `pivot`",
        ),
        ("systems: {}", "systems: found {}"),
    ],
)
def test_mistakes_are_reported_before_training(
    text: str, sentence: str, folder: Path, monkeypatch, capsys
) -> None:
    (folder / "wrong.yaml").write_text(f"title: Wrong\n{text}\n")
    with pytest.raises((ConfigError, DataError)) as error_info:
        run_experiment(
            Experiment.load("wrong.yaml"),
            folder / "out",
            train=lambda run, arguments: pytest.fail("trained"),
        )
    message = str(error_info.value)
    assert sentence in message
    assert isinstance(error_info.value, DataError) or message.startswith("wrong.yaml: ")
    program = Program(monkeypatch, capsys)
    printed = program.refuses("experiment", "wrong.yaml", "--dry-run")
    assert sentence in " ".join(printed.split())


def test_a_problem_of_several_runs_is_reported_once(folder: Path) -> None:
    (folder / "wrong.yaml").write_text(
        "{title: Wrong, config: gone.yaml, seeds: [1, 2], "
        "systems: {a: {}, b: {set: [model.bridge=none]}}}"
    )
    with pytest.raises(
        ConfigError,
        match="(?s)^wrong.yaml: 1 problem\n  systems.a, b: gone.yaml: neither a file nor",
    ):
        experiment_runs(Experiment.load("wrong.yaml").at_size(), folder)


def test_the_folder_of_an_experiment_cannot_be_a_file_or_a_run(
    folder: Path, monkeypatch, capsys
) -> None:
    program = Program(monkeypatch, capsys)
    command = ("experiment", "experiment.yaml", "--dry-run", "--folder")
    assert "--folder: mine.yaml is a file" in program.refuses(*command, "mine.yaml")
    run = folder / "runs" / "mine"
    run.mkdir(parents=True)
    (run / "config.yaml").touch()
    assert "--folder: runs/mine is a run directory" in program.refuses(*command, "runs/mine")


def preset_sizes() -> Iterator[tuple[str, str | None]]:
    for name in presets.names("evaluation/experiments"):
        for size in Experiment.load(name).sizes or [None]:
            yield name, size


PRESETS = list(preset_sizes())
FIRST_SIZES = {name: size for name, size in reversed(PRESETS)}
DRY_RUNS = []
for preset, preset_size in PRESETS:
    mark = () if preset_size == FIRST_SIZES[preset] else pytest.mark.slow
    DRY_RUNS.append(pytest.param(preset, preset_size, marks=mark))
"""Of a preset, `make test` has the dry run of the first size."""
PARAMETERS: dict[str, int] = {}
"""Number of parameters by what it depends on. Most systems of an experiment have equal models."""


@cache
def preset_runs(name: str, size: str | None) -> list[ExperimentRun]:
    """Runs of a preset experiment, below the folder `out`."""
    return experiment_runs(Experiment.load(name).at_size(size), Path("out"))


def vocabulary_sizes(config: Config) -> dict[str, int]:
    return {
        language: config.vocabulary.for_language(language).size for language in config.languages
    }


def count_once(config: Config) -> int:
    """Number of parameters; counted once for equal models."""
    sizes = vocabulary_sizes(config)
    key = repr((config.model, config.sharing, sorted(map(str, config.pairs)), sizes))
    if key not in PARAMETERS:
        PARAMETERS[key] = count_model_parameters(config, config.model, sizes)
    return PARAMETERS[key]


@pytest.mark.parametrize(("name", "size"), PRESETS)
def test_the_configurations_of_a_preset_are_reasonable(name: str, size: str | None) -> None:
    experiment = Experiment.load(name).at_size(size)
    runs = preset_runs(name, size)
    assert len({run.path for run in runs}) == len(runs)
    earlier = set()
    for run in runs:
        config = run.config
        assert run.initialized_from <= earlier, "an initial run comes first"
        earlier.add(run.path)
        average = re.fullmatch(r"average:(\d+)", experiment.checkpoint)
        if average:
            count = int(average[1])
            assert config.training.checkpoint.keep >= count
            assert config.training.steps // config.training.checkpoint.every >= count
        if config.validation.best_by == "bleu":
            pairs = match_pairs(config.validation.bleu_pairs, config.languages)
            assert set(pairs) <= set(config.pairs), "zero-shot pairs do not select a checkpoint"
        if run.seed == runs[0].seed:
            parameters = count_once(config)
            assert 1e6 < parameters < 4e8  # the largest is the big Transformer of wmt14_roles


def text_files(experiment: Experiment, config: Config) -> Iterator[Path]:
    """Files of all texts that a run of the experiment reads."""
    data = config.data
    for corpus in [*data.train, *data.valid, *data.test, *experiment.protocol.test]:
        if corpus.type != "text":
            continue
        if corpus.pairs:
            for paths in corpus.pairs.values():
                yield from (Path(data.folder, path) for path in paths)
        else:
            for language in config.languages:
                yield Path(data.folder, corpus.path.replace("{language}", language))


@pytest.mark.parametrize(("name", "size"), DRY_RUNS)
def test_a_dry_run_of_a_preset_has_no_errors(
    name: str, size: str | None, tmp_path: Path, monkeypatch, capsys
) -> None:
    """Each text file has one line."""
    monkeypatch.chdir(tmp_path)
    experiment = Experiment.load(name).at_size(size)
    files = set()
    for run in preset_runs(name, size):
        files.update(text_files(experiment, run.config))
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        line = b"a line\n"
        path.write_bytes(gzip.compress(line) if path.suffix == ".gz" else line)

    size_option = ["--size", size] if size else []
    plan = Program(monkeypatch, capsys)("experiment", name, *size_option, "--dry-run")
    assert plan.status == 0, plan.errors
    trained = [system for system in experiment.systems.values() if system.is_trained]
    assert plan.output.count("polyglot train ") >= len(trained) > 0
    assert not Path("experiments").exists()


@pytest.mark.parametrize(("name", "size"), PRESETS)
def test_the_text_of_a_preset_is_available(
    name: str, size: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is in `data/` of the clone, or in the folder POLYGLOT_DATA, named `data` as well."""
    data = Path(os.environ.get("POLYGLOT_DATA", ROOT / "data"))
    experiment = Experiment.load(name).at_size(size)
    runs = preset_runs(name, size)
    monkeypatch.chdir(data.parent if data.is_dir() else tmp_path)
    for run in runs:
        config = run.config
        folder = Path(config.data.folder)
        if config.data.train[0].type != "phrasebook" and not any(folder.glob("train.*")):
            pytest.skip(f"the text of {folder} is not here")
        check_test_text(run, protocol_of(run.system, experiment), where=name)
        for corpora in (config.data.train, config.data.valid):
            Corpora(corpora, folder=folder, languages=config.languages).check_any(config.pairs)


@pytest.fixture
def sized() -> Experiment:
    values = {
        "title": "Sized",
        "config": "phrasebook",
        "seeds": [1, 2],
        "sizes": {
            "cpu": {"set": ["a=1", "b=1"], "systems": {"first": ["b=3"]}, "seeds": [7]},
            "full": {"config": "multi30k/paper"},
            "part": {"only": ["first", "separate"], "separately": ["de-en"]},
        },
        "systems": {
            "first": {"set": ["b=2"]},
            "second": {"config": "multi30k/small"},
            "separate": {"separately": ["en-de", "de-en"]},
        },
    }
    return Experiment.model_validate(values)


def test_settings_of_a_system_override_those_of_its_size(sized: Experiment) -> None:
    cpu = sized.at_size("cpu")
    first = cpu.systems["first"]
    assert first.set == ["a=1", "b=1", "b=2", "b=3"]
    assert first.config == "phrasebook"
    assert cpu.seeds == [7]
    assert not cpu.sizes


def test_a_size_can_have_another_configuration(sized: Experiment) -> None:
    full = sized.at_size("full")
    assert list(full.systems) == ["first", "second", "separate"]
    assert full.systems["first"].set == ["b=2"]
    assert full.systems["first"].config == "multi30k/paper"
    assert full.systems["second"].config == "multi30k/small"
    assert full.systems["separate"].separately == ["en-de", "de-en"]
    assert full.seeds == [1, 2]


def test_the_first_size_is_the_default(sized: Experiment) -> None:
    assert sized.at_size() == sized.at_size("cpu")


def test_a_size_can_leave_out_systems_and_pairs(sized: Experiment) -> None:
    systems = sized.at_size("part").systems
    assert list(systems) == ["first", "separate"]
    assert systems["separate"].separately == ["de-en"]
    assert not systems["first"].separately


def test_an_unknown_size_is_an_error(sized: Experiment) -> None:
    message = "size: no size named 'ful'. Did you mean 'full'\\? Known: cpu, full, part"
    with pytest.raises(ConfigError, match=message):
        sized.at_size("ful")
    with pytest.raises(ConfigError, match="size: found 'cpu', but this experiment has no `sizes`"):
        sized.at_size("cpu").at_size("cpu")


def preset_parameters(name: str, system: str, size: str) -> int:
    """Number of parameters of a system, also if the size leaves it out."""
    experiment = Experiment.load(name)
    sizes = {}
    for key, settings in experiment.sizes.items():
        sizes[key] = settings.model_copy(update={"only": []})
    complete = experiment.model_copy(update={"sizes": sizes})
    settings = complete.at_size(size).systems[system]
    overrides = settings.set
    if settings.separately:
        source, target = settings.separately[0].split("-")
        overrides = [text.replace("SOURCE-TARGET", f"{source}-{target}") for text in overrides]
    config = load_config(settings.config, overrides)
    return count_model_parameters(config, config.model, vocabulary_sizes(config))


@pytest.mark.parametrize("size", ["cpu", "full"])
@pytest.mark.parametrize("kind", ["many-to-many with copies", "English-centric with copies"])
def test_the_fully_shared_model_is_as_large_as_its_baseline(kind: str, size: str) -> None:
    shared = preset_parameters("multi30k_best", f"fully shared, {kind}", size)
    baseline = preset_parameters("multi30k_best", kind, size)
    assert shared == pytest.approx(baseline, rel=TOLERANCE)


@pytest.mark.parametrize(
    "name", ["manythings_roles", "iwslt14_roles", "wmt14_roles", "wmt17_roles"]
)
def test_the_matched_model_is_as_large_as_the_role_model(name: str) -> None:
    matched = preset_parameters(name, "matched", "full")
    roles = preset_parameters(name, "RIL softmax residual", "full")
    assert matched == pytest.approx(roles, rel=TOLERANCE)


@pytest.mark.parametrize("encoder", ["embedding", "CNN", "LSTM"])
@pytest.mark.parametrize("name", ["manythings_graph", "iwslt14_graph", "tanaka_graph"])
def test_the_matched_model_is_as_large_as_the_model_with_a_graph(name: str, encoder: str) -> None:
    matched = preset_parameters(name, f"{encoder} matched", "full")
    graph = preset_parameters(name, f"{encoder} latent graph", "full")
    assert matched == pytest.approx(graph, rel=TOLERANCE)
    assert preset_parameters(name, f"{encoder} baseline", "full") < graph * (1 - TOLERANCE)


@pytest.mark.parametrize(("name", "size"), PRESETS)
def test_role_layers_are_compared_with_a_model_of_as_many_parameters(name: str, size: str) -> None:
    """RIL is the role interaction layer; a contextualized system has no interaction."""
    experiment = Experiment.load(name).at_size(size)
    for system, settings in experiment.systems.items():
        is_role_layer = system.startswith("RIL ") or system.endswith(" roles")
        if is_role_layer and not system.startswith(("contextualized", "matched", "no ")):
            assert settings.beside is not None and settings.beside.startswith("matched")


@pytest.mark.parametrize(("name", "size"), PRESETS)
def test_temperatures_of_one_hot_roles_reach_their_minimum(name: str, size: str | None) -> None:
    for run in preset_runs(name, size):
        options = run.config.model.options
        for option in [*options.encoder, *options.decoder]:
            if getattr(option, "assignment", None) == "onehot":
                last = option.temperature.at(run.config.training.steps - 1)
                assert last == option.temperature.minimum


def test_a_run_starts_from_the_run_of_another_system_with_the_same_seed() -> None:
    runs = preset_runs("manythings_roles", "full")
    onehot = [run for run in runs if run.system == "RIL onehot residual"]
    softmax = [run for run in runs if run.system == "RIL softmax residual"]
    assert len(onehot) == len(softmax) == 5
    for run, initial in zip(onehot, softmax):
        assert run.config.initialize["*"].run == str(initial.path)
        assert run.config.seed == initial.config.seed
        options = run.config.model.options
        for option in [*options.encoder, *options.decoder]:
            assert option.assignment == "onehot"


def test_each_direction_is_left_out_once() -> None:
    left_out = []
    for run in preset_runs("multi30k_leave_one_pair_out", None):
        directions = set()
        for source, target in itertools.permutations(run.config.languages, 2):
            directions.add(LanguagePair(source, target))
        left_out += directions - set(run.config.pairs)
    assert len(left_out) == len(set(left_out)) == 12


def test_placeholders_are_whole_words_and_are_replaced_once() -> None:
    placeholders = {"SEED": "3", "RUNS": "my/SOURCE/runs", "SOURCE": "en", "TARGET": "de"}
    settings = {
        "initialize={'*': RUNS/softmax-seedSEED}": "initialize={'*': my/SOURCE/runs/softmax-seed3}",
        "schedule.pairs=[SOURCE-TARGET]": "schedule.pairs=[en-de]",
        "data.folder=/data/RESOURCES": "data.folder=/data/RESOURCES",
    }
    for setting, filled in settings.items():
        assert fill_placeholders(setting, placeholders) == filled


@pytest.mark.parametrize(("stored", "is_same"), [("en-*", True), ("*-*", False)])
def test_runs_of_an_older_version_store_the_name_of_the_central_language(
    stored: str, is_same: bool, folder: Path
) -> None:
    config = load_config("phrasebook", ["schedule=english_centric"])
    run = ExperimentRun("old", "old", folder / "runs" / "old", seed=1, config=config)
    Run.create(config.model_copy(update={"run": str(run.path)}))
    run = replace(run, config=Run.open(run.path).config)
    config_file = run.path / "config.yaml"
    text = config_file.read_text(encoding="utf-8")
    assert "'{center}-*'" in text
    config_file.write_text(text.replace("{center}-*", stored), encoding="utf-8")
    (run.path / "settings.json").unlink()  # older versions wrote none
    if is_same:
        assert not run.is_complete
    else:
        with pytest.raises(ConfigError, match="schedule.pairs: .*in the run"):
            run.is_complete  # noqa: B018


def test_existing_runs_with_equal_names_have_different_folders(trained_folder: Path) -> None:
    Path("other").mkdir()
    shutil.copytree("runs/mine", "other/mine")
    systems = {"a": {"run": ["runs/mine", "other/mine"]}, "b": {"run": "runs/mine"}}
    experiment = Experiment.model_validate({"title": "Existing", "systems": systems})
    names = [run.name for run in experiment_runs(experiment, trained_folder)]
    assert names == ["a-mine-1", "a-mine-2", "b-mine"]
