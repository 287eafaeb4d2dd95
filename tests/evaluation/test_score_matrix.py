"""Score matrix and its views: means, signatures, files, and marks of zero-shot cells."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import struct
from pathlib import Path

import matplotlib
import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from polyglot.core import atomic_files
from polyglot.core.errors import CheckpointError, ConfigError, DataError
from polyglot.evaluation.grid import Grid, direct_grid, reference_grid, scores_title
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.evaluation.views import terminal
from polyglot.evaluation.views.export import save_with_views
from polyglot.evaluation.views.heat_map import _readable_colour, contrast, heat_map_png
from polyglot.evaluation.views.markdown import matrix_csv, matrix_markdown
from polyglot.evaluation.views.terminal import (
    grid_table,
    matrix_tables,
    measure_table,
    plain_table,
)
from polyglot.tasks.pairs import LanguagePair
from tests.builders.rendered import MARKDOWN_TEXT, token_types, visible_texts
from tests.evaluation.by_hand import BLEU_SIGNATURE, matrix

REFERENCE = "attention_bridge_english_centric_with_copies"


def table_cells(line: str) -> list[str]:
    """Cells of a line of a Markdown table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def rendered(*tables: RenderableType, width: int = 100) -> str:
    screen = Console(file=io.StringIO(), width=width, force_terminal=False)
    screen.print(*tables)
    return screen.file.getvalue()


def test_means_are_by_kind() -> None:
    assert matrix().means("bleu") == {"supervised": 45.0, "zero-shot": 15.5, "copy": 80.0}
    assert matrix().means("chrf")["zero-shot"] == pytest.approx(0.155 + 1 / 3)


@pytest.mark.parametrize(
    ("checkpoint", "steps", "title"),
    [
        ("best", [4000], "run, best checkpoint (step 4000)"),
        (300, [300], "run, checkpoint of step 300"),
        ("300", [300], "run, checkpoint of step 300"),
        ("average:2", [100, 200], "run, average:2 checkpoint (steps 100, 200)"),
    ],
)
def test_the_title_names_a_step_once(checkpoint: object, steps: list[int], title: str) -> None:
    assert scores_title({"run": "run", "checkpoint": checkpoint, "steps": steps}, "") == title


def test_reasons_of_missing_scores_are_below_the_table() -> None:
    table = measure_table(matrix(), "bleu")
    lines = [line.strip() for line in rendered(table, width=200).splitlines()]
    assert "– no text in fi: en-fi, de-fi, fr-fi, fi-en, fi-de, fi-fr, fi-fi" in lines


def test_many_different_reasons_are_counted() -> None:
    cells = {}
    for number in range(12):
        pair = LanguagePair("en", f"l{number}")
        cells[pair] = Cell(pair, "zero-shot", reason=f"no text in l{number}")
    lines = terminal.reason_lines(dataclasses.replace(matrix(), cells=cells))
    assert lines[0] == "– no text in l0: en-l0"
    assert lines[8:] == ["– 4 other reasons: matrix.md has all"]


def test_signatures_have_their_target_languages() -> None:
    assert matrix().signatures("bleu") == {BLEU_SIGNATURE: ["en", "de", "fr"]}


def test_signatures_include_those_of_pivot_translation() -> None:
    pivot_matrix = matrix(pivot=True)
    cell = pivot_matrix.pivots[LanguagePair("de", "fr")]
    score = dataclasses.replace(cell.scores["bleu"], signature="other signature")
    changed_cell = dataclasses.replace(cell, scores={"bleu": score})
    pivots = {**pivot_matrix.pivots, cell.pair: changed_cell}
    assert dataclasses.replace(pivot_matrix, pivots=pivots).signatures("bleu") == {
        BLEU_SIGNATURE: ["en", "de", "fr"],
        "other signature": ["fr"],
    }


# Files


@pytest.mark.parametrize("settings", [{}, {"reference": REFERENCE}, {"pivot": True}])
def test_a_loaded_matrix_is_equal_to_the_saved_one(settings: dict, tmp_path: Path) -> None:
    matrix(**settings).save(tmp_path / "default")
    assert ScoreMatrix.load(tmp_path / "default") == matrix(**settings)
    assert ScoreMatrix.load(str(tmp_path / "default")) == matrix(**settings)


