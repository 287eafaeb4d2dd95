"""Search among few words: with all of them it is search among all, the end is always one, and the
output layer really shrinks.
"""

from __future__ import annotations

import re

import numpy
import pytest
import torch

from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.decoding.shortlist import Shortlist
from polyglot.decoding.vocabulary_selection import (
    RestrictedVocabularyDecoder,
    most_probable_words,
    select_words,
    selection_is_useful,
    union_of_words,
)
from polyglot.evaluation.protocol import Protocol
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.layers import selected_rows
from polyglot.layers.selected_rows import SelectedRowsLinear
from polyglot.model.decoders import DECODERS
from polyglot.tasks.batch import EOS, SPECIAL_TOKENS
from tests.builders.models import (
    VOCABULARY,
    allclose,
    if_available,
    random_batch,
    tiny_config,
    tiny_model,
)
from tests.builders.runs import sample_sentences, tiny_run, train
from tests.builders.tensors import LargestTensor

KINDS = [if_available(name) for name in DECODERS.names()]
SEARCH = {"beam": 3, "n_best": 3, "max_length_ratio": 1.0, "max_length_extra": 4}
"""Settings of the search. A model that has learnt nothing translates up to the largest length."""


def found_with(decoder, words, **settings):
    """What search finds among the words with a model whose decoder is of that kind, and the
    model.
    """
    model, batch = (
        tiny_model(tiny_config(decoder=decoder)).eval(),
        random_batch(lengths=((5, 1), (2, 1), (9, 1), (1, 1))),
    )
    config = SearchConfig(**SEARCH, **settings)
    with torch.inference_mode():
        memory, lengths = (
            model.encode("de", batch.source, batch.source_mask),
            batch.source_mask.sum(dim=1),
        )
        if words is None:
            return search(model.decoders["en"], memory, lengths, config)
        selected = RestrictedVocabularyDecoder(model.decoders["en"], words)
        return selected.restore_tokens(search(selected, memory, lengths, config))


@pytest.mark.parametrize("like", [None, "opennmt"])
@pytest.mark.parametrize("decoder", KINDS)
def test_all_words_are_no_selection(decoder, like):
    every = torch.arange(VOCABULARY)
    whole = found_with(decoder, None, like=like)
    assert found_with(decoder, every, like=like) == whole, (
        "the same numbers, since the products are the same"
    )
    of_each = found_with(decoder, every.expand(4, -1).contiguous(), like=like)
    assert [[one.tokens for one in own] for own in of_each] == [
        [one.tokens for one in own] for own in whole
    ]
    assert [[one.score for one in own] for own in of_each] == [
        pytest.approx([one.score for one in own], abs=1e-4) for own in whole
    ]


@pytest.mark.parametrize("decoder", KINDS)
def test_only_the_chosen_words_are_written_and_the_output_layer_has_no_other(decoder):
    words = torch.tensor(
        [[0, 1, 2, 3, 10, 20], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 30, 39], [0, 1, 2, 3, 7, 8]]
    )
    for own, hypotheses in zip(words.tolist(), found_with(decoder, words)):
        assert hypotheses and all(set(one.tokens) <= set(own) - {0, 1, 2} for one in hypotheses)
    together = union_of_words(words)
    for hypotheses in found_with(decoder, together):
        assert all(set(one.tokens) <= set(together.tolist()) for one in hypotheses)
    model, batch = tiny_model(tiny_config(decoder=decoder)).eval(), random_batch()
    with torch.inference_mode():
        memory = model.encode("de", batch.source, batch.source_mask)
        for chosen, size in ((words[:3], 6), (together, len(together))):
            state = model.decoders["en"].start(memory, words=chosen)
            scores, _ = model.decoders["en"].step(torch.ones(3, dtype=torch.long), state, memory)
            assert scores.shape == (3, size)
            if not isinstance(state.output, SelectedRowsLinear):
                states_size = model.decoders["en"].body.output_states_size
                assert len(state.output(torch.zeros(1, states_size))[0]) == size
            whole, _ = model.decoders["en"].step(
                torch.ones(3, dtype=torch.long), model.decoders["en"].start(memory), memory
            )
            assert allclose(
                scores, whole.gather(1, chosen if chosen.dim() == 2 else chosen.expand(3, -1))
            )


