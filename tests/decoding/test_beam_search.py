"""Search: greedy follows the best word, a full beam is exhaustive search, and sentences do not
disturb each other.
"""

from __future__ import annotations

import itertools

import pytest
import torch

from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import CompleteHypotheses, search
from polyglot.decoding.topk import compact_rows, topk_continuations, topk_of_long_rows
from polyglot.model.memory import Memory
from polyglot.tasks.batch import BOS, EOS
from tests.builders.models import allclose, tiny_config, tiny_model

WORDS = 6  # pad, bos, eos, unk and two more


class Table:
    """A language model whose next word depends on the sentence and the last word alone: easy to
    search exhaustively.
    """

    def __init__(self, scores):
        self.scores = scores  # (B, V, V)

    def start(self, memory):
        return torch.arange(len(memory.states))

    def step(self, tokens, state, memory):
        return self.scores[state, tokens].clone(), state

    def reorder(self, state, rows, sentences):
        return state[rows]


def tables(sentences, seed, *, sharpness=1.0):
    torch.manual_seed(seed)
    return Table(torch.randn(sentences, WORDS, WORDS) * sharpness), Memory(
        torch.zeros(sentences, 1, 1)
    )


def exhaustive(scores, config, limit):
    """Every sequence up to the limit, scored by hand; pad and bos have their share of the
    probability, as in training.
    """
    table = scores.log_softmax(-1)
    found = []
    for length in range(limit):
        for middle in itertools.product([3, 4, 5], repeat=length):
            path = [BOS, *middle, EOS]
            total = sum(table[one, other].item() for one, other in zip(path, path[1:]))
            found.append((total / config.penalty(length + 1), total, middle))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_greedy_takes_the_best_word_every_time(seed):
    decoder, memory = tables(3, seed)
    found = search(decoder, memory, torch.tensor([2, 2, 2]), SearchConfig(beam=1))
    for sentence, (best,) in enumerate(found):
        word, words = BOS, []
        while len(words) < 24:
            scores = decoder.scores[sentence, word].clone()
            scores[[0, 1]] = -torch.inf
            word = scores.argmax().item()
            if word == EOS:
                break
            words.append(word)
        assert list(best.tokens) == words


