"""Noise on copies: what stays of the source, how far it moves, and what is untouched."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.tasks.batch import PAD, UNK, Batch
from polyglot.tasks.noise import CopyNoise, add_copy_noise
from polyglot.tasks.pairs import LanguagePair, Task

COPY = Task(LanguagePair("de", "de"))


def copy_batch(sentences, task=COPY):
    return Batch.from_sentences(task, sentences, sentences)


def sources(batch):
    """Tokens of each sentence; padding must come after them."""
    rows = []
    for tokens, mask in zip(batch.source.tolist(), batch.source_mask.tolist()):
        length = sum(mask)
        assert mask == [True] * length + [False] * (len(mask) - length)
        assert tokens[length:] == [PAD] * (len(mask) - length)
        rows.append(tokens[:length])
    return rows


sentence_lists = st.lists(
    st.lists(st.integers(10, 99), unique=True, max_size=12), min_size=1, max_size=6
)


@settings(deadline=None, max_examples=60)
@given(
    sentences=sentence_lists,
    drop=st.sampled_from([0.0, 0.3, 0.99]),
    mask=st.sampled_from([0.0, 0.5, 1.0]),
    shuffle=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_sources_keep_their_pieces_and_targets_everything(sentences, drop, mask, shuffle, seed):
    batch = copy_batch(sentences)
    torch.manual_seed(seed)
    noisy = add_copy_noise(batch, CopyNoise(drop=drop, mask=mask, shuffle=shuffle))

    for sentence, noisy_sentence in zip(sentences, sources(noisy)):
        assert min(1, len(sentence)) <= len(noisy_sentence) <= len(sentence)
        if drop == 0:
            assert len(noisy_sentence) == len(sentence)
        known = [token for token in noisy_sentence if token != UNK]
        assert len(set(known)) == len(known)
        assert set(known) <= set(sentence)
        if mask == 0:
            assert len(known) == len(noisy_sentence)
        if mask == 1:
            assert not known
        if shuffle == 0:
            assert known == [token for token in sentence if token in known]
        if drop == 0:
            for place, token in enumerate(noisy_sentence):
                assert token == UNK or abs(sentence.index(token) - place) <= shuffle
    for name in ("target_in", "target_out", "target_mask"):
        assert torch.equal(getattr(noisy, name), getattr(batch, name))


@pytest.mark.parametrize(
    ("noise", "expected"),
    [({"drop": 0.3}, 0.3), ({"mask": 0.2}, 0.2), ({"drop": 0.1, "mask": 0.1}, 0.19)],
)
def test_shares_of_lost_pieces_are_the_probabilities(noise, expected):
    sentences = [list(range(10, 60))] * 200
    torch.manual_seed(0)
    noisy = add_copy_noise(copy_batch(sentences), CopyNoise(**noise))
    kept = sum(token != UNK for sentence in sources(noisy) for token in sentence)
    assert 1 - kept / (50 * 200) == pytest.approx(expected, abs=0.02)


def test_pieces_move_as_far_as_they_may():
    sentences = [list(range(10, 60))] * 200
    torch.manual_seed(0)
    noisy = add_copy_noise(copy_batch(sentences), CopyNoise(shuffle=3))
    distances = set()
    for sentence in sources(noisy):
        distances.update(abs(token - 10 - place) for place, token in enumerate(sentence))
    assert distances == {0, 1, 2, 3}


def test_only_copies_have_noise_and_only_if_it_is_set():
    noise = CopyNoise(drop=0.5, mask=0.5, shuffle=3)
    translation = copy_batch([[10, 11, 12]], Task(LanguagePair("de", "en")))
    assert add_copy_noise(translation, noise) is translation
    copy = copy_batch([[10, 11, 12]])
    assert add_copy_noise(copy, CopyNoise()) is copy


def test_noise_depends_on_the_seed_of_the_batch_only():
    batch = copy_batch([list(range(10, 40))] * 4)
    noise = CopyNoise(drop=0.2, mask=0.2, shuffle=2)
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(sources(add_copy_noise(batch, noise)))
    assert results[0] == results[1] != results[2]