def test_the_folder_has_every_view(tmp_path: Path) -> None:
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
    hypotheses = (tmp_path / "hypotheses" / "de-fr.txt").read_bytes()
    assert hypotheses == "de-fr one\ntwo\u2028still two\x85\n".encode()


def test_the_json_file_has_all_settings(tmp_path: Path) -> None:
    matrix().save(tmp_path)
    values = json.loads((tmp_path / "matrix.json").read_text(encoding="utf-8"))
    assert values["checkpoint"] == {"run": "phrasebook", "checkpoint": "best", "steps": [4000]}
    assert values["search"]["beam"] == 5
    assert values["protocol"]["search"] == {"beam": 5}
    assert "de-en" in values["trained"]
    assert "de-fr" not in values["trained"]
    cells = {cell["pair"]: cell for cell in values["cells"]}
    assert cells["de-fr"]["scores"]["bleu"]["signature"] == BLEU_SIGNATURE
    assert cells["de-fr"]["outputs"]["found"] == {"fr": 3, "en": 1}
    assert cells["de-fi"]["scores"] == {}
    assert cells["de-fi"]["reason"] == "no text in fi"


def test_files_of_an_earlier_matrix_are_removed(tmp_path: Path) -> None:
    (tmp_path / "hypotheses").mkdir()
    old_files = [tmp_path / "ter.png", tmp_path / "hypotheses" / "xx-yy.txt"]
    for path in old_files:
        path.write_text("old")
    matrix().save(tmp_path)
    assert not any(path.exists() for path in old_files)


@pytest.mark.parametrize("file", ["matrix.csv", "matrix.json", "de-en.txt"])
def test_the_earlier_matrix_stays_if_a_file_cannot_be_written(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_with_views(matrix(), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_synced = atomic_files.write_synced

    def fail_for_file(path: Path, content: bytes) -> None:
        if file in path.name:
            raise OSError(28, "No space left on device")
        write_synced(path, content)

    monkeypatch.setattr(atomic_files, "write_synced", fail_for_file)
    message = f"{file}: cannot be written: No space left on device"
    with pytest.raises(CheckpointError, match=message):
        save_with_views(matrix(), tmp_path)
    assert {path: path.read_bytes() for path in before} == before


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "evaluation").write_text("a file")
    with pytest.raises(CheckpointError, match="evaluation.*: the matrix cannot be written: "):
        matrix().save(tmp_path / "evaluation")


def test_the_matrix_is_complete_if_a_picture_cannot_be_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> bytes:
        raise RuntimeError("no font")

    monkeypatch.setattr("polyglot.evaluation.views.export.heat_map_png", fail)
    with pytest.raises(RuntimeError, match="no font"):
        save_with_views(matrix(), tmp_path)
    assert ScoreMatrix.load(tmp_path) == matrix()
    assert (tmp_path / "matrix.csv").is_file()
    assert (tmp_path / "matrix.md").is_file()


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", '{"format": 99}', '{"format": 2}'])
def test_an_invalid_matrix_file_is_an_error(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "matrix.json").write_text(content)
    with pytest.raises(DataError, match="matrix.json: .*evaluate"):
        ScoreMatrix.load(tmp_path)


def test_changed_score_is_an_error(tmp_path: Path) -> None:
    matrix().save(tmp_path)
    path = tmp_path / "matrix.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    values["cells"][0]["scores"]["bleu"]["value"] = 99.0
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(DataError, match="checksum differs.*evaluate again"):
        ScoreMatrix.load(tmp_path)


@pytest.mark.parametrize(
    ("file", "is_removed", "reason"),
    [
        ("hypotheses/de-fr.txt", False, "was changed or is damaged"),
        ("hypotheses/de-fr.txt", True, "is missing"),
        ("text/en.00000000.txt", False, "was changed or is damaged"),
        ("text/en.00000000.txt", True, "is missing"),
    ],
)
def test_changed_or_missing_text_is_an_error(
    file: str, is_removed: bool, reason: str, tmp_path: Path
) -> None:
    matrix().save(tmp_path)
    path = tmp_path / file
    if is_removed:
        path.unlink()
    else:
        path.write_text(path.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"{path.stem}.* {reason}.*evaluate again"):
        ScoreMatrix.load(tmp_path)


def test_matrix_of_an_older_version_without_checksum_is_read(tmp_path: Path) -> None:
    matrix().save(tmp_path)
    path = tmp_path / "matrix.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    del values["checksum"]
    path.write_text(json.dumps(values), encoding="utf-8")
    assert ScoreMatrix.load(tmp_path) == matrix()


def test_another_format_is_an_error(tmp_path: Path) -> None:
    matrix().save(tmp_path)
    path = tmp_path / "matrix.json"
    content = path.read_text(encoding="utf-8").replace('"format": 2', '"format": 99')
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match="format 99, this version of Polyglot reads 2"):
        ScoreMatrix.load(tmp_path)


