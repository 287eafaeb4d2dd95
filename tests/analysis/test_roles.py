"""Roles of words: from pieces whose roles are known to the tables."""

from __future__ import annotations

import json

import numpy
import pytest
import torch

from polyglot.analysis.annotated_text import Sentence, words_of
from polyglot.analysis.roles import Taken, _of_all, agreement, roles_page, taken
from polyglot.core.errors import ConfigError, DataError
from polyglot.model.options import Roles
from polyglot.phrasebook import Token
from polyglot.tasks.batch import BOS
from tests.analysis.conftest import seen_in_encoding


def told(*senses, roles=None):
    """`bank` with these senses, each in a sentence of its own, with one-hot roles; two sentences know nothing."""
    found = []
    for number, sense in enumerate(senses):
        words = ["the", "bank"]
        truth = (Token("the", "DET", None, 1, None), Token("bank", "NOUN", sense, -1, None))
        sentence = Sentence(
            "the bank", [5, 6], ["▁the", "▁bank"], words_of(["▁the", "▁bank"], words), truth
        )
        found += [
            Taken(sentence, 0, numpy.eye(4)[3]),
            Taken(sentence, 1, numpy.eye(4)[(roles or {}).get(sense, 0)]),
        ]
    nothing = Sentence("x", [7], ["▁x"])
    return [*found, Taken(nothing, 0, numpy.eye(4)[2])]


SENSES = ["bank.money"] * 4 + ["bank.river"] * 4


def test_roles_that_tell_senses_apart_have_a_v_measure_of_1_where_the_word_itself_tells_nothing():
    found = agreement(told(*SENSES, roles={"bank.money": 0, "bank.river": 1}))
    assert (
        found["senses"]["role"]["v_measure"] == pytest.approx(1)
        and found["senses"]["word"]["v_measure"] == 0
    )
    own = found["of each word"]["bank"]
    # of the 70 ways to deal out four and four, 2 are right
    assert own == {
        "purity": 1.0,
        "v_measure": pytest.approx(1),
        "by_chance": pytest.approx(0.115, abs=0.04),
        "p": pytest.approx(2 / 70, abs=0.03),
        "times": 8,
    }
    assert found["mean of each word"] == pytest.approx(
        {name: own[name] for name in ("purity", "v_measure", "by_chance", "p")}
    )


def test_roles_that_do_not_have_0():
    found = agreement(told(*SENSES))
    nothing = {"purity": 0.5, "v_measure": 0.0, "by_chance": 0.0, "p": 1.0}
    assert found["senses"]["role"] == found["mean of each word"] == nothing
    assert found["category"]["v_measure"] == pytest.approx(1)


def test_without_truth_there_is_no_agreement():
    assert agreement(told()) == {}


def test_the_tables_count_what_is_taken():
    page = _of_all("en", "encoder", told(*SENSES, roles={"bank.river": 1}))
    usage = page.tables[1].rows
    assert [(row[0], row[1]) for row in usage] == [
        ("3", "47.1%"),
        ("0", "23.5%"),
        ("1", "23.5%"),
        ("2", "5.9%"),
    ]
    assert [row[3].count("[") for row in usage] == [3, 3, 3, 1]
    assert usage[0][2] == "the (8)" and usage[1][3].startswith("the [bank]")
    assert page.values["entropy"] == pytest.approx(0)
    assert next(iter(page.pictures.values())).startswith(b"\x89PNG")


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_every_piece_of_a_run_takes_its_roles(run, translator, side):
    found = taken(run, translator, "de", side=side, count=4)
    assert all(one.roles.sum() == pytest.approx(1, abs=1e-5) for one in found)
    folder = roles_page(run, translator, "de", side=side).save(run)
    values = json.loads((folder / "page.json").read_text())["values"]
    assert sum(role["count"] for role in values["usage"].values()) == values["pieces"] == len(found)
    assert (
        values["agreement"]
        and "# Roles of the" in (folder / "page.md").read_text()
        and (folder / "picture-1.png").is_file()
    )


def test_an_encoder_s_roles_are_those_of_the_model(run, translator, monkeypatch):
    """The gate before them included."""
    found = taken(run, translator, "de", side="encoder", count=1)
    expected = seen_in_encoding(monkeypatch, translator, "de", found[0].sentence.text, Roles, "assign_roles")
    assert numpy.allclose([one.roles for one in found], expected, atol=1e-6)


def test_a_decoder_reads_a_sentence_after_bos(run, translator):
    """As it does in training, so that the first word has its roles after bos, too."""
    own, (one, *_) = (
        translator.model.decoders["de"],
        taken(run, translator, "de", side="decoder", count=1),
    )
    ids = torch.tensor([[BOS, *one.sentence.ids]])
    with torch.inference_mode():
        expected = own.options["roles"].assign_roles(
            own.embedding(ids), torch.ones_like(ids, dtype=torch.bool)
        )[0, 1:]
    assert numpy.array_equal(
        [each.roles for each in taken(run, translator, "de", side="decoder", count=1)],
        expected.numpy(),
    )


def test_of_one_token_with_contexts_and_translations(run, translator):
    own = taken(run, translator, "de", side="encoder", count=4)[0].piece
    pairs = set(map(str, run.config.pairs))
    assert "de-fr" not in pairs and "de-en" in pairs
    assert (
        roles_page(run, translator, "de", token=own, count=4).tables[0].head[-1] == "translated into en"
    )
    page = roles_page(run, translator, "de", token=own, into="fr", count=4)
    assert page.tables[0].head[-1] == "translated into fr, zero-shot"
    assert all(f"[{own}]" in row[2] for row in page.tables[0].rows)


def test_what_is_not_there_is_said(run, translator):
    with pytest.raises(DataError, match="'Nirgendwo' is no piece of the text of de"):
        roles_page(run, translator, "de", token="Nirgendwo")
    with pytest.raises(
        ConfigError, match="the encoder of fr has no roles; that of en, de has some"
    ):
        roles_page(run, translator, "fr")
