"""From a run directory to a saved matrix, with a model that was never trained."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from polyglot.core.errors import CheckpointError, ConfigError, DataError
from polyglot.data.corpora import PhrasebookCorpus, TextCorpus
from polyglot.evaluation import route_translation
from polyglot.evaluation.batched_translation import translate_directions
from polyglot.evaluation.evaluator import evaluate
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.provenance import describe_corpus
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from tests.evaluation.tiny import TEXT, tiny_run, tiny_translator


def protocol(**settings: object) -> Protocol:
    return Protocol.model_validate(settings)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return tiny_run(tmp_path)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directions that are translated, in one hop each."""
    names: list[str] = []

    def counted(translator, texts, wanted, **given):
        names.extend(f"{texts[text].language}-{target}" for text, target in wanted)
        return translate_directions(translator, texts, wanted, **given)

    monkeypatch.setattr(route_translation, "translate_directions", counted)
    return names


def test_every_direction_from_the_run_to_the_files(run: Run, tmp_path: Path) -> None:
    told = []
    matrix = evaluate(
        run, tiny_translator(run), protocol(), progress=lambda *news: told.append(news)
    )
    assert told == [
        (f"into {target}", 15 * place + done, 45)
        for place, target in enumerate(["en", "de", "fr"])
        for done in (0, 15)
    ]
    kinds = {str(pair): cell.kind for pair, cell in matrix.cells.items()}
    assert {pair for pair, kind in kinds.items() if kind == "zero-shot"} == {"de-fr", "fr-de"}
    assert {pair for pair, kind in kinds.items() if kind == "copy"} == {"en-en", "de-de", "fr-fr"}
    assert all(
        cell.sentences == 5 and cell.reason is None and set(cell.scores) == {"bleu", "chrf"}
        for cell in matrix.cells.values()
    )
    matrix.save(run.evaluation / "default")
    assert ScoreMatrix.load(run.evaluation / "default") == matrix
    values = json.loads((run.evaluation / "default" / "matrix.json").read_text(encoding="utf-8"))
    assert (
        values["checkpoint"]["steps"] == [7]
        and values["search"]["beam"] == 2
        and values["test"] == ["text test.{language}"]
    )
    assert set(values["versions"]) >= {"polyglot", "torch", "sacrebleu"}
    assert str(tmp_path) not in (run.evaluation / "default" / "matrix.json").read_text(
        encoding="utf-8"
    )


def test_the_files_give_the_same_score_on_the_sacrebleu_command_line(
    run: Run, tmp_path: Path
) -> None:
    matrix = evaluate(run, tiny_translator(run), protocol(pairs=["de-fr"], metrics=["chrf"]))
    matrix.save(tmp_path / "out")
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        "test.fr",
        "-i",
        "out/hypotheses/de-fr.txt",
        "-m",
        "chrf",
        "-w",
        "14",
        "-f",
        "json",
    ]
    theirs = json.loads(
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    )
    score = matrix.cells[LanguagePair("de", "fr")].scores["chrf"]
    assert 0 < score.value == pytest.approx(theirs["score"], abs=1e-13)
    assert score.signature == theirs["signature"]


