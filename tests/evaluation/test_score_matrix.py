"""The matrix: kinds and means are right, nothing is lost on disk, and every view marks what was never trained."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import struct
from pathlib import Path

import matplotlib
import pytest
from rich.console import Console

from polyglot.core import atomic_files
from polyglot.core.errors import CheckpointError, DataError
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.evaluation.views import markdown, terminal
from polyglot.evaluation.views.export import save_with_views
from polyglot.evaluation.views.heat_map import _readable_colour, contrast, heat_map_png
from polyglot.tasks.pairs import LanguagePair
from tests.builders.rendered import MARKDOWN_TEXT, token_types, visible_texts
from tests.evaluation.by_hand import BLEU_SIGNATURE, matrix

REFERENCE = "attention_bridge_english_centric_with_copies"


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_means_are_those_of_each_kind() -> None:
    assert matrix().means("bleu") == {"supervised": 45.0, "zero-shot": 15.5, "copy": 80.0}
    assert matrix().means("chrf")["zero-shot"] == pytest.approx(0.155 + 1 / 3)


def test_signatures_name_their_targets() -> None:
    assert matrix().signatures("bleu") == {BLEU_SIGNATURE: ["en", "de", "fr"]}


def test_signatures_include_those_of_pivot_translation() -> None:
    pivot_matrix = matrix(pivot=True)
    cell = pivot_matrix.pivots[LanguagePair("de", "fr")]
    scores = {"bleu": dataclasses.replace(cell.scores["bleu"], signature="other signature")}
    pivots = {
        **pivot_matrix.pivots,
        cell.pair: dataclasses.replace(cell, scores=scores),
    }
    changed = dataclasses.replace(pivot_matrix, pivots=pivots)
    assert changed.signatures("bleu") == {
        BLEU_SIGNATURE: ["en", "de", "fr"],
        "other signature": ["fr"],
    }
    assert matrix().signatures("bleu") == {BLEU_SIGNATURE: ["en", "de", "fr"]}


@pytest.mark.parametrize("reference", [None, REFERENCE])
def test_saved_and_loaded_it_is_the_same(reference: str | None, tmp_path: Path) -> None:
    save_with_views(matrix(reference=reference), tmp_path / "default")
    assert ScoreMatrix.load(tmp_path / "default") == matrix(reference=reference)


def test_the_folder_holds_every_view(tmp_path: Path) -> None:
    save_with_views(matrix(), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "matrix.json",
        "matrix.csv",
        "matrix.md",
        "bleu.png",
        "chrf.png",
        "hypotheses",
        "text",
        "cells",
    }
    assert (
        tmp_path / "hypotheses" / "de-fr.txt"
    ).read_bytes() == "de-fr one\ntwo\u2028still two\x85\n".encode()


def test_json_says_how_the_scores_were_made(tmp_path: Path) -> None:
    save_with_views(matrix(), tmp_path)
    values = json.loads((tmp_path / "matrix.json").read_text(encoding="utf-8"))
    assert values["checkpoint"] == {"run": "phrasebook", "checkpoint": "best", "steps": [4000]}
    assert values["search"]["beam"] == 5 and values["protocol"]["search"] == {"beam": 5}
    assert "de-en" in values["trained"] and "de-fr" not in values["trained"]
    assert {cell["scores"]["bleu"]["signature"] for cell in values["cells"] if cell["scores"]} == {
        BLEU_SIGNATURE
    }
    assert [cell["reason"] for cell in values["cells"] if cell["pair"] == "de-fi"] == [
        "no text in fi"
    ]


def test_what_an_earlier_matrix_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "hypotheses").mkdir()
    old = [tmp_path / "ter.png", tmp_path / "hypotheses" / "xx-yy.txt"]
    for path in old:
        path.write_text("old")
    save_with_views(matrix(), tmp_path)
    assert not any(path.exists() for path in old)


@pytest.mark.parametrize("file", ["matrix.csv", "matrix.json", "de-en.txt"])
def test_a_matrix_that_cannot_be_written_leaves_the_earlier_one(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_with_views(matrix(), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write = atomic_files.write_synced

    def full(path: Path, content: bytes) -> None:
        if file in path.name:
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(atomic_files, "write_synced", full)
    with pytest.raises(
        CheckpointError, match=f"{file}: cannot be written: No space left on device"
    ):
        save_with_views(matrix(), tmp_path)
    assert {path: path.read_bytes() for path in before} == before


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "evaluation").write_text("a file")
    with pytest.raises(CheckpointError, match="evaluation.*: the matrix cannot be written: "):
        save_with_views(matrix(), tmp_path / "evaluation")


def test_a_picture_that_cannot_be_drawn_takes_nothing_else_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> bytes:
        raise RuntimeError("no font")

    monkeypatch.setattr("polyglot.evaluation.views.export.heat_map_png", fail)
    with pytest.raises(RuntimeError, match="no font"):
        save_with_views(matrix(), tmp_path)
    assert ScoreMatrix.load(tmp_path) == matrix()
    assert (tmp_path / "matrix.csv").is_file() and (tmp_path / "matrix.md").is_file()


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", '{"format": 99}', '{"format": 2}'])
def test_what_is_no_matrix_is_said(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "matrix.json").write_text(content)
    with pytest.raises(DataError, match="matrix.json: .*evaluate"):
        ScoreMatrix.load(tmp_path)


def test_another_format_is_said(tmp_path: Path) -> None:
    save_with_views(matrix(), tmp_path)
    path = tmp_path / "matrix.json"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"format": 2', '"format": 99'), encoding="utf-8"
    )
    with pytest.raises(DataError, match="format 99, this version of Polyglot reads 2"):
        ScoreMatrix.load(tmp_path)


def test_names_of_runs_corpora_and_machines_stay_text_in_markdown() -> None:
    page = markdown.matrix_markdown(
        dataclasses.replace(matrix(run=MARKDOWN_TEXT), test=[MARKDOWN_TEXT], machine=MARKDOWN_TEXT)
    )
    shown = visible_texts(page)
    assert f"Translation matrix: {MARKDOWN_TEXT}, best checkpoint (step 4000)" in shown
    assert f"test text: {MARKDOWN_TEXT}" in shown and f"machine: {MARKDOWN_TEXT}" in shown
    assert not {"html_inline", "html_block", "em_open", "link_open", "image"} & token_types(page)


def test_markdown_marks_zero_shot_and_copies() -> None:
    lines = markdown.matrix_markdown(matrix()).splitlines()
    assert "never trained" in lines[2]
    first = lines.index("## BLEU") + 2
    assert cells(lines[first]) == ["from ↓ into →", "en", "de", "fr", "fi"]
    assert cells(lines[first + 3]) == ["**de**", "40.0", "(80.0)", "10.0†", "–"]
    assert "| zero-shot | 15.50† | 2 |" in lines
    assert f"- signature: `BLEU|{BLEU_SIGNATURE}`" in lines
    assert "- de-fi: no text in fi" in lines
    assert any(line.startswith("- search: beam 5") for line in lines)


def test_markdown_shows_the_paper_beside_ours() -> None:
    text = markdown.matrix_markdown(matrix(reference=REFERENCE))
    assert text.count("### Reference: Vázquez et al.") == 1  # beside BLEU, not beside chrF
    assert "| **de** | 40.17 |  | 26.46† | 19.50† |" in text  # our languages first, in our order
    assert "| zero-shot | 15.50 | 26.21 | -10.71 | 2 |" in text
    assert "comparable only with scores on such text" in text


def test_csv_has_one_row_a_cell() -> None:
    rows = list(csv.DictReader(io.StringIO(markdown.matrix_csv(matrix()))))
    assert len(rows) == 16
    by_pair = {f"{row['source']}-{row['target']}": row for row in rows}
    assert by_pair["de-fr"]["kind"] == "zero-shot" and float(by_pair["de-fr"]["bleu"]) == 10.0
    assert by_pair["de-fr"]["bleu_signature"] == BLEU_SIGNATURE
    assert by_pair["de-fi"]["bleu"] == "" and by_pair["de-fi"]["reason"] == "no text in fi"


def test_the_terminal_needs_no_colour_and_trusts_no_name() -> None:
    screen = Console(file=io.StringIO(), width=100, force_terminal=False)
    screen.print(terminal.measure_table(matrix(run="[bold]odd[/nothing]"), "bleu"))
    text = screen.file.getvalue()
    assert "[bold]odd[/nothing], best checkpoint (step 4000)" in text
    assert "10.0†" in text and "(80.0)" in text and "40.0 " in text
    assert (
        "means: supervised 45.0 (4 cells) · zero-shot† 15.5 (2 cells) · (copy) 80.0 (3 cells)"
        in text
    )
    assert f"BLEU|{BLEU_SIGNATURE}" in text


@pytest.mark.parametrize("width", [24, 40, 80, 200])
def test_columns_for_which_the_terminal_has_no_room_come_after_the_others(width: int) -> None:
    languages = [f"l{number}" for number in range(16)]
    pairs = {
        LanguagePair(source, target): 10.0 + number
        for number, source in enumerate(languages)
        for target in languages
    }
    grid = terminal.Grid("BLEU", languages, dict.fromkeys(pairs, "zero-shot"), pairs)
    screen = Console(file=io.StringIO(), width=width)
    screen.print(terminal.GridView(grid))
    lines = [line.split() for line in screen.file.getvalue().splitlines()]
    heads = [line[4:] for line in lines if line[:1] == ["from"]]
    assert sum(heads, []) == languages and (len(heads) == 1) == (width == 200)
    for number, language in enumerate(languages):
        assert [line[1:] for line in lines if line[:1] == [language]] == [
            [f"{10 + number}.0†"] * len(head) for head in heads
        ]


def test_runs_in_the_head_of_a_table_are_trusted_no_more() -> None:
    screen = Console(file=io.StringIO(), width=100, force_terminal=False)
    screen.print(terminal.plain_table("direction", "[bold]odd", "[/nothing]"))
    assert "[bold]odd   [/nothing]" in screen.file.getvalue()


@pytest.mark.parametrize(("reference", "panels"), [(None, 1), (REFERENCE, 2)])
def test_the_heat_map_is_a_picture_of_sensible_size(reference: str | None, panels: int) -> None:
    backend = matplotlib.get_backend()
    content = heat_map_png(matrix(reference=reference, run="$odd_{$name"), "bleu")
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert 600 * panels < width < 1200 * panels and 600 < height < 1600
    assert matplotlib.get_backend() == backend


def test_numbers_can_be_read_on_every_shade() -> None:
    greys = [f"#{value:02x}{value:02x}{value:02x}" for value in range(256)]
    assert min(contrast(_readable_colour(grey), grey) for grey in greys) >= 4.5  # WCAG 2.2, 1.4.3


def test_a_matrix_without_any_score_can_be_shown(tmp_path: Path) -> None:
    whole = matrix()
    empty = {pair: cell for pair, cell in whole.cells.items() if cell.reason}
    bare = ScoreMatrix(**{**vars(whole), "cells": empty, "hypotheses": {}})
    save_with_views(bare, tmp_path)
    assert (
        bare.means("bleu") == {}
        and ScoreMatrix.load(tmp_path).cells[LanguagePair("fi", "de")].scores == {}
    )
    Console(file=io.StringIO()).print(terminal.measure_table(bare, "bleu"))


# Two hops, intervals, outputs ---------------------------------------------------------------------------------------------


def test_saved_and_loaded_with_pivots_it_is_the_same(tmp_path: Path) -> None:
    save_with_views(matrix(pivot=True), tmp_path)
    assert ScoreMatrix.load(tmp_path) == matrix(pivot=True)


def test_markdown_has_direct_beside_two_hops() -> None:
    text = markdown.matrix_markdown(matrix(pivot=True))
    assert (
        "### Direct and pivot translation, through en" in text
        and "| de-fr | 10.00† | 35.00‡ | -25.00 |" in text
    )
    assert "| fr-de | 21.00† | 20.00‡ | +1.00 |" in text and "| pivot | 27.50‡ | 2 |" in text
    assert "| de-en-fr | pivot | 34.75 ± 1.50 | – |" in text


def test_markdown_has_the_means_out_of_a_language_and_into_it() -> None:
    lines = markdown.matrix_markdown(matrix(pivot=True)).splitlines()
    head = cells(next(line for line in lines if line.startswith("| language |")))
    row = dict(
        zip(head, cells(next(line for line in lines if line.startswith("| **de** | 40.00"))))
    )
    assert row["supervised as source"] == "40.00" and row["supervised as target"] == "30.00"
    assert row["zero-shot as source"] == "10.00†" and row["zero-shot as target"] == "21.00†"
    assert row["pivot as source"] == "35.00‡" and row["pivot as target"] == "20.00‡"


def test_what_is_wrong_with_the_outputs_stands_beside_the_references() -> None:
    text = markdown.matrix_markdown(matrix())
    assert (
        "| de-fr | zero-shot | 25.0 (1.0) % | 50.0 (0.0) % | 0.0 % | 12.5 (0.0) % | 1.25 | 3 fr, 1 en |"
        in text
    )
    rows = list(csv.DictReader(io.StringIO(markdown.matrix_csv(matrix(pivot=True)))))
    assert [(row["via"], row["off_target"]) for row in rows if row["kind"] == "pivot"] == [
        ("en", "0.25")
    ] * 2


def test_the_terminal_shows_every_metric_then_conditions_pivots_and_outputs() -> None:
    screen = Console(file=io.StringIO(), width=100)
    screen.print(*terminal.matrix_tables(matrix(pivot=True, conditions=["cased", "paper"])))
    text = " ".join(screen.file.getvalue().split())
    order = [
        "BLEU · phrasebook",
        "chrF2 · phrasebook",
        "All metrics and conditions",
        "BLEU: direct and pivot translation, through en",
        "Output errors",
    ]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)
    assert "pivot‡ 27.5 (2 cells)" in text and "-25.00" in text and "25.0 (1.0) %" in text


@pytest.mark.parametrize(
    ("conditions", "measure"),
    [
        (["cased", "paper"], "bleu-paper"),
        (["cased", "lowercased", "tokenised"], "bleu-tokenised"),
        (["cased"], "bleu"),
    ],
)
def test_a_paper_stands_beside_the_nearest_condition(conditions: list[str], measure: str) -> None:
    assert str(matrix(conditions=conditions).protocol.paper_measure) == measure


def test_of_errors_the_fewest_are_the_darkest() -> None:
    grid = terminal.direct_grid(matrix(metrics=["ter"]), "ter")
    assert grid.lower_is_better and not terminal.direct_grid(matrix(), "bleu").lower_is_better
