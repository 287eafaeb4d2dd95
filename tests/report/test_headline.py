"""Cards of the overview: means over the zero-shot directions."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from polyglot.report.sections.headline import NO_BREAK, _language_cards


def evaluation(*shares: tuple[str, float | None, float | None]) -> SimpleNamespace:
    """Evaluation whose cells have a kind, and shares of outputs and references in a wrong
    language.
    """
    cells = []
    for kind, outputs, references in shares:
        errors = {"off_target": outputs, "off_target_references": references}
        cells.append({"kind": kind, "outputs": errors})
    return SimpleNamespace(cells=cells)


@pytest.mark.parametrize(
    ("shares", "wrong", "expected"),
    [
        ([(0.1, 0.01), (0.3, 0.03)], "20.0", "2.0"),
        ([(0.3, 0.03)], "30.0", "3.0"),
        ([(0.3, 0.01), (None, 0.01), (0.1, 0.04)], "20.0", "2.0"),
    ],
    ids=["two directions", "one direction", "without outputs"],
)
def test_the_share_of_wrong_languages_is_the_mean_of_the_zero_shot_directions(
    shares, wrong, expected
):
    cells = [("zero-shot", *values) for values in shares]
    others = [("supervised", 0.9, 0.9), ("copy", 0.8, None), ("pivot", 0.7, None)]
    [card] = _language_cards(evaluation(*others, *cells))
    assert card["value"] == f"{wrong}{NO_BREAK}%"
    assert card["name"].endswith(f"(references: {expected}{NO_BREAK}%)")


@pytest.mark.parametrize(
    "shares",
    [
        [],
        [("supervised", 0.2, 0.1)],
        [("zero-shot", None, 0.1)],
        [("zero-shot", 0.2, None)],
        [("zero-shot", 0.2, 0.1), ("zero-shot", 0.2, None)],
    ],
)
def test_without_the_languages_of_all_references_there_is_no_card(shares):
    assert _language_cards(evaluation(*shares)) == []


def test_a_direction_without_text_has_no_share():
    without_text = {"kind": "zero-shot", "outputs": None}
    scored = evaluation(("zero-shot", 0.2, 0.1))
    scored.cells.append(without_text)
    [card] = _language_cards(scored)
    assert card["value"] == f"20.0{NO_BREAK}%"
