"""From a run directory to a saved matrix, with a model that was never trained."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tiny import TEXT, tiny_run, tiny_translator

from polyglot.data.corpora import PhrasebookCorpus, TextCorpus
from polyglot.errors import CheckpointError, ConfigError, DataError
from polyglot.evaluate.evaluation import evaluate, in_words
from polyglot.evaluate.matrix import Cell, Matrix
from polyglot.evaluate.protocol import Protocol
from polyglot.run import Run
from polyglot.task import LanguagePair


def protocol(**settings: object) -> Protocol:
    return Protocol.model_validate(settings)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return tiny_run(tmp_path)


def test_every_direction_from_the_run_to_the_files(run: Run, tmp_path: Path) -> None:
    told = []
    matrix = evaluate(run, tiny_translator(run), protocol(), progress=lambda cell, done, of: told.append((str(cell.pair), done, of)))
    assert told == [(str(pair), number + 1, 9) for number, pair in enumerate(matrix.cells)]
    kinds = {str(pair): cell.kind for pair, cell in matrix.cells.items()}
    assert {pair for pair, kind in kinds.items() if kind == "zero-shot"} == {"de-fr", "fr-de"}
    assert {pair for pair, kind in kinds.items() if kind == "copy"} == {"en-en", "de-de", "fr-fr"}
    assert all(cell.sentences == 5 and cell.reason is None and set(cell.scores) == {"bleu", "chrf"} for cell in matrix.cells.values())
    matrix.save(run.evaluation / "default")
    assert Matrix.load(run.evaluation / "default") == matrix
    values = json.loads((run.evaluation / "default" / "matrix.json").read_text(encoding="utf-8"))
    assert values["checkpoint"]["steps"] == [7] and values["search"]["beam"] == 2 and values["test"] == ["text test.{language}"]
    assert set(values["versions"]) >= {"polyglot", "torch", "sacrebleu"}
    assert str(tmp_path) not in (run.evaluation / "default" / "matrix.json").read_text(encoding="utf-8")


def test_the_files_give_the_same_score_on_the_sacrebleu_command_line(run: Run, tmp_path: Path) -> None:
    matrix = evaluate(run, tiny_translator(run), protocol(pairs=["de-fr"], metrics=["chrf"]))
    matrix.save(tmp_path / "out")
    command = [sys.executable, "-m", "sacrebleu", "test.fr", "-i", "out/hypotheses/de-fr.txt", "-m", "chrf", "-w", "14", "-f", "json"]
    theirs = json.loads(subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    score = matrix.cells[LanguagePair("de", "fr")].scores["chrf"]
    assert 0 < score.value == pytest.approx(theirs["score"], abs=1e-13)
    assert score.signature == theirs["signature"]


def test_hypotheses_are_those_of_the_translator(run: Run) -> None:
    translator = tiny_translator(run)
    matrix = evaluate(run, translator, protocol(pairs=["de-fr"], search={"beam": 3}, sentences=3))
    expected = translator.translate(TEXT["de"][:3], source="de", target="fr", beam=3)
    assert list(matrix.hypotheses.values()) == [expected] and matrix.search["beam"] == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_was_translated_before_an_interruption_is_there(error: type[BaseException], run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    whole = evaluate(run, tiny_translator(run), protocol(), folder=folder)
    whole.save(folder)

    def stop(cell: Cell, done: int, of: int) -> None:
        assert (folder / "hypotheses" / f"{cell.pair}.txt").is_file(), "as soon as it is ready"
        if done == 3:
            raise error

    with pytest.raises(error):
        evaluate(run, tiny_translator(run), protocol(), folder=folder, progress=stop)
    done = list(whole.cells)[:3]
    texts = {path.name: path.read_text(encoding="utf-8").splitlines() for path in folder.rglob("*") if path.is_file()}
    assert texts == {f"{pair}.txt": whole.hypotheses[pair] for pair in done}, "and nothing of the earlier matrix, whose scores are of other text"


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_translated(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    told = []
    with pytest.raises(CheckpointError, match="out.*: the matrix cannot be written: "):
        evaluate(run, tiny_translator(run), protocol(), folder=tmp_path / "out", progress=lambda *news: told.append(news))
    assert told == []


def test_a_language_without_text_has_empty_cells_with_the_reason(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test.fr").unlink()
    matrix = evaluate(run, tiny_translator(run), protocol())
    empty = {str(pair): cell.reason for pair, cell in matrix.cells.items() if cell.reason}
    assert empty == dict.fromkeys(["en-fr", "de-fr", "fr-en", "fr-de", "fr-fr"], "no text in fr")
    assert set(matrix.means("bleu")) == {"supervised", "copy"} and len(matrix.hypotheses) == 4


def test_no_text_at_all_is_an_error(run: Run) -> None:
    with pytest.raises(DataError, match="test.*none.*no such file|none.{language}: nothing"):
        evaluate(run, tiny_translator(run), protocol(test=[{"type": "text", "path": "none.{language}"}]))


def test_a_run_without_test_corpora_is_an_error(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, data={"test": []})
    with pytest.raises(ConfigError, match="data.test names no corpus"):
        evaluate(run, tiny_translator(run), protocol())


def test_files_of_unequal_length_stop_before_anything_is_translated(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test.fr").write_text("un chien dort\n", encoding="utf-8")
    told = []
    with pytest.raises(DataError, match="test.en has 5 lines, but .*test.fr has 1"):
        evaluate(run, tiny_translator(run), protocol(), progress=lambda *news: told.append(news))
    assert told == []


def test_the_protocol_names_other_test_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other.de").write_text("das Kind liest\n", encoding="utf-8")
    (tmp_path / "other.en").write_text("the child reads\n", encoding="utf-8")
    matrix = evaluate(run, tiny_translator(run), protocol(test=[{"type": "text", "path": "other.{language}"}], pairs=["de-en"]))
    assert matrix.cells[LanguagePair("de", "en")].sentences == 1 and matrix.test == ["text other.{language}"]


def test_capitals_count_unless_the_protocol_says_otherwise(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test.en").write_text("".join(f"{line.upper()}\n" for line in TEXT["en"]), encoding="utf-8")

    def score(*, lowercase: bool) -> float:
        return evaluate(run, tiny_translator(run), protocol(lowercase=lowercase, pairs=["de-en"])).means("chrf")["supervised"]

    assert score(lowercase=False) == 0 < score(lowercase=True)


def test_corpora_are_named_without_folders() -> None:
    assert in_words(PhrasebookCorpus.Config(split="test")) == "phrasebook test"
    assert in_words(TextCorpus.Config(path="/home/somebody/text.{language}.gz", weight=2.0)) == "text text.{language}.gz"