@pytest.mark.parametrize(
    "settings",
    [
        {"length_penalty": 0.0},
        {"length_penalty": 1.0},
        {"length_penalty": 0.6, "length_normalisation": "gnmt"},
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_the_sequence(settings, seed):
    decoder, memory = tables(2, seed)
    config = SearchConfig(beam=4, n_best=4, max_length_ratio=0.0, max_length_extra=6, **settings)
    for sentence, hypotheses in enumerate(search(decoder, memory, torch.tensor([3, 3]), config)):
        by_tokens = {
            tokens: (score, total)
            for score, total, tokens in exhaustive(decoder.scores[sentence], config, 7)
        }
        assert len({one.tokens for one in hypotheses}) == len(hypotheses) == 4
        for one in hypotheses:
            assert (one.score, one.log_probability) == pytest.approx(
                by_tokens[one.tokens], abs=1e-4
            )
        assert [one.score for one in hypotheses] == sorted(
            (one.score for one in hypotheses), reverse=True
        )


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_the_likeliest_sequence(seed):
    """Without a length penalty a longer hypothesis is never likelier, so stopping early is
    exact.
    """
    decoder, memory = tables(1, seed)
    config = SearchConfig(beam=60, length_penalty=0.0, max_length_ratio=0.0, max_length_extra=4)
    best = search(decoder, memory, torch.tensor([1]), config)[0][0]
    score, _, tokens = exhaustive(decoder.scores[0], config, 5)[0]
    assert best.tokens == tokens and best.score == pytest.approx(score, abs=1e-4)


def test_the_length_limit_is_each_sentences_own():
    decoder, memory = tables(3, 0)
    decoder.scores[:, :, EOS] = -1e9
    config = SearchConfig(beam=2, max_length_ratio=1.0, max_length_extra=1)
    lengths = [
        len(best.tokens) for best, *_ in search(decoder, memory, torch.tensor([1, 4, 2]), config)
    ]
    assert lengths == [2, 5, 3]
    for like in (None, "opennmt"):
        config = config.model_copy(update={"max_length": 3, "like": like})
        assert [
            len(best.tokens)
            for best, *_ in search(decoder, memory, torch.tensor([1, 4, 2]), config)
        ] == [2, 3, 3]


@pytest.mark.parametrize("bridge", ["attention", "none"])
@pytest.mark.parametrize("decoder", ["lstm", "gru"])
@pytest.mark.parametrize("feeding", [True, False])
def test_company_changes_nothing(bridge, decoder, feeding):
    model = tiny_model(
        tiny_config(
            "lstm", bridge, {"type": decoder, "size": 16, "dropout": 0.0, "input_feeding": feeding}
        )
    ).eval()
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)  # decided enough for distinct hypotheses
    lengths = [5, 1, 9, 3]
    mask = torch.arange(9) < torch.tensor(lengths).unsqueeze(1)
    tokens = torch.randint(4, 40, (4, 9)) * mask
    config = SearchConfig(beam=3, n_best=3)
    with torch.no_grad():
        together = search(
            model.decoders["en"], model.encode("de", tokens, mask), mask.sum(1), config
        )
        for row, length in enumerate(lengths):
            memory = model.encode(
                "de", tokens[row : row + 1, :length], mask[row : row + 1, :length]
            )
            alone = search(model.decoders["en"], memory, torch.tensor([length]), config)[0]
            assert [one.tokens for one in alone] == [one.tokens for one in together[row]]
            assert allclose(
                torch.tensor([one.score for one in alone]),
                torch.tensor([one.score for one in together[row]]),
                1e-4,
            )


@pytest.mark.parametrize("columns", [7, 700, 704, 8001])
def test_the_largest_are_found_wherever_they_stand(columns):
    """Beside each other or far apart, in the groups or after the last."""
    torch.manual_seed(columns)
    scores = torch.randn(50, columns)
    scores[:20] = scores[:20].sort(dim=1).values  # all of the topk_of_long_rows side by side
    scores[10:20] = scores[10:20].flip(1)
    values, pieces = topk_of_long_rows(scores, 5)
    assert torch.equal(values, scores.topk(5, dim=1).values)
    assert torch.equal(values, scores.gather(1, pieces))


@pytest.mark.parametrize("limit", [1, 4])
def test_search_continues_while_a_hypothesis_of_the_length_limit_can_be_better(limit):
    """The longest hypothesis has `limit` pieces and EOS."""
    config = SearchConfig(beam=3, length_penalty=1.0)
    complete = CompleteHypotheses(config)
    complete.add([], -1.0)
    longest = limit + 1
    assert not complete.is_done(-1.0 * longest + 0.01, limit)
    assert complete.is_done(-1.0 * longest, limit)  # as good is not better


@pytest.mark.parametrize(("length_penalty", "best"), [(0.0, (3,)), (1.0, (4, 5))])
def test_a_longer_hypothesis_that_ends_later_can_still_be_the_best(length_penalty, best):
    """When the short one ends, the long one is behind at that length; its further words cost
    next to nothing.
    """
    likely = torch.full((1, WORDS, WORDS), 0.0)
    for last, following in {
        BOS: {3: 0.55, 4: 0.45},
        3: {EOS: 0.85, 5: 0.15},
        4: {5: 1.0},
        5: {EOS: 1.0},
    }.items():
        for word, probability in following.items():
            likely[0, last, word] = probability
    config = SearchConfig(beam=2, length_penalty=length_penalty)
    ((found,),) = search(
        Table(likely.clamp(min=1e-9).log()), Memory(torch.zeros(1, 1, 1)), torch.tensor([3]), config
    )
    assert found.tokens == best


def test_continuations_are_those_of_the_softmax():
    """More words than `topk_of_long_rows` sorts at once, hypotheses of two sentences, a word
    that is never written, and an end that must be.
    """
    torch.manual_seed(0)
    scores, totals = torch.randn(6, 500) * 3, torch.randn(2, 3)
    wanted = scores.log_softmax(dim=1).view(2, 3, 500) + totals.unsqueeze(2)
    wanted[:, :, 7] = -torch.inf
    wanted[1, :, [word for word in range(500) if word != EOS]] = -torch.inf
    values, origins, words = topk_continuations(
        scores.clone(), totals, count=4, excluded=[7], must_end=torch.tensor([False, True])
    )
    expected, places = wanted.flatten(1).topk(4, dim=1)
    assert (
        allclose(values[0], expected[0])
        and allclose(values[1, :3], expected[1, :3])
        and (values[1, 3:] == -torch.inf).all()
    )
    assert (origins[0] * 500 + words[0]).tolist() == places[0].tolist()
    assert (origins[1, :3] * 500 + words[1, :3]).tolist() == places[1, :3].tolist()


def test_settings_of_a_selection_are_in_force_where_there_is_one():
    assert (
        SearchConfig(beam=3).active_settings().keys()
        & {"select", "select_by", "select_for", "like"}
        == set()
    )
    assert SearchConfig(beam=3).active_settings()["beam"] == 3
    assert SearchConfig(select=9).active_settings().keys() >= {"select", "select_by", "select_for"}


@pytest.mark.parametrize(
    ("staying", "order"),
    [([], []), ([0, 1, 2], [0, 1, 2]), ([1, 2, 4, 5], [4, 1, 2, 5]), ([7], [7]), ([2, 3], [2, 3])],
)
def test_who_stays_moves_only_into_the_gaps_of_those_that_leave(staying, order):
    assert compact_rows(staying) == order
