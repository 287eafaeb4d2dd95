"""Outputs of other programs: their files, their directions and their scores."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import sacrebleu

from polyglot.core.errors import ConfigError, DataError
from polyglot.evaluation.external_outputs import is_output, only_direction, output_matrix
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix, cells_by_pair
from polyglot.tasks.pairs import LanguagePair
from tests.evaluation.by_hand import matrix

BLEU = Measure("bleu")
REFERENCES = {
    "de": ["der Hund sieht heute die Katze", "zwei Vögel singen im Garten am Abend"],
    "fr": ["le chien voit le chat ce soir", "deux oiseaux chantent dans le jardin"],
}
OUTPUTS = {
    "de": ["der Hund sieht heute eine Katze", "zwei Vögel sind im Garten am Abend"],
    "fr": ["le chien voit le chat du soir", "deux oiseaux sont dans le jardin"],
}


def scored_cell(pair: str, via: str | None = None) -> Cell:
    """Cell whose own translations are the references."""
    language_pair = LanguagePair.parse(pair)
    target = language_pair.target
    score = Scorer(BLEU, target=target).score(REFERENCES[target], REFERENCES[target])
    return Cell(language_pair, "supervised", {"bleu": score}, via=via, reference_text=target)


def results(*pairs: str) -> ScoreMatrix:
    cells = cells_by_pair(scored_cell(pair) for pair in pairs)
    pivots = cells_by_pair([scored_cell("de-fr", via="en")])
    return dataclasses.replace(matrix(), cells=cells, pivots=pivots, texts=REFERENCES)


def write_lines(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        (["out.fr"], "out.fr", True),
        (["out"], "out", True),
        ([], "runs", False),
        (["folder/de-fr.txt"], "folder", True),
        (["folder/de-fr.csv"], "folder", False),
        (["folder/config.yaml"], "folder", False),
        (["folder/config.yaml", "folder/notes.txt"], "folder", False),
    ],
)
def test_a_run_is_no_output(files, path, expected, tmp_path):
    for file in files:
        write_lines(tmp_path / file, ["text"])
    assert is_output(tmp_path / path) is expected


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"out\.fr: no such file"):
        is_output(tmp_path / "out.fr")


def test_a_folder_is_scored_as_sacrebleu_scores_it(tmp_path):
    """Also a pivot translation; a file without a direction of the run is ignored."""
    write_lines(tmp_path / "out/en-de.txt", OUTPUTS["de"])
    write_lines(tmp_path / "out/deu-eng-fra.txt", OUTPUTS["fr"])
    write_lines(tmp_path / "out/readme.txt", ["a text"])
    scores = output_matrix(tmp_path / "out", results("en-de", "en-fr"), BLEU)
    assert [cell.name for cell in scores.all_cells] == ["en-de", "de-en-fr"]
    for cell in scores.all_cells:
        target = cell.pair.target
        expected = sacrebleu.corpus_bleu(OUTPUTS[target], [REFERENCES[target]]).score
        assert 0 < expected < 100
        assert cell.scores["bleu"].value == pytest.approx(expected)
        assert scores.hypotheses[cell.name] == OUTPUTS[target]
    assert scores.checkpoint == {"run": "output of another program"}


@pytest.mark.parametrize(
    ("name", "pairs", "direction"),
    [
        ("moses.fr-de.txt", ["en-de", "fr-de"], "fr-de"),
        ("moses.txt", ["en-de"], "en-de"),
        ("moses.txt", ["en-de", "de-de"], "en-de"),
    ],
    ids=["in the name", "the only one", "the only translation"],
)
def test_the_direction_of_a_file(name, pairs, direction, tmp_path):
    path = write_lines(tmp_path / name, OUTPUTS["de"])
    run = dataclasses.replace(results(*pairs), pivots={})
    [cell] = output_matrix(path, run, BLEU).all_cells
    assert cell.name == direction


def test_an_unknown_direction_and_a_wrong_length_are_errors(tmp_path):
    path = write_lines(tmp_path / "moses.txt", OUTPUTS["de"])
    with pytest.raises(ConfigError, match="direction is unknown. Name it with --pair.*en-de"):
        output_matrix(path, results("en-de", "fr-de"), BLEU)
    path = write_lines(tmp_path / "en-de.txt", OUTPUTS["de"][:1])
    with pytest.raises(DataError, match="has 1 line, but the references of en-de have 2"):
        output_matrix(path, results("en-de"), BLEU)
    with pytest.raises(ConfigError, match=r"no file is named .* such as fr-de\.txt"):
        output_matrix(tmp_path, results("fr-de"), BLEU)


def test_a_score_with_another_signature_is_refused(tmp_path):
    """Such as one from a machine with another version of sacreBLEU."""
    run = results("en-de")
    [cell] = run.cells.values()
    score = dataclasses.replace(cell.scores["bleu"], signature="version:1.0")
    cell = dataclasses.replace(cell, scores={"bleu": score})
    run = dataclasses.replace(run, cells=cells_by_pair([cell]))
    path = write_lines(tmp_path / "en-de.txt", OUTPUTS["de"])
    with pytest.raises(ConfigError, match="but the run was scored with version:1.0"):
        output_matrix(path, run, BLEU)


@pytest.mark.parametrize(
    ("name", "expected"), [("en-fr", ["en-fr"]), ("ger-eng-fre", ["de-en-fr"])]
)
def test_one_direction_of_a_matrix(name, expected):
    selected = only_direction(results("en-de", "en-fr"), name)
    assert [cell.name for cell in selected.all_cells] == expected
    with pytest.raises(ConfigError, match="no direction named 'de-it'"):
        only_direction(selected, "de-it")
