"""Roles of words: tables for pieces with known roles, and pages of a run."""

from __future__ import annotations

import json

import numpy
import pytest
import torch

from polyglot.analysis.annotated_text import AnnotatedSentence, align_pieces
from polyglot.analysis.piece_roles import PieceRoles, assign_roles
from polyglot.analysis.role_agreement import agreement
from polyglot.analysis.roles import association, roles_page, usage_page
from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.translator import Translator
from polyglot.model.options import Roles
from polyglot.phrasebook import Token, splits
from polyglot.runs.run import Run
from polyglot.tasks.batch import BOS
from tests.analysis.conftest import RecordResult

SENSES = ["bank.money"] * 4 + ["bank.river"] * 4
WORDS = ["the", "bank"]
PIECES = ["▁the", "▁bank"]


def one_hot(role: int) -> numpy.ndarray:
    return numpy.eye(4)[role]


def pieces_with_roles(senses: list[str], roles: dict[str, int] = {}) -> list[PieceRoles]:
    """`the bank` once for each sense: `the` has role 3, `bank` the role of its sense, or 0.

    The last sentence has no annotation; its piece has role 2.
    """
    pieces = []
    for sense in senses:
        truth = (Token("the", "DET", None, 1, None), Token("bank", "NOUN", sense, -1, None))
        alignment = align_pieces(PIECES, WORDS)
        sentence = AnnotatedSentence("the bank", [5, 6], PIECES, alignment, truth)
        pieces.append(PieceRoles(sentence, 0, one_hot(3)))
        pieces.append(PieceRoles(sentence, 1, one_hot(roles.get(sense, 0))))
    pieces.append(PieceRoles(AnnotatedSentence("x", [7], ["▁x"]), 0, one_hot(2)))
    return pieces


def test_roles_that_separate_senses_have_a_v_measure_of_1() -> None:
    """Of the 70 permutations of four and four roles, 2 separate the senses."""
    result = agreement(pieces_with_roles(SENSES, {"bank.money": 0, "bank.river": 1}))
    assert result["senses"]["role"]["v_measure"] == pytest.approx(1)
    assert result["senses"]["word"]["v_measure"] == 0
    values = result["of each word"]["bank"]
    assert values == {
        "purity": 1.0,
        "v_measure": pytest.approx(1),
        "by_chance": pytest.approx(0.115, abs=0.04),
        "p": pytest.approx(2 / 70, abs=0.03),
        "times": 8,
    }
    del values["times"]
    assert result["mean of each word"] == pytest.approx(values)


def test_a_single_role_has_a_v_measure_of_0() -> None:
    result = agreement(pieces_with_roles(SENSES))
    zero = {"purity": 0.5, "v_measure": 0.0, "by_chance": 0.0, "p": 1.0}
    assert result["senses"]["role"] == zero
    assert result["mean of each word"] == zero
    assert result["category"]["v_measure"] == pytest.approx(1)


def test_a_sense_must_be_frequent() -> None:
    senses = ["bank.money"] * 6 + ["bank.river"] * 2
    assert "senses" not in agreement(pieces_with_roles(senses))


def test_without_annotation_there_is_no_agreement() -> None:
    assert agreement(pieces_with_roles([])) == {}


def test_the_tables_count_the_strongest_roles() -> None:
    page = usage_page("en", "encoder", pieces_with_roles(SENSES, {"bank.river": 1}))
    rows = page.tables[1].rows
    assert [row[0] for row in rows] == ["3", "0", "1", "2"]
    assert [row[1] for row in rows] == ["47.1 %", "23.5 %", "23.5 %", "5.9 %"]
    assert [row[3].count("[") for row in rows] == [3, 3, 3, 1]
    assert rows[0][2] == "the (8)"
    assert rows[1][3].startswith("the [bank]")
    assert page.values["entropy"] == pytest.approx(0)
    (picture,) = page.pictures.values()
    assert picture.startswith(b"\x89PNG")


def test_a_dense_role_is_the_strongest_by_its_absolute_value() -> None:
    sentence = AnnotatedSentence("x", [7], ["▁x"])
    assert PieceRoles(sentence, 0, numpy.array([0.2, -0.9, 0.8])).role == 1


def test_typical_words_are_those_that_prefer_a_role() -> None:
    """`the` is the most frequent word of both roles, and so typical of neither."""
    texts = {0: ["the"] * 6 + ["dog"] * 4, 1: ["the"] * 6 + ["sleeps"] * 3}
    pieces = []
    for role, words in texts.items():
        for word in words:
            pieces.append(PieceRoles(AnnotatedSentence(word, [5], [f"▁{word}"]), 0, one_hot(role)))
    usage = usage_page("en", "encoder", pieces).values["usage"]
    assert list(usage[0]["words"].items())[0] == ("dog", 4)
    assert list(usage[1]["words"].items()) == [("sleeps", 3), ("the", 6)]
    assert usage[1]["association"]["sleeps"] == pytest.approx(association(3, 3, 9, 19))


def test_the_association_is_the_log_likelihood_ratio() -> None:
    """2 Σ observed · ln(observed / expected) over the four cells, for 10, 20, 30 and 100."""
    observed = [10, 10, 20, 60]
    expected = [6, 14, 24, 56]
    ratio = 0.0
    for number, mean in zip(observed, expected):
        ratio += 2 * number * numpy.log(number / mean)
    assert association(10, 20, 30, 100) == pytest.approx(ratio)
    assert association(2, 20, 30, 100) < 0
    assert association(6, 20, 30, 100) == pytest.approx(0, abs=1e-9)