# Markdown and CSV


def test_names_are_not_interpreted_as_markdown() -> None:
    named = matrix(run=MARKDOWN_TEXT)
    page = matrix_markdown(dataclasses.replace(named, test=[MARKDOWN_TEXT], machine=MARKDOWN_TEXT))
    texts = visible_texts(page)
    assert f"Translation matrix: {MARKDOWN_TEXT}, best checkpoint (step 4000)" in texts
    assert f"test text: {MARKDOWN_TEXT}" in texts
    assert f"machine: {MARKDOWN_TEXT}" in texts
    assert not {"html_inline", "html_block", "em_open", "link_open", "image"} & token_types(page)


def test_markdown_marks_zero_shot_cells_and_copies() -> None:
    lines = matrix_markdown(matrix()).splitlines()
    assert "never trained" in lines[2]
    head = lines.index("## BLEU") + 2
    assert table_cells(lines[head]) == ["from ↓ into →", "en", "de", "fr", "fi"]
    assert table_cells(lines[head + 3]) == ["**de**", "40.0", "(80.0)", "10.0†", "–"]
    assert "| zero-shot | 15.50† | 2 |" in lines
    assert f"- signature: `BLEU|{BLEU_SIGNATURE}`" in lines
    assert "- de-fi: no text in fi" in lines
    assert any(line.startswith("- search: beam 5") for line in lines)


def test_markdown_compares_with_the_paper() -> None:
    page = matrix_markdown(matrix(reference=REFERENCE))
    assert page.count("### Reference: Vázquez et al.") == 1, "for BLEU, but not for chrF"
    assert "| **de** | 40.17 |  | 26.46† | 19.50† |" in page, "our order of languages"
    assert "| zero-shot | 15.50 | 26.21 | -10.71 | 2 |" in page
    assert "comparable only with scores on such text" in page


def test_papers_are_compared_in_any_spelling_of_the_languages() -> None:
    """The spelling of the run is the name in the table."""
    plain = matrix(reference=REFERENCE)
    names = {"en": "eng_Latn", "de": "deu_Latn"}

    def spell(pair: LanguagePair) -> LanguagePair:
        return LanguagePair(
            names.get(pair.source, pair.source), names.get(pair.target, pair.target)
        )

    spelled = dataclasses.replace(
        plain,
        languages=[names.get(language, language) for language in plain.languages],
        cells={spell(pair): cell for pair, cell in plain.cells.items()},
    )
    expected = reference_grid(plain, "bleu")
    grid = reference_grid(spelled, "bleu")
    assert grid.values == {spell(pair): value for pair, value in expected.values.items()}
    assert list(grid.languages) == [names.get(name, name) for name in expected.languages]


def test_markdown_has_direct_and_pivot_translation() -> None:
    page = matrix_markdown(matrix(pivot=True))
    assert "### Direct and pivot translation, through en" in page
    assert "| de-fr | 10.00† | 35.00‡ | -25.00 |" in page
    assert "| fr-de | 21.00† | 20.00‡ | +1.00 |" in page
    assert "| pivot | 27.50‡ | 2 |" in page


def test_markdown_has_the_means_of_each_language() -> None:
    lines = matrix_markdown(matrix(pivot=True)).splitlines()
    head = next(line for line in lines if line.startswith("| language |"))
    german = next(line for line in lines if line.startswith("| **de** | 40.00"))
    row = dict(zip(table_cells(head), table_cells(german)))
    assert row["supervised as source"] == "40.00"
    assert row["supervised as target"] == "30.00"
    assert row["zero-shot as source"] == "10.00†"
    assert row["zero-shot as target"] == "21.00†"
    assert row["pivot as source"] == "35.00‡"
    assert row["pivot as target"] == "20.00‡"


