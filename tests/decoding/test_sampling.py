"""Sampling: words are drawn by their probability."""

from __future__ import annotations

import torch

from polyglot.decoding.base import SearchConfig
from polyglot.decoding.beam_search import search
from polyglot.decoding.sampling import SamplingDecoder
from polyglot.model.memory import Memory
from polyglot.tasks.batch import EOS

SENTENCES = 6000


class Constant:
    """Decoder with the same logits at every step."""

    def __init__(self, probabilities):
        self.logits = torch.tensor(probabilities).log()

    def start(self, memory):
        return None

    def step(self, tokens, state, memory):
        return self.logits.expand(len(tokens), -1), None

    def reorder(self, state, rows, sentences):
        return None


def sample(probabilities, *, seed, sentences=SENTENCES, extra=2):
    torch.manual_seed(seed)
    memory = Memory(torch.zeros(sentences, 1, 1), None)
    config = SearchConfig(beam=1, max_length_ratio=0, max_length_extra=extra)
    lengths = torch.ones(sentences, dtype=torch.long)
    hypotheses = search(SamplingDecoder(Constant(probabilities)), memory, lengths, config)
    return [sentence[0].tokens for sentence in hypotheses]


def test_frequencies_are_the_probabilities_without_the_special_tokens():
    # Ids: pad and bos, which are never drawn, eos, unk, and two words.
    results = sample([0.3, 0.2, 0.1, 0.05, 0.25, 0.1], seed=0, extra=1)
    counts = {tokens: results.count(tokens) / SENTENCES for tokens in set(results)}
    assert counts.keys() == {(), (3,), (4,), (5,)}
    for tokens, probability in {(): 0.2, (3,): 0.1, (4,): 0.5, (5,): 0.2}.items():
        assert abs(counts[tokens] - probability) < 0.02


def test_words_of_a_sentence_are_independent_and_the_limit_holds():
    results = sample([0.0, 0.0, 0.5, 0.0, 0.25, 0.25], seed=1, extra=2)
    lengths = [len(tokens) for tokens in results]
    for length, probability in enumerate([0.5, 0.25, 0.25]):
        assert abs(lengths.count(length) / SENTENCES - probability) < 0.02
    pairs = [tokens for tokens in results if len(tokens) == 2]
    for first in (4, 5):
        for second in (4, 5):
            assert abs(pairs.count((first, second)) / len(pairs) - 0.25) < 0.05
    assert EOS not in {token for tokens in results for token in tokens}


def test_the_random_generator_decides():
    probabilities = [0.0, 0.0, 0.2, 0.2, 0.3, 0.3]
    first, again, other = (sample(probabilities, seed=seed, sentences=9) for seed in (3, 3, 4))
    assert first == again != other
