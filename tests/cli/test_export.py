"""Commands that derive runs: `add-language`, `average`, `export`, `match` and `convert`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.command_line import write_text

ITALIAN = [
    "un cane dorme",
    "due gatti vedono un uccello",
    "il bambino legge un libro",
    "piove",
    "un uccello vede due gatti e un cane",
]
ENGLISH_TO_FRENCH = ("train.en", "--from", "en", "--to", "fr")


def test_added_language_does_not_change_other_translations(folder, polyglot):
    write_text(folder, {"it": ITALIAN})
    before = polyglot("translate", "runs/mine", *ENGLISH_TO_FRENCH).output
    add = ("add-language", "runs/mine", "it", "data.folder=.", "--with", "en")
    plan = polyglot(*add, "--dry-run").output
    assert "encoder.it" in plan
    assert not Path("runs/mine-it").exists()

    result = polyglot(*add, "training.steps=2")
    assert result.status == 0
    assert "runs/mine-it: 2 of 2 steps" in result.errors
    assert polyglot("translate", "runs/mine-it", *ENGLISH_TO_FRENCH).output == before
    italian = ("translate", "runs/mine-it", "train.it", "--from", "it", "--to", "fr")
    assert polyglot(*italian).output.count("\n") == 5


def test_language_that_the_run_has(folder, polyglot):
    message = polyglot.refuses("add-language", "runs/mine", "de")
    assert "runs/mine: has de already" in message


def test_average_is_written_as_a_run(folder, polyglot):
    result = polyglot("average", "runs/mine", "--last", "2")
    assert "written to runs/mine-average: the mean of steps 2, 4" in result.errors
    averaged = polyglot("translate", "runs/mine-average", *ENGLISH_TO_FRENCH).output
    translate = ("translate", "runs/mine", *ENGLISH_TO_FRENCH)
    assert averaged == polyglot(*translate, "--checkpoint", "average:2").output
    assert "runs/mine-average: exists" in polyglot.refuses("average", "runs/mine")


def test_components_are_exported_with_their_vocabularies(folder, polyglot):
    result = polyglot("export", "runs/mine", "--component", "*.de", "--to", "german")
    assert "written to german: decoder.de, encoder.de" in result.errors
    files = sorted(path.name for path in Path("german/vocabulary").iterdir())
    assert files == ["checksums.json", "de.model"]

    options = ("--component", "encoder.dd", "--to", "other")
    message = polyglot.refuses("export", "runs/mine", *options)
    assert "no component named 'encoder.dd'" in message


def test_matched_configuration_has_the_number_of_parameters(folder, polyglot):
    result = polyglot("match", "mine.yaml", "--parameters-of", "12_000")
    assert "parameters for 12,000: " in result.errors
    overrides = result.output.split()
    plan = polyglot("train", "mine.yaml", *overrides, "run=runs/matched", "--dry-run").output
    totals = [line for line in plan.splitlines() if line.startswith(" all ")]
    parameters = int(totals[0].split()[1].replace(",", ""))
    assert parameters == pytest.approx(12_000, rel=0.01)


def test_match_with_a_model_of_the_same_size_changes_nothing(folder, polyglot):
    result = polyglot("match", "mine.yaml", "--parameters-of", "runs/mine")
    assert (result.status, result.output) == (0, "\n")


def test_match_with_overrides_and_a_number(folder, polyglot):
    more = ("model.encoder.layers=2", "data.train+=[]")
    for name in ("mine.yaml", "runs/mine"):
        result = polyglot("match", name, *more, "--parameters", "300k")
        assert result.status == 0, result.errors
        assert "parameters for 300,000: " in result.errors
        assert result.output.startswith("model.encoder.layers=2 'data.train+=[]' model.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "match needs either --parameters, such as --parameters 12M, or --parameters-of"),
        (("--parameters", "9k", "--parameters-of", "mine.yaml"), "match needs either"),
        (("--parameters", "lots"), "--parameters: found 'lots'; write a number, such as 12M"),
        (("model.encoder.size+=2", "--parameters", "9k"), "model.encoder.size: += appends to a"),
    ],
)
def test_match_that_cannot_be_meant(options, message, folder, polyglot):
    assert message in polyglot.refuses("match", "mine.yaml", *options)


def test_number_of_parameters_that_no_width_has(folder, polyglot):
    message = polyglot.refuses("match", "mine.yaml", "--parameters-of", "7")
    assert "no choice of widths gives 7 parameters" in message


def test_file_that_is_not_a_model_of_opennmt(folder, polyglot):
    message = polyglot.refuses("convert", "mine.yaml", "new", "--from", "en", "--to", "de")
    assert "mine.yaml: no checkpoint of OpenNMT-py 3: " in message
    assert not Path("new").exists()


def test_export_needs_components_or_a_direction(folder, polyglot):
    for arguments in ((), ("--component", "bridge", "--ctranslate2", "de-en")):
        errors = polyglot.refuses("export", "runs/mine", *arguments)
        assert "either --component" in " ".join(errors.split())
    pytest.importorskip("ctranslate2", reason="the extra `ctranslate2` is not installed")
    errors = polyglot.refuses("export", "runs/mine", "--ctranslate2", "de-en")
    assert "de-en: CTranslate2 cannot compute" in " ".join(errors.split())
    assert not Path("runs/mine-de-en").exists()