class Masked:
    """A decoder whose other words are impossible."""

    def __init__(self, decoder, words):
        self.decoder, self.start, self.reorder = decoder, decoder.start, decoder.reorder
        self.others = torch.ones(VOCABULARY, dtype=torch.bool)
        self.others[words] = False

    def step(self, tokens, state, memory):
        scores, state = self.decoder.step(tokens, state, memory)
        return scores.masked_fill(self.others, -torch.inf), state


@pytest.mark.parametrize("of_each", [True, False])
@pytest.mark.parametrize("decoder", KINDS)
def test_it_is_search_in_which_other_words_are_impossible(decoder, of_each):
    """Also when sentences have gone, so that rows have moved."""
    words = torch.tensor([0, 1, 2, 3, 4, 9, 15, 16, 23, 28, 37])
    model, batch = (
        tiny_model(tiny_config(decoder=decoder)).eval(),
        random_batch(lengths=((5, 1), (2, 1), (9, 1), (1, 1))),
    )
    config, english = SearchConfig(**SEARCH), model.decoders["en"]
    with torch.inference_mode():
        memory, lengths = (
            model.encode("de", batch.source, batch.source_mask),
            batch.source_mask.sum(dim=1),
        )
        expected = search(Masked(english, words), memory, lengths, config)
    found = found_with(decoder, words.expand(4, -1).contiguous() if of_each else words)
    assert [[one.tokens for one in own] for own in found] == [
        [one.tokens for one in own] for own in expected
    ]
    assert [[one.score for one in own] for own in found] == [
        pytest.approx([one.score for one in own], abs=1e-4) for own in expected
    ]


def test_special_tokens_are_always_among_them():
    scores = torch.randn(3, 30)
    scores[:, EOS] = -1e9
    for count in (1, 5, 26, 100):
        words = most_probable_words(scores, count)
        assert words.shape == (3, min(count + len(SPECIAL_TOKENS), 30))
        assert (words[:, :4] == torch.arange(4)).all() and (words.diff(dim=1) > 0).all()
    assert most_probable_words(scores, 1)[0, 4] == scores[0, 4:].argmax() + 4


def test_many_selected_words_are_not_copied_for_each_sentence():
    sentences = 8
    words = torch.arange(30).expand(sentences, -1).contiguous()
    model = tiny_model(tiny_config()).eval()
    decoder = model.decoders["en"]
    batch = random_batch(lengths=((1, 1),) * sentences)
    with torch.inference_mode():
        memory = model.encode("de", batch.source, batch.source_mask)
        with LargestTensor() as largest:
            state = decoder.start(memory, words=words)
            scores, _ = decoder.step(torch.ones(sentences, dtype=torch.long), state, memory)
    assert scores.shape == (sentences, 30)
    assert largest.elements < sentences * 30 * decoder.body.output_states_size


@pytest.fixture(params=["copied", "common"])
def way(request, monkeypatch):
    """Way in which the selected rows are computed."""
    cost = 0 if request.param == "copied" else 1000
    monkeypatch.setattr(selected_rows, "COPIED_ROW_COST", cost)
    return request.param


def test_selected_rows_equal_the_product_while_sentences_leave(way):
    torch.manual_seed(0)
    weight = torch.randn(20, 5)
    bias = torch.randn(20)
    words = torch.randint(0, 20, (8, 6))
    inputs = torch.randn(8, 3, 5)
    rows = SelectedRowsLinear(weight, bias, words)
    left = torch.arange(8)
    for kept in ([0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 4, 5, 7], [1, 3, 4, 5], [0, 2, 3], [1]):
        rows = rows.select(torch.tensor(kept))
        left = left[kept]
        expected = []
        for sentence in left:
            expected.append(inputs[sentence] @ weight[words[sentence]].T + bias[words[sentence]])
        assert allclose(rows(inputs[left].flatten(0, 1)), torch.cat(expected))
        if way == "copied":
            assert len(rows.copied_rows.weight) < 2 * len(left)
            assert rows.common_rows is None
        else:
            assert rows.copied_rows is None


@pytest.mark.parametrize("decoder", ["lstm", "rnnsearch"])
def test_both_ways_find_the_same(decoder, way):
    words = torch.tensor([[0, 1, 2, 3, 10, 20, 30], [0, 1, 2, 3, 4, 5, 6]] * 2)
    found = found_with(decoder, words)
    for row, own in enumerate(words):
        alone = found_with(decoder, own)[row]
        assert [one.tokens for one in found[row]] == [one.tokens for one in alone]


