"""Batches: every sentence once per epoch, little padding, exact continuation from a position."""

from types import SimpleNamespace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.data.batching import (
    BatchingConfig,
    BatchStream,
    epoch_batches,
    ordered_batches,
    ordered_indices,
)

CONFIGS = st.builds(
    BatchingConfig,
    size=st.integers(1, 200),
    by=st.sampled_from(["sentences", "tokens"]),
    pool=st.integers(1, 20),
)
LENGTHS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=300)


def arrays(pairs):
    return numpy.array(pairs, dtype=numpy.int32).reshape(-1, 2).T


def some_lengths(count=5000):
    random = numpy.random.default_rng(0)
    source = random.gamma(4, 4, count).astype(numpy.int32) + 1
    return source, numpy.maximum(1, source + random.normal(0, 2, count)).astype(numpy.int32)


class FakeDataset:
    """Dataset with lengths only; a batch is the list of its indices."""

    def __init__(self, source, target, name="de-en"):
        self.source_lengths, self.target_lengths = source, target
        self.task = SimpleNamespace(name=name)

    def __len__(self):
        return len(self.source_lengths)

    def batch(self, indices):
        return indices.tolist()


@settings(deadline=None, max_examples=200)
@given(pairs=LENGTHS, config=CONFIGS, epoch=st.integers(0, 5))
def test_every_sentence_is_in_one_batch_and_no_batch_is_too_large(pairs, config, epoch):
    source, target = arrays(pairs)
    batches = epoch_batches(source, target, config, seed=1, task_name="de-en", epoch=epoch)
    assert sorted(index for batch in batches for index in batch.tolist()) == list(range(len(pairs)))
    for batch in batches:
        if config.by == "sentences":
            assert 1 <= len(batch) <= config.size
        else:
            assert (
                len(batch) == 1
                or len(batch) * max(source[batch].max(), target[batch].max() + 1) <= config.size
            )


def test_batches_by_tokens_are_as_full_as_possible():
    batches = epoch_batches(
        *arrays([(5, 9)] * 12),
        BatchingConfig(size=40, by="tokens"),
        seed=1,
        task_name="de-en",
        epoch=0,
    )
    assert [len(batch) for batch in batches] == [4, 4, 4]  # four times nine and an end token


@settings(deadline=None)
@given(pairs=LENGTHS, config=CONFIGS)
def test_the_single_pass_has_every_sentence_once_in_order_of_length(pairs, config):
    dataset = FakeDataset(*arrays(pairs))
    order = [index for batch in ordered_batches(dataset, config) for index in batch]
    assert sorted(order) == list(range(len(pairs)))
    # Targets rise; from one target length to the next, sources rise and fall in turns.
    assert [pairs[index][::-1] for index in order] == sorted(
        (pair[::-1] for pair in pairs), key=lambda pair: (pair[0], pair[1] * (-1) ** (pair[0] + 1))
    )
    assert [batch.tolist() for batch in ordered_indices(dataset, config)] == list(
        ordered_batches(dataset, config)
    )


def test_order_depends_on_epoch_task_and_seed_only():
    def batches(seed=1, task_name="de-en", epoch=0):
        return [
            batch.tolist()
            for batch in epoch_batches(
                *some_lengths(), BatchingConfig(), seed=seed, task_name=task_name, epoch=epoch
            )
        ]

    assert batches() == batches()
    assert (
        len(
            {
                str(one)
                for one in (
                    batches(),
                    batches(seed=2),
                    batches(task_name="en-de"),
                    batches(epoch=1),
                )
            }
        )
        == 4
    )


@pytest.mark.parametrize("by, size", [("sentences", 64), ("tokens", 2000)])
def test_padding_is_bounded(by, size):
    source, target = some_lengths()
    batches = epoch_batches(
        source, target, BatchingConfig(size=size, by=by), seed=1, task_name="de-en", epoch=0
    )
    padded = sum(len(batch) * target[batch].max() for batch in batches)
    assert target.sum() / padded > 0.95
    full = [len(batch) * max(source[batch].max(), target[batch].max() + 1) for batch in batches]
    assert by == "sentences" or numpy.mean(full) > 0.9 * size


def test_batches_mix_short_and_long_over_the_epoch():
    source, target = some_lengths()
    batches = epoch_batches(source, target, BatchingConfig(), seed=1, task_name="de-en", epoch=0)
    widths = [target[batch].mean() for batch in batches]
    assert abs(numpy.corrcoef(numpy.arange(len(widths)), widths)[0, 1]) < 0.3


@pytest.mark.parametrize("taken", [0, 1, 78, 79, 80, 200])
def test_a_stream_continues_from_its_position(taken):
    def stream():
        return BatchStream(FakeDataset(*some_lengths()), BatchingConfig(), seed=3)

    straight = stream()
    for _ in range(taken):
        straight.take()
    resumed = stream()
    resumed.seek(straight.position)
    assert resumed.position == straight.position
    for _ in range(100):
        assert resumed.take().tolist() == straight.take().tolist()


def test_a_stream_goes_through_whole_epochs():
    stream = BatchStream(FakeDataset(*some_lengths(100)), BatchingConfig(size=30), seed=3)
    assert stream.position == {"epoch": 0, "index": 0}
    for epoch in range(3):
        batches = [stream.take() for _ in range(4)]
        assert sorted(int(index) for batch in batches for index in batch) == list(range(100))
        assert stream.position == {"epoch": epoch, "index": 4}


@pytest.mark.parametrize("pool", [1, 2, 7])
@pytest.mark.parametrize(
    ("tokens", "sentences"),
    [(60, 6), (69, 6), (10, 1), (9, 1)],
    ids=["fits", "rest", "one", "none"],
)
def test_a_pool_by_tokens_has_as_many_batches_as_one_by_sentences(pool, tokens, sentences):
    """All pairs have a width of 10, so that both limits allow the same batches."""
    source = numpy.random.default_rng(1).integers(1, 11, 200).astype(numpy.int32)
    target = numpy.full(200, 9, dtype=numpy.int32)

    def batches(**limit):
        config = BatchingConfig(pool=pool, **limit)
        indices = epoch_batches(source, target, config, seed=1, task_name="de-en", epoch=0)
        return [batch.tolist() for batch in indices]

    by_tokens = batches(size=tokens, by="tokens")
    assert by_tokens == batches(size=sentences, by="sentences")
    assert by_tokens != batches_of_one_pool(source, target, sentences)


def batches_of_one_pool(source, target, sentences):
    """Batches if the whole epoch is one pool."""
    config = BatchingConfig(pool=len(source), size=sentences)
    indices = epoch_batches(source, target, config, seed=1, task_name="de-en", epoch=0)
    return [batch.tolist() for batch in indices]
