"""Export of averages and of components."""

from __future__ import annotations

import pytest
import torch

from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.export import export
from polyglot.runs.run import Run
from tests.builders.runs import make_trainer, tiny_run, train

ALL_COMPONENTS = ["bridge", "decoder.de", "decoder.en", "encoder.de", "encoder.en"]


def test_an_exported_average_translates_like_the_average(english_german, tmp_path):
    mean, names = export(english_german, tmp_path / "mean", checkpoint="average:2")
    assert names == ALL_COMPONENTS
    languages = {"source": "de", "target": "en"}
    average = Translator.load(english_german, checkpoint="average:2")
    expected = average.hypotheses(["ein Hund singt"], **languages)
    assert Translator.load(mean.path).hypotheses(["ein Hund singt"], **languages) == expected


def test_an_export_names_its_run_and_steps_and_cannot_be_resumed(english_german, tmp_path):
    mean, _ = export(english_german, tmp_path / "mean", checkpoint="average:3")
    (checkpoint,) = mean.choose_checkpoints("last")
    assert checkpoint.step == 3
    taken_from = {"run": "run", "steps": [1, 2, 3]}
    assert checkpoint.training_state() == {"taken_from": taken_from}
    message = "was taken out of another run and has no training state to resume; start a new run"
    with pytest.raises(CheckpointError, match=message):
        make_trainer(Run.open(mean.path))


def test_an_exported_component_has_its_vocabulary_and_initializes_a_run(english_german, tmp_path):
    part, names = export(
        english_german, tmp_path / "part", checkpoint="last", components=["encoder.de"]
    )
    assert names == ["encoder.de"]
    assert part.choose_checkpoints("best")[0].components == ["encoder.de"]
    files = sorted(path.name for path in (part.path / "vocabulary").iterdir())
    assert files == ["checksums.json", "de.model"]

    run = tiny_run(tmp_path, "started", initialize={"encoder.de": str(part.path)})
    trainer = make_trainer(run)
    (last,) = checkpoints.choose(english_german.checkpoints, "last")
    tensors = last.component("encoder.de")
    for name, parameter in trainer.parameters["encoder.de"].items():
        assert torch.equal(parameter, tensors[name])

    message = "en.model: this vocabulary is missing, so en cannot be translated"
    with pytest.raises(CheckpointError, match=message):
        Translator.load(part.path)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["*.de"], ["decoder.de", "encoder.de"]),
        (["encoder.*", "bridge"], ["bridge", "encoder.de", "encoder.en"]),
    ],
)
def test_patterns_select_components(english_german, tmp_path, patterns, expected):
    part, names = export(english_german, tmp_path / "part", checkpoint="last", components=patterns)
    assert names == expected
    assert part.choose_checkpoints("last")[0].components == expected


def test_a_shared_component_has_the_vocabularies_of_all_its_languages(tmp_path):
    run = tiny_run(
        tmp_path, schedule={"pairs": ["*-*"]}, sharing={"encoder": {"west": ["de", "fr"]}}
    )
    train(run)
    part, _ = export(run, tmp_path / "part", checkpoint="last", components=["encoder.west"])
    files = sorted(path.name for path in (part.path / "vocabulary").iterdir())
    assert files == ["checksums.json", "de.model", "fr.model"]


def test_an_unknown_component_is_an_error_and_leaves_no_folder(english_german, tmp_path):
    message = "no component named 'encoder.nl'. Did you mean 'encoder.en'"
    components = ["bridge", "encoder.nl"]
    with pytest.raises(ConfigError, match=message):
        export(english_german, tmp_path / "none", checkpoint="best", components=components)
    assert not (tmp_path / "none").exists()