def test_hypotheses_are_those_of_the_translator(run: Run) -> None:
    translator = tiny_translator(run)
    matrix = evaluate(run, translator, protocol(pairs=["de-fr"], search={"beam": 3}, sentences=3))
    expected = translator.translate(TEXT["de"][:3], source="de", target="fr", beam=3)
    assert matrix.hypotheses == {"de-fr": expected} and matrix.search["beam"] == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_keeps_what_was_translated_and_the_matrix_of_before(
    error: type[BaseException], run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    evaluate(run, tiny_translator(run), protocol(sentences=2), folder=folder).save(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    whole = evaluate(run, tiny_translator(run), protocol())

    def stop(what: str, done: int, of: int) -> None:
        if what == "into fr":
            raise error

    with pytest.raises(error):
        evaluate(run, tiny_translator(run), protocol(), folder=folder, progress=stop)
    assert {path: path.read_bytes() for path in before} == before
    done = [pair for pair in whole.cells if pair.target != "fr"]
    texts = {
        path.name: path.read_text(encoding="utf-8").splitlines()
        for path in folder.glob(".unfinished/hypotheses/*")
    }
    assert texts == {f"{pair}.txt": whole.hypotheses[str(pair)] for pair in done}
    matrix = evaluate(run, tiny_translator(run), protocol(), folder=folder)
    matrix.save(folder)
    assert ScoreMatrix.load(folder) == matrix and not (folder / ".unfinished").exists()


def test_what_an_interrupted_evaluation_left_does_not_come_into_another_matrix(
    run: Run, asked: list[str], tmp_path: Path
) -> None:
    """The directions of the earlier one are used again, and stay what they were."""
    folder = tmp_path / "out"
    before, _ = evaluated(run, folder, asked)
    cells = {path: path.read_bytes() for path in folder.glob("cells/*")}

    def stop(what: str, done: int, of: int) -> None:
        if what == "into fr":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(
            run,
            tiny_translator(run, sha256="b"),
            protocol(pivot="en"),
            folder=folder,
            progress=stop,
        )
    after, translated = evaluated(run, folder, asked)
    assert (after, translated) == (before, []) and {
        path: path.read_bytes() for path in folder.glob("cells/*")
    } == cells


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_translated(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "out").write_text("in the way")
    told = []
    with pytest.raises(CheckpointError, match="out.*: the matrix cannot be written: "):
        evaluate(
            run,
            tiny_translator(run),
            protocol(),
            folder=tmp_path / "out",
            progress=lambda *news: told.append(news),
        )
    assert told == []


def test_a_language_without_text_has_empty_cells_with_the_reason(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test.fr").unlink()
    matrix = evaluate(run, tiny_translator(run), protocol())
    empty = {str(pair): cell.reason for pair, cell in matrix.cells.items() if cell.reason}
    assert empty == dict.fromkeys(["en-fr", "de-fr", "fr-en", "fr-de", "fr-fr"], "no text in fr")
    assert set(matrix.means("bleu")) == {"supervised", "copy"} and len(matrix.hypotheses) == 4


def test_no_text_at_all_is_an_error(run: Run) -> None:
    with pytest.raises(DataError, match="test.*none.*no such file|none.{language}: nothing"):
        evaluate(
            run, tiny_translator(run), protocol(test=[{"type": "text", "path": "none.{language}"}])
        )


def test_a_run_without_test_corpora_is_an_error(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, data={"test": []})
    with pytest.raises(ConfigError, match="data.test names no corpus"):
        evaluate(run, tiny_translator(run), protocol())


def test_files_of_unequal_length_stop_before_anything_is_translated(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "test.fr").write_text("un chien dort\n", encoding="utf-8")
    told = []
    with pytest.raises(DataError, match="test.en has 5 lines, but .*test.fr has 1"):
        evaluate(run, tiny_translator(run), protocol(), progress=lambda *news: told.append(news))
    assert told == []


def test_the_protocol_names_other_test_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other.de").write_text("das Kind liest\n", encoding="utf-8")
    (tmp_path / "other.en").write_text("the child reads\n", encoding="utf-8")
    matrix = evaluate(
        run,
        tiny_translator(run),
        protocol(test=[{"type": "text", "path": "other.{language}"}], pairs=["de-en"]),
    )
    assert matrix.cells[LanguagePair("de", "en")].sentences == 1 and matrix.test == [
        "text other.{language}"
    ]


def test_capitals_count_unless_the_protocol_says_otherwise(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test.en").write_text(
        "".join(f"{line.upper()}\n" for line in TEXT["en"]), encoding="utf-8"
    )

    def score(*, lowercase: bool) -> float:
        return evaluate(
            run,
            tiny_translator(run),
            protocol(conditions=["lowercased" if lowercase else "cased"], pairs=["de-en"]),
        ).means("chrf-lowercased" if lowercase else "chrf")["supervised"]

    assert score(lowercase=False) == 0 < score(lowercase=True)


@pytest.mark.parametrize(
    ("steps", "conditions", "said"),
    [
        ("lowercase", ["cased"], True),
        ("lowercase", ["cased", "tokenised"], False),
        ("unicode", ["cased"], False),
    ],
)
def test_a_run_without_capitals_that_is_scored_with_them_alone_is_said(
    steps, conditions, said, tmp_path, caplog
) -> None:
    run = tiny_run(tmp_path, text={"languages": {"de": [steps]}})
    for pairs in (["de-en"], ["en-de"]):
        caplog.clear()
        evaluate(run, tiny_translator(run), protocol(conditions=conditions, pairs=pairs))
        assert ("the run writes de without capitals" in caplog.text) == (
            said and pairs == ["en-de"]
        )


def test_corpora_are_named_without_folders() -> None:
    assert describe_corpus(PhrasebookCorpus.Config(split="test")) == "phrasebook test"
    assert (
        describe_corpus(TextCorpus.Config(path="/home/somebody/text.{language}.gz", weight=2.0))
        == "text text.{language}.gz"
    )


# Two hops ----------------------------------------------------------------------------------------------------------------


def test_the_pivot_route_is_two_calls_of_translate(run: Run) -> None:
    translator = tiny_translator(run)
    matrix = evaluate(run, translator, protocol(pivot="en", search={"beam": 3}))
    assert {str(pair): (cell.name, cell.kind) for pair, cell in matrix.pivots.items()} == {
        "de-fr": ("de-en-fr", "pivot"),
        "fr-de": ("fr-en-de", "pivot"),
    }
    between = translator.translate(TEXT["de"], source="de", target="en", beam=3)
    expected = translator.translate(between, source="en", target="fr", beam=3)
    assert matrix.hypotheses["de-en-fr"] == expected != matrix.hypotheses["de-fr"]
    assert matrix.pivots[LanguagePair("de", "fr")].scores["chrf"] == Scorer(
        Measure("chrf"), target="fr"
    ).score(expected, TEXT["fr"], resamples=1000)


def test_the_first_hop_is_translated_once(run: Run, asked: list[str]) -> None:
    evaluate(run, tiny_translator(run), protocol(pivot="en", copies=False))
    assert (
        asked.count("de-en") == 1 and asked.count("en-fr") == 2
    )  # from the test text, and from what the first hop gave


def test_a_first_hop_that_has_no_cell_is_translated_all_the_same(
    run: Run, asked: list[str]
) -> None:
    told = []
    matrix = evaluate(
        run,
        tiny_translator(run),
        protocol(pivot="en", pairs=["de-fr"], copies=False),
        progress=lambda *news: told.append(news),
    )
    assert [cell.name for cell in matrix.all_cells] == ["de-fr", "de-en-fr"] and asked == [
        "de-fr",
        "de-en",
        "en-fr",
    ]
    assert told[-1] == ("into fr", 15, 15)


def test_a_pivot_that_the_run_does_not_have_is_an_error(run: Run) -> None:
    with pytest.raises(ConfigError, match="pivot: target language: no decoder named 'xx'"):
        evaluate(run, tiny_translator(run), protocol(pivot="xx"))


# What is there already ---------------------------------------------------------------------------------------------------


def evaluated(
    run: Run, folder: Path, asked: list[str], *, sha256: str | None = "a", **settings: object
) -> tuple[ScoreMatrix, list[str]]:
    """The matrix, and the directions that were translated for it."""
    asked.clear()
    matrix = evaluate(
        run,
        tiny_translator(run, sha256=sha256),
        protocol(**{"pivot": "en", **settings}),
        folder=folder,
    )
    matrix.save(folder)
    return matrix, list(asked)


def test_what_is_scored_is_not_scored_again(
    run: Run, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, translated = evaluated(run, tmp_path / "out", asked)
    assert len(translated) == 9 + 2
    monkeypatch.setattr(Scorer, "score", lambda *given, **other: pytest.fail("scored again"))
    after, translated = evaluated(run, tmp_path / "out", asked)
    assert (after, translated) == (before, []) and ScoreMatrix.load(tmp_path / "out") == before


def test_another_metric_scores_but_does_not_translate(
    run: Run, asked: list[str], tmp_path: Path
) -> None:
    before, _ = evaluated(run, tmp_path / "out", asked)
    after, translated = evaluated(run, tmp_path / "out", asked, metrics=["ter"])
    assert translated == [] and set(after.cells[LanguagePair("de", "fr")].scores) == {"ter"}
    assert after.hypotheses == before.hypotheses
    assert [cell.seconds for cell in after.all_cells] == [cell.seconds for cell in before.all_cells]


def test_what_was_translated_elsewhere_keeps_the_machine_and_the_versions_it_was_translated_with(
    run: Run, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _ = evaluated(run, tmp_path / "out", asked)
    monkeypatch.setattr(
        "polyglot.evaluation.provenance.describe_machine", lambda device: "another machine"
    )
    monkeypatch.setattr("torch.__version__", "99.0")
    after, translated = evaluated(run, tmp_path / "out", asked, metrics=["ter"])
    assert (translated, after.machine, after.versions) == ([], before.machine, before.versions)
    (tmp_path / "out" / "cells" / "de-fr.json").unlink()
    mixed, translated = evaluated(run, tmp_path / "out", asked)
    assert (translated, mixed.machine) == (["de-fr"], f"{before.machine}; another machine")
    assert mixed.versions == before.versions | {"torch": f"{before.versions['torch']}; 99.0"}
    assert evaluated(run, tmp_path / "new", asked)[0].machine == "another machine"


def test_a_pivot_says_who_translated_each_of_its_hops(
    run: Run, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = evaluated(run, tmp_path / "out", asked, pivot="en")[0].machine
    monkeypatch.setattr(
        "polyglot.evaluation.provenance.describe_machine", lambda device: "another machine"
    )
    cell = tmp_path / "out" / "cells" / "de-en-fr.json"
    cell.unlink()
    evaluated(run, tmp_path / "out", asked, pivot="en")
    assert json.loads(cell.read_text())["made_with"]["machine"] == f"{here}; another machine"


@pytest.mark.parametrize("made_with", [{}, "a machine", {"machine": "a"}])
def test_a_direction_that_does_not_say_who_translated_it_is_translated_again(
    made_with, run: Run, asked: list[str], tmp_path: Path
) -> None:
    evaluated(run, tmp_path / "out", asked)
    cell = tmp_path / "out" / "cells" / "de-fr.json"
    cell.write_text(json.dumps(json.loads(cell.read_text()) | {"made_with": made_with}))
    assert evaluated(run, tmp_path / "out", asked)[1] == ["de-fr"]


@pytest.mark.parametrize(
    "change", ["parameters", "search", "sentences", "hypotheses", "damage", "unknown parameters"]
)
def test_what_depends_on_something_else_is_translated_again(
    change: str, run: Run, asked: list[str], tmp_path: Path
) -> None:
    evaluated(run, tmp_path / "out", asked, sha256=None if change == "unknown parameters" else "a")
    settings = {"search": {"search": {"beam": 1}}, "sentences": {"sentences": 2}}.get(change, {})
    if change == "hypotheses":
        (tmp_path / "out" / "hypotheses" / "de-fr.txt").write_text("changed by hand\n" * 5)
    if change == "damage":
        (tmp_path / "out" / "cells" / "de-fr.json").write_text("{")
    _, translated = evaluated(
        run,
        tmp_path / "out",
        asked,
        sha256={"parameters": "b", "unknown parameters": None}.get(change, "a"),
        **settings,
    )
    assert translated == ["de-fr"] if change in ("hypotheses", "damage") else len(translated) == 11


def test_killed_in_the_middle_it_goes_on_where_it_was(
    run: Run, asked: list[str], tmp_path: Path
) -> None:
    whole, _ = evaluated(run, tmp_path / "whole", asked)

    def stop(what: str, done: int, of: int) -> None:
        if what == "into fr":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(
            run,
            tiny_translator(run, sha256="a"),
            protocol(pivot="en"),
            folder=tmp_path / "out",
            progress=stop,
        )
    matrix, translated = evaluated(run, tmp_path / "out", asked)
    assert translated == ["en-fr", "de-fr", "fr-fr", "en-fr", "en-de"]  # and the second hops
    assert {cell.name: cell.scores for cell in matrix.all_cells} == {
        cell.name: cell.scores for cell in whole.all_cells
    }


def test_each_text_is_kept_once(run: Run, asked: list[str], tmp_path: Path) -> None:
    matrix, _ = evaluated(run, tmp_path / "out", asked)
    assert sorted(name.partition(".")[0] for name in matrix.texts) == ["de", "en", "fr"]
    cell = matrix.cells[LanguagePair("de", "fr")]
    assert (matrix.texts[cell.source_text], matrix.texts[cell.reference_text]) == (
        TEXT["de"],
        TEXT["fr"],
    )


def test_each_of_several_test_sets_has_its_matrix(
    run: Run, asked: list[str], tmp_path: Path
) -> None:
    (tmp_path / "other.de").write_text("das Kind liest\n", encoding="utf-8")
    (tmp_path / "other.en").write_text("the child reads\n", encoding="utf-8")
    sets = {name: [{"type": "text", "path": f"{name}.{{language}}"}] for name in ("test", "other")}
    given = protocol(test_sets=sets, pairs=["de-en"], copies=False)
    sizes = {
        name: evaluate(run, tiny_translator(run), given, test_set=name)
        .cells[LanguagePair("de", "en")]
        .sentences
        for name in given.corpora
    }
    assert sizes == {"test": 5, "other": 1}
