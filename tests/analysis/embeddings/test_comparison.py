"""Tables of several runs: each row has the numbers of its run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from polyglot.analysis.embeddings.analysis import Analysis, Correlations, ProbeResult, analyse
from polyglot.analysis.embeddings.comparison import comparison
from polyglot.analysis.embeddings.config import AnalysisSettings
from polyglot.analysis.embeddings.page import markdown
from tests.builders.command_line import Program
from tests.builders.pictures import limit_pictures
from tests.builders.rendered import MARKDOWN_TEXT, token_types, visible_texts
from tests.builders.runs import train
from tests.evaluation.tiny import tiny_run, tiny_translator

SETTINGS = {
    "representations": ["bridge.flat", "bridge.mean"],
    "probe_sentences": 0,
    "map_sentences": 2,
}


def analyse_bridge(folder: Path, bridge: dict[str, Any], **settings: Any) -> Analysis:
    folder.mkdir()
    run = tiny_run(folder, model={"bridge": bridge})
    all_settings = AnalysisSettings.model_validate({**SETTINGS, **settings})
    return analyse(run, tiny_translator(run), all_settings)


@pytest.fixture(scope="module")
def analyses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysis]:
    folder = tmp_path_factory.mktemp("comparison")
    two_heads = {"type": "attention", "heads": 2, "hidden_size": 8}
    one_head = {"type": "attention", "heads": 1, "hidden_size": 8}
    with pytest.MonkeyPatch.context() as patch:
        limit_pictures(patch)
        return {
            "two heads": analyse_bridge(folder / "two", two_heads),
            "one head": analyse_bridge(folder / "one", one_head),
            "no bridge": analyse_bridge(folder / "none", {"type": "none"}),
        }


def table_rows(page: str) -> dict[tuple[str, str], list[str]]:
    """Cells by representation and run."""
    rows = {}
    for line in page.splitlines():
        if line.startswith("| bridge."):
            representation, run, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            rows[representation, run] = cells
    return rows


def test_each_row_has_the_numbers_of_its_run(analyses: dict[str, Analysis]) -> None:
    rows = table_rows(comparison(analyses))
    assert list(rows) == [
        ("bridge.flat", "two heads"),
        ("bridge.flat", "one head"),
        ("bridge.mean", "two heads"),
        ("bridge.mean", "one head"),
        ("bridge.mean", "no bridge"),
    ]
    for (representation, name), (size, *values) in rows.items():
        matrix = analyses[name].retrieval[representation]
        assert int(size) == analyses[name].sizes[representation]
        expected = []
        for kind in ("supervised", "zero-shot"):
            for metric in ("p@1", "mrr", "xsim"):
                expected.append(f"{matrix.means(metric)[kind]:.1f}")
        assert values == expected
    assert rows["bridge.flat", "two heads"][0] == "16"
    assert rows["bridge.flat", "one head"][0] == "8"


def test_the_heads_of_each_run_are_compared(analyses: dict[str, Analysis]) -> None:
    page = comparison(analyses)
    similarity = analyses["two heads"].heads.similarity
    assert f"| two heads | 2 | {similarity[0, 1]:.3f} |" in page
    assert "| one head | 1 | – |" in page


def test_names_of_runs_and_tests_stay_text(analyses: dict[str, Analysis]) -> None:
    analysis = analyses["two heads"]
    correlation = Correlations(MARKDOWN_TEXT, ("en", "de"), 0.5, 0.25, 3)
    probe = ProbeResult(MARKDOWN_TEXT, "en", 50.0, 25.0, 8)
    analysis = dataclasses.replace(
        analysis,
        similarity={name: [correlation] for name in analysis.retrieval},
        probes={name: [probe] for name in analysis.retrieval},
    )
    page = comparison({MARKDOWN_TEXT: analysis})
    texts = visible_texts(page)
    assert {MARKDOWN_TEXT, f"{MARKDOWN_TEXT}, en (25.0)"} <= set(texts)
    tables_with_two_rows = 3
    assert texts.count(MARKDOWN_TEXT) == 2 * tables_with_two_rows + 2, "heads, title of a column"

    single_page = markdown(analysis)
    texts = visible_texts(single_page)
    assert {f"{MARKDOWN_TEXT} (3)", f"{MARKDOWN_TEXT}, en (8)"} <= set(texts)
    types = token_types(page) | token_types(single_page)
    assert not {"html_inline", "html_block", "em_open", "link_open"} & types


def test_the_test_text_is_named_once_if_all_runs_have_the_same(
    analyses: dict[str, Analysis], tmp_path: Path
) -> None:
    assert comparison(analyses).endswith("Test text: text test.{language}")
    test = [{"type": "text", "path": "valid.{language}"}]
    other = analyse_bridge(tmp_path / "other", {"type": "mean"}, test=test)
    page = comparison({"one head": analyses["one head"], "other": other})
    assert page.endswith("Test text: one head: text test.{language}; other: text valid.{language}")


def test_the_command_with_several_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    small_pictures: None,
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        train(tiny_run(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    settings = "representations: [bridge.mean]\nprobe_sentences: 0\nmap_sentences: 2\n"
    (tmp_path / "mine.yaml").write_text(settings)

    program = Program(monkeypatch, capsys)
    runs = ("one/run", "two/run")
    options = ("--settings", "mine.yaml", "--output", "comparison.md")
    result = program("analyse", *runs, *options)
    assert result.status == 0
    assert "one/run" in result.output
    page = Path("comparison.md").read_text(encoding="utf-8")
    assert list(table_rows(page)) == [("bridge.mean", "one/run"), ("bridge.mean", "two/run")]
    assert Path("one/run/analysis/mine/analysis.json").is_file()
    assert Path("two/run/analysis/mine/map.png").is_file()
    assert "--output" in program.refuses("analyse", "one/run", "--output", "comparison.md")