def test_few_rows_are_copied_and_many_are_computed_together():
    """The copy of 10 000 of 17 000 rows would take longer to read than all rows to compute."""
    weight = torch.zeros(17_000, 1)
    bias = torch.zeros(17_000)
    few = SelectedRowsLinear(weight, bias, torch.arange(1_000).expand(2, -1))
    many = SelectedRowsLinear(weight, bias, torch.arange(10_000).expand(2, -1))
    assert few.copies_rows(hypotheses=5)
    assert not many.copies_rows(hypotheses=5)
    assert many(torch.ones(10, 1)).shape == (10, 10_000)
    assert many.copied_rows is None


def test_nearly_all_rows_are_not_copied():
    weight = torch.randn(100, 3)
    bias = torch.randn(100)
    words = torch.stack([torch.arange(1, 61), torch.arange(40, 100)])
    rows = SelectedRowsLinear(weight, bias, words)
    inputs = torch.randn(2, 3)
    expected = (inputs @ weight.T + bias).gather(1, words)
    assert not rows.copies_rows(hypotheses=1)
    assert allclose(rows(inputs), expected)
    assert torch.equal(rows.common_rows.columns, words), "columns of a product with all rows"


@pytest.mark.parametrize(
    ("count", "vocabulary", "saves"),
    [
        (1_000, 1_005, True),
        (1_000, 1_004, False),  # with the special tokens these are all words
        (8_502, 17_004, True),
        (8_503, 17_004, False),
        (10_000, 17_004, False),
        (10_000, 30_000, True),
    ],
)
def test_selection_of_more_than_half_of_many_words_saves_no_time(count, vocabulary, saves):
    assert selection_is_useful(count, vocabulary) == saves


def test_words_of_a_single_sentence_are_those_of_the_batch():
    scores = torch.randn(1, 30)
    words = select_words(scores, 5, together=False)
    assert words.tolist() == most_probable_words(scores, 5)[0].tolist()
    assert select_words(scores.expand(2, -1), 5, together=False).shape == (2, 9)
    assert select_words(scores.expand(2, -1), 5, together=True).shape == (9,)
    assert select_words(scores, 26, together=False) is None


def test_a_batch_that_needs_most_words_together_searches_all_words():
    scores = torch.zeros(2, 3_000)
    scores[0, 100:1_200] = 1.0
    scores[1, 1_200:2_300] = 1.0
    assert select_words(scores, 1_100, together=True) is None
    assert select_words(scores, 1_100, together=False).shape == (2, 1_104)
    assert select_words(scores[:1].expand(2, -1), 1_100, together=True).shape == (1_104,)


# The shortlist ------------------------------------------------------------------------------------


def test_a_shortlist_finds_what_goes_together():
    """Source word n goes with target word n + 10; 4 comes everywhere."""
    random = numpy.random.default_rng(0)
    sources = [random.permutation(numpy.arange(5, 15))[:4].astype(numpy.int32) for _ in range(300)]
    targets = [
        numpy.concatenate([random.permutation(source + 10), [4]]).astype(numpy.int32)
        for source in sources
    ]
    shortlist = Shortlist.learn(sources, targets, (20, 40), words_per_source=3)
    scores = shortlist.scores([[5, 7], [6]])
    assert scores.shape == (2, 40)
    assert set(scores[0].topk(3).indices.tolist()) == {4, 15, 17} and set(
        scores[1].topk(2).indices.tolist()
    ) == {4, 16}
    assert (shortlist.starts[1:] - shortlist.starts[:-1]).max() == 3
    for word in range(5, 15):
        part = slice(shortlist.starts[word], shortlist.starts[word + 1])
        assert shortlist.words[part][0] == word + 10 and shortlist.values[part][0] > 0.5
        assert (numpy.diff(shortlist.values[part]) <= 0).all()


def test_a_shortlist_of_nothing_is_what_is_common():
    shortlist = Shortlist.learn([], [], (6, 6))
    assert shortlist.scores([[5]]).shape == (1, 6)


# In a run -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    options = {"options": {"decoder": [{"type": "word_prediction", "predict": "initial"}]}}
    schedule = {"type": "uniform", "pairs": ["de-en", "en-de"]}
    run = tiny_run(
        tmp_path_factory.mktemp("selection"),
        model=options,
        schedule=schedule,
        training={"steps": 60},
        optimizer={"learning_rate": 0.02},
    )
    train(run)
    return run


