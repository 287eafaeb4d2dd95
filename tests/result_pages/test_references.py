"""Tables of the papers: complete, well-formed, and consistent with the text of the papers."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import yaml

from polyglot.tasks.pairs import LanguagePair, pair_kind

FOLDER = Path(__file__).parents[2] / "evaluation" / "references"
ATTENTION_BRIDGE = (
    "attention_bridge_bilingual",
    "attention_bridge_bilingual_with_bridge",
    "attention_bridge_english_centric",
    "attention_bridge_english_centric_with_copies",
    "attention_bridge_many_to_many",
    "attention_bridge_many_to_many_with_copies",
)
TEXT_KEYS = {"title", "source", "kind", "test_set", "signature", "condition"}
KEYS = TEXT_KEYS | {"languages", "trained", "copies", "scores"}


def read(name: str) -> dict[str, Any]:
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


def scores(name: str) -> dict[LanguagePair, float]:
    return {LanguagePair.parse(pair): score for pair, score in read(name)["scores"].items()}


def zero_shot(name: str) -> list[float]:
    trained = [LanguagePair.parse(pair) for pair in read(name)["trained"]]
    zero_shot_scores = []
    for pair, score in scores(name).items():
        if pair_kind(pair, trained) == "zero-shot":
            zero_shot_scores.append(score)
    return zero_shot_scores


def gains(name: str, *, over: str) -> dict[str, float]:
    """Difference of each direction from another table, in printed BLEU."""
    baseline = scores(over)
    differences = {}
    for pair, score in scores(name).items():
        differences[str(pair)] = round(score - baseline[pair], 2)
    return differences


def test_all_six_tables_of_the_attention_bridge_exist() -> None:
    assert {path.stem for path in FOLDER.glob("attention_bridge*.yaml")} == set(ATTENTION_BRIDGE)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.yaml")))
def test_every_reference_has_all_keys(name: str) -> None:
    reference = read(name)
    assert set(reference) == KEYS
    for key in TEXT_KEYS:
        assert isinstance(reference[key], str), key
        assert reference[key].strip(), key
    assert isinstance(reference["copies"], bool)
    assert "Table" in reference["source"]


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.yaml")))
def test_every_pair_has_languages_of_the_table(name: str) -> None:
    reference = read(name)
    languages = reference["languages"]
    assert len(set(languages)) == len(languages)
    assert len(set(reference["trained"])) == len(reference["trained"])
    for pair in map(LanguagePair.parse, [*reference["trained"], *reference["scores"]]):
        assert {pair.source, pair.target} <= set(languages), f"{name}: {pair}"
        assert not pair.is_copy, f"{name}: {pair}"
    for pair, score in reference["scores"].items():
        assert isinstance(score, float), f"{name}: {pair}: {score!r}"
        assert 0 < score < 100, f"{name}: {pair}: {score!r}"
        assert round(score, 2) == score, f"{name}: {pair}: {score!r}"


@pytest.mark.parametrize("name", ATTENTION_BRIDGE)
def test_a_table_of_the_attention_bridge_has_twelve_cells(name: str) -> None:
    reference = read(name)
    languages = ["en", "de", "cs", "fr"]
    assert reference["languages"] == languages
    pairs = [f"{source}-{target}" for source, target in permutations(languages, 2)]
    assert list(reference["scores"]) == pairs
    assert reference["signature"] == "BLEU+case.lc+numrefs.1+smooth.exp+tok.13a"
    assert reference["test_set"] == "multi30k test_2016_flickr"
    assert reference["copies"] == name.endswith("with_copies")
    assert name.removesuffix("_with_copies") == f"attention_bridge_{reference['kind']}"


@pytest.mark.parametrize("name", ATTENTION_BRIDGE)
def test_only_the_english_centric_tables_have_zero_shot_cells(name: str) -> None:
    assert len(zero_shot(name)) == (6 if "english_centric" in name else 0)
    assert set(read(name)["trained"]) <= set(read(name)["scores"])


@pytest.mark.parametrize(
    ("name", "average"),
    [
        ("attention_bridge_bilingual", 35.93),
        ("attention_bridge_many_to_many_with_copies", 38.62),
    ],
)
def test_the_means_are_those_of_our_pages(name: str, average: float) -> None:
    assert round(mean(scores(name).values()), 2) == average


def test_the_zero_shot_mean_is_that_of_our_pages() -> None:
    assert round(mean(zero_shot("attention_bridge_english_centric_with_copies")), 1) == 22.8


def test_zero_shot_needs_the_copies() -> None:
    assert max(zero_shot("attention_bridge_english_centric")) < 1.1
    assert min(zero_shot("attention_bridge_english_centric_with_copies")) > 19


def test_section_5_1_the_bridge_costs_english_french_most() -> None:
    gain = gains("attention_bridge_bilingual_with_bridge", over="attention_bridge_bilingual")
    assert min(gain, key=gain.__getitem__) == "en-fr"
    assert gain["en-fr"] < -2  # "a drop of over 2 BLEU points"


@pytest.mark.parametrize(
    "baseline", ["attention_bridge_bilingual", "attention_bridge_bilingual_with_bridge"]
)
def test_section_5_2_english_centric_beats_both_baselines_except_for_french_english(
    baseline: str,
) -> None:
    gain = gains("attention_bridge_english_centric", over=baseline)
    trained = read("attention_bridge_english_centric")["trained"]
    assert [pair for pair in trained if gain[pair] <= 0] == ["fr-en"]


def test_section_5_3_many_to_many_beats_bilingual_except_for_english_french() -> None:
    gain = gains("attention_bridge_many_to_many", over="attention_bridge_bilingual")
    assert {pair for pair in gain if gain[pair] <= 0} == {"en-fr"}


def test_section_5_3_copies_gain_1_40_to_4_43_over_bilingual() -> None:
    gain = gains("attention_bridge_many_to_many_with_copies", over="attention_bridge_bilingual")
    assert max(gain.values()) == 4.43
    # For en-fr, the printed scores give 1.39, and the paper says 1.40.
    assert min(gain.values()) == pytest.approx(1.40, abs=0.011)