def test_roles_are_computed_on_development_text(run: Run, translator: Translator) -> None:
    (valid,) = run.config.data.valid
    sizes = valid.model_dump(include={"seed", "train", "valid", "test"})
    first = splits(**sizes)["valid"][0].text("de")
    pieces = assign_roles(run, translator, "de", side="encoder", count=1)
    assert {piece.sentence.text for piece in pieces} == {first}


def test_the_entropy_is_the_mean_over_pieces() -> None:
    """H(1/2, 1/2) = ln 2 and H(1) = 0."""
    sentence = AnnotatedSentence("the bank", [5, 6], PIECES)
    distributions = [numpy.array([0.5, 0.5, 0, 0]), one_hot(1)]
    pieces = [PieceRoles(sentence, place, roles) for place, roles in enumerate(distributions)]
    assert usage_page("en", "encoder", pieces).values["entropy"] == pytest.approx(numpy.log(2) / 2)


def test_without_a_distribution_there_is_no_entropy() -> None:
    piece = PieceRoles(AnnotatedSentence("x", [7], ["▁x"]), 0, numpy.array([2.0, -1.0]))
    page = usage_page("en", "encoder", [piece])
    assert page.values["entropy"] is None
    assert page.tables[0].rows[1][1] == "– (not a distribution)"


def test_a_piece_in_its_context() -> None:
    pieces = [f"▁{number}" for number in range(12)]
    sentence = AnnotatedSentence("", range(12), pieces)
    contexts = [PieceRoles(sentence, place, one_hot(0)).in_context() for place in (0, 5, 7)]
    assert contexts == [
        "[0] 1 2 3 4 …",
        "… 1 2 3 4 [5] 6 7 8 9 …",
        "… 3 4 5 6 [7] 8 9 10 11",
    ]


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_every_piece_of_a_run_has_roles(run: Run, translator: Translator, side: str) -> None:
    pieces = assign_roles(run, translator, "de", side=side, count=4)
    for piece in pieces:
        assert piece.roles.sum() == pytest.approx(1, abs=1e-5)

    folder = roles_page(run, translator, "de", side=side, count=4).save(run)
    values = json.loads((folder / "page.json").read_text(encoding="utf-8"))["values"]
    counts = [role["count"] for role in values["usage"].values()]
    assert sum(counts) == values["pieces"] == len(pieces)
    assert values["agreement"]
    assert "# Roles of the" in (folder / "page.md").read_text(encoding="utf-8")
    assert (folder / "picture-1.png").is_file()


def test_roles_of_an_encoder_are_those_of_the_model(
    run: Run, translator: Translator, record_result: RecordResult
) -> None:
    """The encoder has a context gate before its roles."""
    pieces = assign_roles(run, translator, "de", side="encoder", count=1)
    expected = record_result("de", pieces[0].sentence.text, Roles, "assign_roles")
    assert numpy.allclose([piece.roles for piece in pieces], expected, atol=1e-6)


def test_a_decoder_reads_a_sentence_after_bos(run: Run, translator: Translator) -> None:
    pieces = assign_roles(run, translator, "de", side="decoder", count=1)
    decoder = translator.model.decoders["de"]
    ids = torch.tensor([[BOS, *pieces[0].sentence.ids]])
    mask = torch.ones_like(ids, dtype=torch.bool)
    with torch.inference_mode():
        expected = decoder.options["roles"].assign_roles(decoder.embedding(ids), mask)
    assert numpy.array_equal([piece.roles for piece in pieces], expected[0, 1:].numpy())


def test_roles_of_decoder_states_are_those_of_the_model(
    run: Run, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """French has a context gate at the embeddings and roles at the states of its decoder."""
    pieces = assign_roles(run, translator, "fr", side="decoder", count=1)
    ids = torch.tensor([pieces[0].sentence.ids])
    mask = torch.ones_like(ids, dtype=torch.bool)
    target_ids = torch.tensor([[BOS, *pieces[0].sentence.ids]])
    target_mask = torch.ones_like(target_ids, dtype=torch.bool)
    decoder = translator.model.decoders["fr"]
    option = decoder.options["state_roles"]
    roles_of_calls = []
    assign = option.assign_roles

    def recorded_assign(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        roles_of_calls.append(assign(states, mask))
        return roles_of_calls[-1]

    monkeypatch.setattr(option, "assign_roles", recorded_assign)
    with torch.inference_mode():
        memory = translator.model.encode("fr", ids, mask)
        decoder(target_ids, target_mask, memory)
    expected = roles_of_calls[0][0, 1:].numpy()
    assert numpy.allclose([piece.roles for piece in pieces], expected, atol=1e-6)


def test_a_token_with_contexts_and_translations(run: Run, translator: Translator) -> None:
    token = assign_roles(run, translator, "de", side="encoder", count=4)[0].piece
    pairs = set(map(str, run.config.pairs))
    assert "de-en" in pairs
    assert "de-fr" not in pairs
    page = roles_page(run, translator, "de", token=token, count=4)
    assert page.tables[0].head[-1] == "translated into en"

    page = roles_page(run, translator, "de", token=token, into="fr", count=4)
    (table,) = page.tables
    assert table.head[-1] == "translated into fr, zero-shot"
    for row in table.rows:
        assert f"[{token}]" in row[2]


def test_unknown_tokens_and_missing_roles_are_refused(run: Run, translator: Translator) -> None:
    with pytest.raises(DataError, match="the analysed text of de has no piece 'Nirgendwo'"):
        roles_page(run, translator, "de", token="Nirgendwo")
    message = "the encoder of fr has no roles; encoders with roles: en, de"
    with pytest.raises(ConfigError, match=message):
        roles_page(run, translator, "fr")