GIVEN = {"source": "de", "target": "en"}


def text(count=12):
    return sample_sentences("de", seed=3, lines=count)


@pytest.mark.parametrize("select_for", ["sentence", "batch"])
def test_a_run_with_all_words_translates_as_without_selection(run, select_for):
    translator = Translator.load(run)
    whole = translator.hypotheses(text(), **GIVEN)
    every = translator.hypotheses(text(), **GIVEN, select=1000, select_for=select_for)
    assert [(own[0].text, own[0].score) for own in every] == [
        (own[0].text, own[0].score) for own in whole
    ]
    few = translator.translate(text(), **GIVEN, select=1, select_for="sentence")
    assert all(len(set(line.split()) - {"<unk>"}) <= 1 for line in few), "one word each"
    assert translator.translate(text(), **GIVEN, select=1, select_for="batch") != few


def test_a_shortlist_serves_runs_without_prediction(tmp_path, monkeypatch, capsys):
    from tests.builders.command_line import Program

    run = tiny_run(tmp_path, training={"steps": 30})
    train(run)
    program = Program(monkeypatch, capsys)
    german = "".join(f"{line}\n" for line in text())
    arguments = ("translate", run.path, "--from", "de", "--to", "en")
    assert "has no `word_prediction` from its initial state" in program.refuses(
        *arguments, "--select", 5, stdin=german
    )
    assert "polyglot shortlist" in program.refuses(
        *arguments, "--select", 5, "--select-by", "shortlist", stdin=german
    )
    assert "select_by: found 'magic'" in program.refuses(
        *arguments, "--select", 5, "--select-by", "magic", stdin=german
    )
    assert program("shortlist", run.path, "de-en").status == 0
    result = program(*arguments, "--select", 8, "--select-by", "shortlist", stdin=german)
    assert result.status == 0
    expected = Translator.load(run).translate(text(), **GIVEN, select=8, select_by="shortlist")
    assert result.output.split("\n")[:-1] == expected
    whole = program(*arguments, stdin=german).output
    assert (
        program(*arguments, "--select", 1000, "--select-by", "shortlist", stdin=german).output
        == whole
    )
    run.shortlist_file(next(iter(run.config.pairs))).parent.joinpath(
        "de-en.safetensors"
    ).write_bytes(b"no")
    with pytest.raises(CheckpointError, match="not a shortlist"):
        Translator.load(run).translate(text(), **GIVEN, select=8, select_by="shortlist")
    assert "no vocabulary named 'cs'" in program.refuses("shortlist", run.path, "de-cs")


def test_a_selection_that_saves_no_time_does_not_predict_words(run, monkeypatch):
    translator = Translator.load(run)
    whole = translator.translate(text(), **GIVEN)
    monkeypatch.setattr(Translator, "word_scores", None)
    assert translator.translate(text(), **GIVEN, select=1000) == whole


def test_an_ensemble_selects_as_one(run):
    one, twice = Translator.load(run), EnsembleTranslator.load([run, run])
    for select_for in ("sentence", "batch"):
        settings = {"select": 6, "select_for": select_for}
        assert twice.translate(text(), **GIVEN, **settings) == one.translate(
            text(), **GIVEN, **settings
        )


def test_a_selection_nobody_can_make_is_said(run):
    translator = Translator.load(run)
    translator.shortlists = None
    with pytest.raises(ConfigError, match="no run directory with a shortlist"):
        translator.translate(text(), **GIVEN, select=3, select_by="shortlist")


@pytest.mark.parametrize("setting", [{"select_by": "shortlist"}, {"select_for": "batch"}])
def test_how_to_select_without_how_many_is_refused(run, setting, monkeypatch, capsys):
    from tests.builders.command_line import Program

    [(name, value)] = setting.items()
    program, said = (
        Program(monkeypatch, capsys),
        f"search.{name}: no effect without vocabulary selection; set search.select",
    )
    option = f"--{name.replace('_', '-')}"
    with pytest.raises(ConfigError, match=re.escape(said)):
        Translator.load(run).translate(text(), **GIVEN, **setting)
    assert said in program.refuses(
        "translate", run.path, "--from", "de", "--to", "en", option, value, stdin="Hund\n"
    )
    with pytest.raises(ConfigError, match=re.escape(said)):
        Protocol().with_search(setting).effective_search(SearchConfig())
    assert Protocol().with_search(setting).effective_search(SearchConfig(select=3)).select == 3
