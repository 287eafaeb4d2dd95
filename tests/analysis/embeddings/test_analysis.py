"""`polyglot analyse`: everything about the embeddings of a run, from an untrained one."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy
import pytest
import torch

from polyglot.analysis.embeddings import figures
from polyglot.analysis.embeddings.analysis import Vectors, analyse
from polyglot.analysis.embeddings.comparison import comparison
from polyglot.analysis.embeddings.config import REPRESENTATIONS, AnalysisSettings
from polyglot.analysis.embeddings.page import markdown, save, to_dict
from polyglot.core.errors import ConfigError, DataError
from polyglot.core.yaml import dump_yaml
from polyglot.evaluation.views.terminal import measure_table
from tests.builders.command_line import Program
from tests.builders.runs import train
from tests.evaluation.tiny import TEXT, tiny_run, tiny_translator

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return tiny_run(tmp_path_factory.mktemp("analysis"))


@pytest.fixture(scope="module")
def settings(run):
    """A similarity test and a labelled text of the user's beside the run's own test text."""
    folder = Path(run.config.data.folder)
    (folder / "sts.tsv").write_text(
        "".join(f"{one}\t{other}\t{len(other)}\n" for one, other in zip(TEXT["en"], TEXT["de"]))
    )
    (folder / "own.tsv").write_text(
        "".join(f"{'long' if len(line) > 12 else 'short'}\t{line}\n" for line in TEXT["de"] * 4)
    )
    return AnalysisSettings.model_validate({
        "similarity": [{"name": "mine", "languages": ["en", "de"], "path": "sts.tsv"}],
        "labelled": [{"name": "long or short", "language": "de", "path": "own.tsv"}],
        "map_sentences": 4,
    })  # fmt: skip


@pytest.fixture(scope="module")
def found(run, settings):
    return analyse(run, tiny_translator(run), settings)


def test_every_representation_and_every_ordered_pair(found):
    assert list(found.retrieval) == list(REPRESENTATIONS)
    assert found.sizes == {
        "bridge.flat": 16,
        "bridge.mean": 8,
        "bridge.max": 8,
        "states.mean": 8,
        "states.max": 8,
        "words.mean": 8,
    }
    for matrix in found.retrieval.values():
        assert {(str(pair), cell.kind) for pair, cell in matrix.cells.items()} == {
            ("en-de", "supervised"), ("en-fr", "supervised"), ("de-en", "supervised"), ("fr-en", "supervised"), ("de-fr", "zero-shot"), ("fr-de", "zero-shot")
        }  # fmt: skip
        assert all(
            set(cell.scores) == {"p@1", "mrr", "xsim"} and cell.sentences == 5
            for cell in matrix.cells.values()
        )


def test_a_language_finds_itself(run):
    """The same text on both sides, in a run whose two languages have the same components."""
    translator = tiny_translator(run)
    translator.model.encoders["fr"], translator.vocabularies["fr"] = (
        translator.model.encoders["en"],
        translator.vocabularies["en"],
    )
    folder = Path(run.config.data.folder)
    for language in ("en", "fr"):
        (folder / f"same.{language}").write_text("\n".join(TEXT["en"]))
    settings = AnalysisSettings.model_validate(
        {
            "test": [{"type": "text", "path": "same.{language}"}],
            "probe_sentences": 0,
            "map_sentences": 2,
        }
    )
    for matrix in analyse(run, translator, settings).retrieval.values():
        assert matrix.means("p@1") == {"supervised": 100} and matrix.means("xsim") == {
            "supervised": 0
        }


def test_similarity_and_probes_are_of_the_same_vectors(run, found):
    translator = tiny_translator(run)
    vectors = Vectors(translator, "states.max")
    cosines = translator.similarity_pairwise(
        vectors(TEXT["en"], "en"), vectors(TEXT["de"], "de")
    ).tolist()
    (one,) = found.similarity["states.max"]
    assert (
        one.pearson
        == pytest.approx(numpy.corrcoef(cosines, [len(line) for line in TEXT["de"]])[0, 1])
        and one.pairs == 5
    )
    assert {result.name for result in found.probes["bridge.flat"]} >= {"long or short"}
    assert all(0 <= result.accuracy <= 100 for own in found.probes.values() for result in own)


def test_the_same_views_as_of_translations(found, tmp_path):
    save(found, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {
        "analysis.md",
        "analysis.json",
        "map.png",
        "heads.png",
        "retrieval.bridge.flat.csv",
        "retrieval.words.mean.p1.png",
    } <= names
    assert all(path.read_bytes().startswith(PNG) for path in tmp_path.glob("*.png"))
    rows = list(csv.DictReader((tmp_path / "retrieval.bridge.flat.csv").read_text().splitlines()))
    assert (
        len(rows) == 6
        and float(rows[0]["p@1"])
        == found.retrieval["bridge.flat"]
        .cells[next(iter(found.retrieval["bridge.flat"].cells))]
        .scores["p@1"]
        .value
    )
    page = (tmp_path / "analysis.md").read_text()
    for part in (
        "zero-shot† P@1",
        "mine (5)",
        "long or short, de (20)",
        "xSIM error",
        "2 heads",
        "score:ratio|k:4|n:5",
    ):
        assert part in page
    assert json.loads((tmp_path / "analysis.json").read_text())["sizes"] == found.sizes
    assert measure_table(found.retrieval["bridge.mean"], "mrr").row_count
    (tmp_path / "retrieval.old.csv").touch()
    save(found, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == names, "what an earlier one left is gone"


def test_where_all_pairs_are_equally_alike_there_is_no_correlation(run, tmp_path):
    """Blank sentences are as far from each other as from anything, and JSON has no word for what is no number."""
    (Path(run.config.data.folder) / "blank.tsv").write_text("\tes regnet\t1\n\tEin Hund\t2\n")
    similarity = [{"name": "blank", "languages": ["en", "de"], "path": "blank.tsv"}]
    settings = AnalysisSettings.model_validate(
        {
            "similarity": similarity,
            "representations": ["bridge.mean"],
            "probe_sentences": 0,
            "map_sentences": 2,
        }
    )
    found = analyse(run, tiny_translator(run), settings)
    save(found, tmp_path)
    (one,) = json.loads((tmp_path / "analysis.json").read_text(), parse_constant=pytest.fail)[
        "similarity"
    ]["bridge.mean"]
    assert one["pearson"] is one["spearman"] is None
    assert "| bridge.mean | – / – |" in (
        tmp_path / "analysis.md"
    ).read_text() and "| bridge.mean | run | 8 | – |" in comparison({"run": found})


def test_without_a_bridge_the_rest_is_measured(tmp_path):
    run = tiny_run(tmp_path, model={"bridge": {"type": "none"}})
    found = analyse(run, tiny_translator(run), AnalysisSettings(probe_sentences=0, map_sentences=2))
    assert list(found.retrieval) == [name for name in REPRESENTATIONS if name != "bridge.flat"]
    assert found.heads is None and list(found.pictures) == ["map.png"]
    assert "Heads of the bridge" not in markdown(found) and to_dict(found)["heads"] is None
    with pytest.raises(
        ConfigError,
        match="representations: 1 problem\n  pooling: 'flat' needs the same number of rows",
    ):
        analyse(run, tiny_translator(run), AnalysisSettings(representations=["bridge.flat"]))


@pytest.mark.parametrize("bridge", [{"type": "mean"}, {"type": "perceiver", "rows": 2, "heads": 2}])
def test_rows_that_are_not_mixed_by_weights_have_no_heads_to_show(tmp_path, bridge):
    run = tiny_run(tmp_path, model={"bridge": bridge})
    found = analyse(
        run,
        tiny_translator(run),
        AnalysisSettings(representations=["bridge.flat"], probe_sentences=0, map_sentences=2),
    )
    assert (
        found.heads is None
        and list(found.pictures) == ["map.png"]
        and found.sizes["bridge.flat"] in (8, 16)
    )


def test_only_english_has_text_with_the_others(run):
    """Test sets of one pair each: other pairs have none, and the page says so by an empty cell."""
    folder = Path(run.config.data.folder)
    for name, lines in {
        "x.en": TEXT["en"],
        "x.de": TEXT["de"],
        "y.en": TEXT["en"][:3],
        "y.fr": TEXT["fr"][:3],
    }.items():
        (folder / name).write_text("\n".join(lines))
    test = [{"type": "text", "pairs": {"en-de": ["x.en", "x.de"], "en-fr": ["y.en", "y.fr"]}}]
    found = analyse(
        run,
        tiny_translator(run),
        AnalysisSettings.model_validate({"test": test, "probe_sentences": 0, "map_sentences": 3}),
    )
    cells = {str(pair): cell for pair, cell in found.retrieval["bridge.flat"].cells.items()}
    assert cells["de-fr"].reason == "no text in de and fr together" and not cells["de-fr"].scores
    assert (cells["de-en"].sentences, cells["fr-en"].sentences) == (5, 3)
    assert "–" in markdown(found)


# Pictures ----------------------------------------------------------------------------------------------------------------


def test_the_plane_keeps_what_varies_most():
    line = numpy.outer(numpy.arange(10), [3, 4, 0, 0]).astype("float32")
    (name, points), *_ = figures.projections(line + 5).items()
    assert name == "PCA, 100% of the variance"
    assert numpy.allclose(numpy.abs(numpy.diff(points[:, 0])), 5, atol=1e-4) and numpy.allclose(
        points[:, 1], 0, atol=1e-4
    )


def test_tenths_of_a_sentence():
    """Three words, the second one is attended to: it lies in the 4th to the 7th tenth."""
    mask = torch.tensor([[True, True, True, False]])
    found = torch.tensor([0.0, 1.0, 0.0, 0.0]).double() @ figures._tenths(mask)[0]
    numpy.testing.assert_allclose(found, [0, 0, 0, 0.2, 0.3, 0.3, 0.2, 0, 0, 0], atol=1e-9)


def test_heads_attend_to_all_of_a_sentence_and_are_like_themselves(found):
    assert found.heads.positions.keys() == {"en", "de", "fr"}
    for own in found.heads.positions.values():
        numpy.testing.assert_allclose(own.sum(axis=1), 1, atol=1e-6)
    numpy.testing.assert_allclose(numpy.diag(found.heads.similarity), 1, atol=1e-6)


# The verb ----------------------------------------------------------------------------------------------------------------


def test_the_verb(tmp_path, monkeypatch, capsys):
    train(tiny_run(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "representations: [bridge.mean]\nprobe_sentences: 0\nmap_sentences: 2\n"
    )
    program = Program(monkeypatch, capsys)
    result = program("analyse", "run", "--settings", "mine.yaml")
    assert (
        result.status == 0
        and "bridge.mean" in result.output
        and Path("run/analysis/mine/map.png").is_file()
    )
    (tmp_path / "bad.yaml").write_text("representations: [bridge.median]\nneighbors: 3\n")
    message = program.refuses("analyse", "run", "--settings", "bad.yaml")
    assert (
        "no representation named 'bridge.median'. Did you mean 'bridge.mean'?" in message
        and "neighbors" in message
    )
    (tmp_path / "flat.tsv").write_text("a dog sleeps\tEin Hund\t3\nit rains\tes regnet\t3\n")
    (tmp_path / "flat.yaml").write_text(
        "similarity: [{name: flat, languages: [en, de], path: flat.tsv}]\n"
    )
    assert "flat.tsv: all scores are the same" in program.refuses(
        "analyse", "run", "--settings", "flat.yaml"
    )
    assert not Path("run/analysis/flat").exists()


@pytest.mark.parametrize(
    ("key", "one"), [("similarity", {"languages": ["en", "de"]}), ("labelled", {"language": "en"})]
)
def test_two_tests_of_one_name_are_refused(key, one, tmp_path):
    given = {key: [{"name": name, "path": "sts.tsv", **one} for name in ("STS", "SICK", "STS")]}
    (tmp_path / "mine.yaml").write_text(dump_yaml(given))
    with pytest.raises(
        ConfigError, match=f"{key}: 'STS' named twice; tables tell them apart by their names"
    ):
        AnalysisSettings.load(tmp_path / "mine.yaml")


def test_what_cannot_be_analysed(run, tmp_path):
    translator = tiny_translator(run)
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        analyse(run, translator, AnalysisSettings(probe_languages=["xx"]))
    with pytest.raises(DataError, match="nothing for any of en, de, fr"):
        analyse(
            run,
            translator,
            AnalysisSettings.model_validate(
                {"test": [{"type": "text", "path": "none.{language}"}]}
            ),
        )
    with pytest.raises(ConfigError, match="data.test names no corpus"):
        bare = tiny_run(tmp_path, data={"test": []})
        analyse(bare, tiny_translator(bare), AnalysisSettings())