@pytest.mark.parametrize("resamples", [1000, 300])
def test_markdown_has_confidence_intervals(resamples: int) -> None:
    page = matrix_markdown(matrix(pivot=True, resamples=resamples))
    assert f"Bootstrap, {resamples} resamples: mean ± half of the interval width." in page
    assert "| de-en-fr | pivot | 34.75 ± 1.50 | – |" in page


def test_markdown_has_output_errors_with_those_of_the_references() -> None:
    errors = "25.0 (1.0) % | 50.0 (0.0) % | 0.0 % | 12.5 (0.0) % | 1.25 | 3 fr, 1 en"
    assert f"| de-fr | zero-shot | {errors} |" in matrix_markdown(matrix())


def test_csv_has_one_row_per_cell() -> None:
    rows = list(csv.DictReader(io.StringIO(matrix_csv(matrix()))))
    assert len(rows) == 16
    by_pair = {f"{row['source']}-{row['target']}": row for row in rows}
    assert by_pair["de-fr"]["kind"] == "zero-shot"
    assert float(by_pair["de-fr"]["bleu"]) == 10.0
    assert by_pair["de-fr"]["bleu_signature"] == BLEU_SIGNATURE
    assert by_pair["de-fr"]["copies"] == "0.5"
    assert by_pair["de-fi"]["bleu"] == ""
    assert by_pair["de-fi"]["reason"] == "no text in fi"


def test_csv_has_pivot_translations() -> None:
    rows = list(csv.DictReader(io.StringIO(matrix_csv(matrix(pivot=True)))))
    pivots = [row for row in rows if row["kind"] == "pivot"]
    assert len(pivots) == 2
    for row in pivots:
        assert row["via"] == "en"
        assert row["off_target"] == "0.25"
        assert row["bleu_interval"] == "1.5"


# Terminal


def test_the_terminal_shows_kinds_without_colours_and_names_as_text() -> None:
    text = rendered(measure_table(matrix(run="[bold]odd[/nothing]"), "bleu"))
    assert "[bold]odd[/nothing], best checkpoint (step 4000)" in text
    assert "10.0†" in text
    assert "(80.0)" in text
    assert "40.0 " in text
    means = "supervised 45.0 (4 cells) · zero-shot† 15.5 (2 cells) · (copy) 80.0 (3 cells)"
    assert f"means: {means}" in text
    assert f"BLEU|{BLEU_SIGNATURE}" in text


@pytest.mark.parametrize("width", [24, 40, 80, 200])
def test_columns_that_do_not_fit_follow_in_further_tables(width: int) -> None:
    languages = [f"l{number}" for number in range(16)]
    values = {}
    for number, source in enumerate(languages):
        for target in languages:
            values[LanguagePair(source, target)] = 10.0 + number
    grid = Grid("BLEU", languages, dict.fromkeys(values, "zero-shot"), values)

    lines = [line.split() for line in rendered(grid_table(grid), width=width).splitlines()]
    heads = [line[4:] for line in lines if line[:1] == ["from"]]
    assert sum(heads, []) == languages
    assert (len(heads) == 1) == (width == 200)
    for number, language in enumerate(languages):
        rows = [line[1:] for line in lines if line[:1] == [language]]
        assert rows == [[f"{10 + number}.0†"] * len(head) for head in heads]


def test_column_titles_are_not_interpreted_as_markup() -> None:
    text = rendered(plain_table("direction", "[bold]odd", "[/nothing]"))
    assert "[bold]odd   [/nothing]" in text


def test_the_terminal_shows_metrics_conditions_pivots_and_output_errors() -> None:
    tables = matrix_tables(matrix(pivot=True, conditions=["cased", "paper"]))
    text = " ".join(rendered(*tables).split())
    titles = [
        "BLEU · phrasebook",
        "chrF2 · phrasebook",
        "All metrics and conditions",
        "BLEU: direct and pivot translation, through en",
        "Output errors",
    ]
    positions = [text.index(title) for title in titles]
    assert positions == sorted(positions)
    assert "pivot‡ 27.5 (2 cells)" in text
    assert "-25.00" in text
    assert "25.0 (1.0) %" in text


