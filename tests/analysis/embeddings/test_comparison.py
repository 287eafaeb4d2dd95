"""Runs side by side: each row has the numbers of its run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from polyglot.analysis.embeddings.analysis import Analysis, Correlations, ProbeResult, analyse
from polyglot.analysis.embeddings.comparison import comparison
from polyglot.analysis.embeddings.config import AnalysisSettings
from polyglot.analysis.embeddings.page import markdown
from tests.builders.command_line import Program
from tests.builders.rendered import MARKDOWN_TEXT, token_types, visible_texts
from tests.builders.runs import train
from tests.evaluation.tiny import tiny_run, tiny_translator


def analysis(folder: Path, bridge: dict, **settings: object) -> Analysis:
    folder.mkdir()
    run = tiny_run(folder, model={"bridge": bridge})
    given = {
        "representations": ["bridge.flat", "bridge.mean"],
        "probe_sentences": 0,
        "map_sentences": 2,
    }
    return analyse(run, tiny_translator(run), AnalysisSettings.model_validate(given | settings))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysis]:
    folder = tmp_path_factory.mktemp("comparison")
    return {
        "two heads": analysis(folder / "two", {"type": "attention", "heads": 2, "hidden_size": 8}),
        "one head": analysis(folder / "one", {"type": "attention", "heads": 1, "hidden_size": 8}),
        "no bridge": analysis(folder / "none", {"type": "none"}),
    }


def rows(page: str) -> dict[tuple[str, str], list[str]]:
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("| bridge.")
    ]
    return {(row[0], row[1]): row[2:] for row in cells}


def test_each_row_is_of_its_run_and_its_representation(found: dict[str, Analysis]) -> None:
    page = comparison(found)
    own = rows(page)
    assert list(own) == [
        ("bridge.flat", "two heads"),
        ("bridge.flat", "one head"),
        *(("bridge.mean", name) for name in found),
    ]
    for (representation, name), (size, *values) in own.items():
        matrix = found[name].retrieval[representation]
        assert int(size) == found[name].sizes[representation]
        assert values == [
            f"{matrix.means(metric)[kind]:.1f}"
            for kind in ("supervised", "zero-shot")
            for metric in ("p@1", "mrr", "xsim")
        ]
    assert own["bridge.flat", "two heads"][0] == "16" and own["bridge.flat", "one head"][0] == "8"
    assert (
        f"| two heads | 2 | {found['two heads'].heads.alike:.3f} |" in page
        and "| one head | 1 | – |" in page
    )
    assert page.endswith("Test text: text test.{language}"), "said once where it is the same"


def test_names_of_runs_and_tests_stay_text(found: dict[str, Analysis]) -> None:
    one = found["two heads"]
    asked = {
        "similarity": {
            name: [Correlations(MARKDOWN_TEXT, ("en", "de"), 0.5, 0.25, 3)] for name in one.retrieval
        }
    }
    asked |= {"probes": {name: [ProbeResult(MARKDOWN_TEXT, "en", 50.0, 25.0, 8)] for name in one.retrieval}}
    one = dataclasses.replace(one, **asked)
    beside = comparison({MARKDOWN_TEXT: one})
    assert {MARKDOWN_TEXT, f"{MARKDOWN_TEXT}, en (25.0)"} <= set(visible_texts(beside)) and visible_texts(beside).count(
        MARKDOWN_TEXT
    ) == 3 * 2 + 1 + 1, "rows, heads of the bridge, one column"
    alone = markdown(one)
    assert {f"{MARKDOWN_TEXT} (3)", f"{MARKDOWN_TEXT}, en (8)"} <= set(visible_texts(alone))
    assert not {"html_inline", "html_block", "em_open", "link_open"} & (
        token_types(beside) | token_types(alone)
    )


def test_other_test_text_is_said(found: dict[str, Analysis], tmp_path: Path) -> None:
    other = analysis(
        tmp_path / "other", {"type": "mean"}, test=[{"type": "text", "path": "valid.{language}"}]
    )
    page = comparison({"one head": found["one head"], "other": other})
    assert page.endswith("Test text: one head: text test.{language}; other: text valid.{language}")


def test_the_verb_with_several_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        train(tiny_run(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "representations: [bridge.mean]\nprobe_sentences: 0\nmap_sentences: 2\n"
    )
    program = Program(monkeypatch, capsys)
    result = program(
        "analyse", "one/run", "two/run", "--settings", "mine.yaml", "--output", "comparison.md"
    )
    assert result.status == 0 and "one/run" in result.output
    page = Path("comparison.md").read_text(encoding="utf-8")
    assert list(rows(page)) == [("bridge.mean", "one/run"), ("bridge.mean", "two/run")]
    assert (
        Path("one/run/analysis/mine/analysis.json").is_file()
        and Path("two/run/analysis/mine/map.png").is_file()
    )
    assert "there is one" in program.refuses("analyse", "one/run", "--output", "comparison.md")
