"""Analysis of the sentence embeddings of an untrained run: all measurements and files."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from polyglot.analysis.embeddings.analysis import Analysis, analyse
from polyglot.analysis.embeddings.comparison import comparison
from polyglot.analysis.embeddings.config import REPRESENTATIONS, AnalysisSettings
from polyglot.analysis.embeddings.page import markdown, save, to_dict
from polyglot.analysis.embeddings.vectors import Vectors
from polyglot.core.errors import ConfigError, DataError
from polyglot.core.yaml import dump_yaml
from polyglot.evaluation.views.markdown import matrix_csv
from polyglot.evaluation.views.terminal import measure_table
from polyglot.runs.run import Run
from tests.builders.command_line import Program
from tests.builders.runs import train
from tests.evaluation.tiny import TEXT, tiny_run, tiny_translator

PNG = b"\x89PNG"
RETRIEVAL_ONLY = {"probe_sentences": 0, "map_sentences": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return tiny_run(tmp_path_factory.mktemp("analysis"))


@pytest.fixture(scope="module")
def settings(run: Run) -> AnalysisSettings:
    """A similarity test and a labelled text, and the test text of the run."""
    similarity = ""
    for english, german in zip(TEXT["en"], TEXT["de"]):
        similarity += f"{english}\t{german}\t{len(german)}\n"
    labelled = ""
    for line in TEXT["de"] * 4:
        label = "long" if len(line) > 12 else "short"
        labelled += f"{label}\t{line}\n"
    folder = Path(run.config.data.folder)
    (folder / "sts.tsv").write_text(similarity, encoding="utf-8")
    (folder / "own.tsv").write_text(labelled, encoding="utf-8")
    return AnalysisSettings.model_validate(
        {
            "similarity": [{"name": "mine", "languages": ["en", "de"], "path": "sts.tsv"}],
            "labelled": [{"name": "long or short", "language": "de", "path": "own.tsv"}],
            "map_sentences": 4,
        }
    )


@pytest.fixture(scope="module")
def analysis(run: Run, settings: AnalysisSettings) -> Analysis:
    return analyse(run, tiny_translator(run), settings)


def analyse_with(run: Run, **settings: Any) -> Analysis:
    """Analyse one representation without probes, unless the settings say otherwise."""
    values = {"representations": ["bridge.mean"], **RETRIEVAL_ONLY, **settings}
    return analyse(run, tiny_translator(run), AnalysisSettings.model_validate(values))


# Measurements


def test_every_representation_has_every_ordered_pair(analysis: Analysis) -> None:
    assert list(analysis.retrieval) == list(REPRESENTATIONS)
    assert analysis.sizes == {
        "bridge.flat": 16,
        "bridge.mean": 8,
        "bridge.max": 8,
        "states.mean": 8,
        "states.max": 8,
        "words.mean": 8,
    }
    for matrix in analysis.retrieval.values():
        kinds = {str(pair): cell.kind for pair, cell in matrix.cells.items()}
        assert kinds == {
            "en-de": "supervised",
            "en-fr": "supervised",
            "de-en": "supervised",
            "fr-en": "supervised",
            "de-fr": "zero-shot",
            "fr-de": "zero-shot",
        }
        for cell in matrix.cells.values():
            assert set(cell.scores) == {"p@1", "mrr", "xsim"}
            assert cell.sentences == 5


def test_the_same_text_with_the_same_encoder_is_found(run: Run) -> None:
    translator = tiny_translator(run)
    translator.model.encoders["fr"] = translator.model.encoders["en"]
    translator.vocabularies["fr"] = translator.vocabularies["en"]
    folder = Path(run.config.data.folder)
    for language in ("en", "fr"):
        (folder / f"same.{language}").write_text("\n".join(TEXT["en"]), encoding="utf-8")
    settings = AnalysisSettings.model_validate(
        {"test": [{"type": "text", "path": "same.{language}"}], **RETRIEVAL_ONLY}
    )
    for matrix in analyse(run, translator, settings).retrieval.values():
        assert matrix.means("p@1") == {"supervised": 100}
        assert matrix.means("xsim") == {"supervised": 0}


def test_similarity_uses_the_cosines_of_the_vectors(run: Run, analysis: Analysis) -> None:
    vectors = Vectors(tiny_translator(run), "states.max")
    english = vectors(TEXT["en"], "en")
    german = vectors(TEXT["de"], "de")
    norms = numpy.linalg.norm(english, axis=1) * numpy.linalg.norm(german, axis=1)
    cosines = (english * german).sum(axis=1) / norms
    lengths = [len(line) for line in TEXT["de"]]

    (result,) = analysis.similarity["states.max"]
    assert result.pearson == pytest.approx(numpy.corrcoef(cosines, lengths)[0, 1], abs=1e-5)
    assert result.pairs == 5


def test_every_probe_has_an_accuracy(analysis: Analysis) -> None:
    assert "long or short" in [result.name for result in analysis.probes["bridge.flat"]]
    for results in analysis.probes.values():
        for result in results:
            assert 0 <= result.accuracy <= 100


def test_the_settings_limit_sentences_and_neighbours(run: Run) -> None:
    analysis = analyse_with(run, sentences=3, neighbours=2)
    for cell in analysis.retrieval["bridge.mean"].cells.values():
        assert cell.sentences == 3
        assert "ratio|k:2|n:3" in cell.scores["xsim"].signature


def test_equal_cosines_have_no_correlation(run: Run, tmp_path: Path) -> None:
    """Blank sentences have vectors of zeros; JSON has no NaN."""
    blank = "\tes regnet\t1\n\tEin Hund\t2\n"
    (Path(run.config.data.folder) / "blank.tsv").write_text(blank, encoding="utf-8")
    similarity = [{"name": "blank", "languages": ["en", "de"], "path": "blank.tsv"}]
    analysis = analyse_with(run, similarity=similarity)
    save(analysis, tmp_path)

    text = (tmp_path / "analysis.json").read_text(encoding="utf-8")
    values = json.loads(text, parse_constant=pytest.fail)
    (result,) = values["similarity"]["bridge.mean"]
    assert result["pearson"] is None
    assert result["spearman"] is None
    page = (tmp_path / "analysis.md").read_text(encoding="utf-8")
    assert "| bridge.mean | – / – |" in page
    assert "| bridge.mean | run | 8 | – |" in comparison({"run": analysis})


def test_without_a_bridge_there_are_neither_heads_nor_flat_vectors(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, model={"bridge": {"type": "none"}})
    analysis = analyse_with(run, representations=list(REPRESENTATIONS))
    expected = [name for name in REPRESENTATIONS if name != "bridge.flat"]
    assert list(analysis.retrieval) == expected
    assert analysis.heads is None
    assert list(analysis.pictures) == ["map.png"]
    assert "Heads of the bridge" not in markdown(analysis)
    assert to_dict(analysis)["heads"] is None

    message = "representations: 1 problem\n  pooling: 'flat' needs the same number of rows"
    with pytest.raises(ConfigError, match=message):
        analyse_with(run, representations=["bridge.flat"])


@pytest.mark.parametrize(
    ("bridge", "size"),
    [({"type": "mean"}, 8), ({"type": "perceiver", "rows": 2, "heads": 2}, 16)],
)
def test_rows_that_are_not_weighted_sums_have_no_heads(
    tmp_path: Path, bridge: dict[str, Any], size: int
) -> None:
    run = tiny_run(tmp_path, model={"bridge": bridge})
    analysis = analyse_with(run, representations=["bridge.flat"])
    assert analysis.heads is None
    assert list(analysis.pictures) == ["map.png"]
    assert analysis.sizes["bridge.flat"] == size


def test_pairs_without_text_have_a_reason(run: Run) -> None:
    """English has text with German and with French, but German and French have none together."""
    folder = Path(run.config.data.folder)
    files = {
        "x.en": TEXT["en"],
        "x.de": TEXT["de"],
        "y.en": TEXT["en"][:3],
        "y.fr": TEXT["fr"][:3],
    }
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    pairs = {"en-de": ["x.en", "x.de"], "en-fr": ["y.en", "y.fr"]}
    analysis = analyse_with(run, test=[{"type": "text", "pairs": pairs}], map_sentences=3)

    matrix = analysis.retrieval["bridge.mean"]
    cells = {str(pair): cell for pair, cell in matrix.cells.items()}
    assert cells["de-fr"].reason == "no text in de and fr together"
    assert not cells["de-fr"].scores
    assert cells["de-en"].sentences == 5
    assert cells["fr-en"].sentences == 3
    assert "–" in markdown(analysis)
    assert analysis.map.sentences == {"en": TEXT["en"][:3], "de": TEXT["de"][:3]}


# Files


def test_the_files_of_an_analysis(analysis: Analysis, tmp_path: Path) -> None:
    save(analysis, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"analysis.md", "analysis.json", "map.png", "heads.png"} <= names
    assert {"retrieval.bridge.flat.csv", "retrieval.words.mean.p1.png"} <= names
    for path in tmp_path.glob("*.png"):
        assert path.read_bytes().startswith(PNG)

    page = (tmp_path / "analysis.md").read_text(encoding="utf-8")
    assert "zero-shot† P@1" in page
    assert "mine (5)" in page
    assert "long or short, de (20)" in page
    assert "xSIM error" in page
    assert "2 heads. Mean cosine similarity between the attention of two heads: " in page
    assert "score:ratio|k:4|n:5" in page
    values = json.loads((tmp_path / "analysis.json").read_text(encoding="utf-8"))
    assert values["sizes"] == analysis.sizes


def test_files_of_an_earlier_analysis_are_replaced(analysis: Analysis, tmp_path: Path) -> None:
    analysis = dataclasses.replace(
        analysis,
        retrieval={"bridge.mean": analysis.retrieval["bridge.mean"]},
        pictures={"map.png": PNG},
    )
    earlier = ["retrieval.old.csv", "retrieval.old.mrr.png", "heads.png", "analysis.html"]
    for name in [*earlier, "notes.txt"]:
        (tmp_path / name).touch()
    save(analysis, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert not names & set(earlier)
    assert {"notes.txt", "map.png", "retrieval.bridge.mean.csv"} <= names


def test_retrieval_has_the_views_of_translation_scores(analysis: Analysis) -> None:
    text = matrix_csv(analysis.retrieval["bridge.flat"])
    rows = list(csv.DictReader(text.splitlines()))
    cells = list(analysis.retrieval["bridge.flat"].cells.values())
    assert [float(row["p@1"]) for row in rows] == [cell.scores["p@1"].value for cell in cells]
    assert measure_table(analysis.retrieval["bridge.mean"], "mrr").row_count


# The command


SIMILARITY_SETTINGS = "similarity: [{name: flat, languages: [en, de], path: flat.tsv}]\n"


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train(tiny_run(tmp_path))
    monkeypatch.chdir(tmp_path)
    settings = "representations: [bridge.mean]\nprobe_sentences: 0\nmap_sentences: 2\n"
    Path("mine.yaml").write_text(settings)
    program = Program(monkeypatch, capsys)
    result = program("analyse", "run", "--settings", "mine.yaml")
    assert result.status == 0
    assert "bridge.mean" in result.output
    assert Path("run/analysis/mine/map.png").is_file()

    Path("bad.yaml").write_text("representations: [bridge.median]\nneighbors: 3\n")
    message = program.refuses("analyse", "run", "--settings", "bad.yaml")
    assert "no representation named 'bridge.median'. Did you mean 'bridge.mean'?" in message
    assert "neighbors" in message

    Path("flat.tsv").write_text("a dog sleeps\tEin Hund\t3\nit rains\tes regnet\t3\n")
    Path("flat.yaml").write_text(SIMILARITY_SETTINGS)
    message = program.refuses("analyse", "run", "--settings", "flat.yaml")
    assert "flat.tsv: the score in column 3 is 3 for all 2 pairs" in message
    assert not Path("run/analysis/flat").exists()


# Errors


@pytest.mark.parametrize(
    ("key", "languages"),
    [("similarity", {"languages": ["en", "de"]}), ("labelled", {"language": "en"})],
)
def test_names_must_be_unique(key: str, languages: dict[str, Any], tmp_path: Path) -> None:
    tests = [{"name": name, "path": "sts.tsv", **languages} for name in ("STS", "SICK", "STS")]
    (tmp_path / "mine.yaml").write_text(dump_yaml({key: tests}))
    with pytest.raises(ConfigError, match=f"{key}: 'STS' is used more than once"):
        AnalysisSettings.load(tmp_path / "mine.yaml")


def test_unknown_languages_and_missing_text_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        analyse_with(run, probe_sentences=1, probe_languages=["xx"])
    with pytest.raises(DataError, match="nothing for any of en, de, fr"):
        analyse_with(run, test=[{"type": "text", "path": "none.{language}"}])
    without_test = tiny_run(tmp_path, data={"test": []})
    with pytest.raises(ConfigError, match="data.test names no corpus"):
        analyse_with(without_test)