def test_many_pivot_translations_are_means_by_target(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = matrix(pivot=True)
    values = {str(pair): cell.scores["bleu"].value for pair, cell in shown.pivots.items()}
    monkeypatch.setattr(terminal, "MAX_PIVOT_ROWS", len(values))
    assert all(name in rendered(terminal.pivot_table(shown, "bleu")) for name in values)

    monkeypatch.setattr(terminal, "MAX_PIVOT_ROWS", len(values) - 1)
    text = rendered(terminal.pivot_table(shown, "bleu"))
    assert not any(name in text for name in values)
    assert "matrix.md has every pair" in text
    for target in {pair.target for pair in shown.pivots}:
        scores = [values[str(pair)] for pair in shown.pivots if pair.target == target]
        assert f"{sum(scores) / len(scores):.2f}" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_all_tables_of_an_evaluation_are_complete_at_every_width(width: int) -> None:
    shown = matrix(pivot=True, conditions=["cased", "paper"])
    shown = dataclasses.replace(shown, test_set="flickr_2016")
    tables = list(matrix_tables(shown))
    text = rendered(*tables, width=width)
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= width
    for number in ("40.0", "10.0†", "(80.0)", "35.00‡", "-25.00", "25.0 (1.0) %", "1.25"):
        assert number in text
    for table in tables:
        assert "flickr_2016" in "".join(rendered(table, width=width).split())


# Heat maps


@pytest.mark.parametrize(("reference", "panels"), [(None, 1), (REFERENCE, 2)])
def test_the_heat_map_has_a_reasonable_size(reference: str | None, panels: int) -> None:
    backend = matplotlib.get_backend()
    content = heat_map_png(matrix(reference=reference, run="$odd_{$name"), "bleu")
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert 600 * panels < width < 1200 * panels
    assert 600 < height < 1600
    assert matplotlib.get_backend() == backend


def test_numbers_are_readable_on_every_shade() -> None:
    greys = [f"#{value:02x}{value:02x}{value:02x}" for value in range(256)]
    lowest = min(contrast(_readable_colour(grey), grey) for grey in greys)
    assert lowest >= 4.5  # WCAG 2.2, 1.4.3


def test_lower_is_better_for_error_rates() -> None:
    assert direct_grid(matrix(metrics=["ter"]), "ter").lower_is_better
    assert direct_grid(matrix(metrics=["ter"]), "ter-lowercased").lower_is_better
    assert not direct_grid(matrix(), "bleu").lower_is_better


# Special matrices


def test_a_matrix_without_scores_can_be_shown(tmp_path: Path) -> None:
    complete = matrix()
    empty_cells = {pair: cell for pair, cell in complete.cells.items() if cell.reason}
    empty = dataclasses.replace(complete, cells=empty_cells, hypotheses={})
    save_with_views(empty, tmp_path)
    assert empty.means("bleu") == {}
    assert ScoreMatrix.load(tmp_path).cells[LanguagePair("fi", "de")].scores == {}
    assert "–" in rendered(measure_table(empty, "bleu"))


@pytest.mark.parametrize(
    ("conditions", "measure"),
    [
        (["cased", "paper"], "bleu-paper"),
        (["cased", "lowercased", "tokenised"], "bleu-tokenised"),
        (["cased"], "bleu"),
    ],
)
def test_the_nearest_condition_is_compared_with_a_paper(
    conditions: list[str], measure: str
) -> None:
    assert str(matrix(conditions=conditions).protocol.paper_measure) == measure


# Python


def test_data_frames_have_all_scores() -> None:
    scored = matrix(pivot=True)
    frame = scored.to_pandas("bleu")
    assert list(frame.index) == list(frame.columns) == scored.languages
    assert frame.loc["de", "fr"] == 10.0
    assert frame.loc["de", "fi"] != frame.loc["de", "fi"]  # NaN
    assert frame.index.name == "source"

    rows = scored.to_pandas()
    head = next(csv.reader(io.StringIO(matrix_csv(scored))))
    assert list(rows.columns) == head
    assert len(rows) == len(scored.all_cells)
    [score] = rows[(rows.source == "de") & (rows.target == "fr") & rows.via.isna()].bleu
    assert score == 10.0
    with pytest.raises(ConfigError, match="no measure named 'blue'. Did you mean 'bleu'"):
        scored.to_pandas("blue")


def test_short_description_of_a_matrix() -> None:
    lines = repr(matrix(pivot=True)).splitlines()
    assert lines[0] == "<ScoreMatrix of phrasebook: 4 languages, 11 of 18 directions scored"
    assert lines[1] == " BLEU: supervised 45.0, zero-shot 15.5, copy 80.0"
    assert lines[-1].endswith(">")
