"""Readers of a streamed text: every line once per epoch, exact continuation from a position."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.core.errors import DataError
from polyglot.data.corpora import Shard, StreamedText
from polyglot.data.stream_reader import StreamReader

SIZES = st.lists(st.integers(0, 12), min_size=1, max_size=7).filter(any)


def text_of(sizes):
    def shard(number, size):
        rows = [(f"{number}.{row}", f"{row}") for row in range(size)]
        return Shard(
            f"part {number}", lambda start: iter(rows[start:]), f"part {number}", size, lambda: size
        )

    return StreamedText("text", [shard(number, size) for number, size in enumerate(sizes)], 1.0)


def stream_readers(sizes, readers, seed="1"):
    return [
        StreamReader(
            text_of(sizes), seed=seed, key="text", reader_index=reader, reader_count=readers
        )
        for reader in range(readers)
    ]


def rest_of(reading, epoch):
    """Shard and row of all lines that a reader reads up to the end of an epoch."""
    rows = []
    while reading.epoch <= epoch:
        try:
            [(shard, row, source, _)] = reading.take(1)
        except DataError:  # as many processes as that this one has no line at all
            break
        if reading.epoch <= epoch:  # otherwise it is the first line of the next epoch
            assert source == f"{shard}.{row}"
            rows.append((shard, row))
    return rows


def all_lines(sizes):
    return Counter((shard, row) for shard, size in enumerate(sizes) for row in range(size))


@settings(deadline=None)
@given(sizes=SIZES, readers=st.integers(1, 5), epochs=st.integers(0, 2))
def test_every_line_is_read_once_per_epoch_by_a_single_reader(sizes, readers, epochs):
    whole = Counter()
    for reading in stream_readers(sizes, readers):
        whole.update(rest_of(reading, epochs))
    assert whole == Counter({line: epochs + 1 for line in all_lines(sizes)})


@settings(deadline=None)
@given(sizes=SIZES, several=st.lists(st.integers(1, 4), min_size=2, max_size=4), data=st.data())
def test_another_number_of_readers_continues_with_the_unread_lines(sizes, several, data):
    positions, seen = [], Counter()
    for readers in several[:-1]:
        now = stream_readers(sizes, readers)
        for reading in now:
            if positions:
                reading.seek(positions)
            if sum(sizes) >= 4 * len(sizes):
                seen.update(
                    (shard, row) for shard, row, *_ in reading.take(data.draw(st.integers(0, 15)))
                )
        positions = [reading.position for reading in now]
    latest = max(one["epoch"] for one in positions)
    for reading in stream_readers(sizes, several[-1]):
        reading.seek(positions)
        assert reading.epoch == latest or several[-1] == several[-2]
        seen.update(rest_of(reading, latest))
    assert seen == Counter({line: latest + 1 for line in all_lines(sizes)})


@settings(deadline=None)
@given(sizes=SIZES, readers=st.integers(1, 3), taken=st.integers(0, 40))
def test_a_reader_continues_from_its_position(sizes, readers, taken):
    for straight, resumed in zip(stream_readers(sizes, readers), stream_readers(sizes, readers)):
        if sum(sizes) >= readers * len(sizes):
            list(straight.take(taken))
            resumed.seek(
                [
                    reading.position
                    for reading in stream_readers(sizes, readers)[: straight.reader_index]
                ]
                + [straight.position] * (readers - straight.reader_index)
            )
            assert resumed.position == straight.position
            assert list(resumed.take(20)) == list(straight.take(20))


def test_the_order_depends_on_seed_and_epoch_only():
    sizes = [3] * 20
    order = [
        [shard for shard, *_ in rows]
        for rows in (
            rest_of(stream_readers(sizes, 1)[0], 0),
            rest_of(stream_readers(sizes, 1)[0], 1)[60:],
        )
    ]
    assert order[0] != order[1] != sorted(order[1])
    assert [shard for shard, _ in rest_of(stream_readers(sizes, 1)[0], 0)] == order[0]
    assert [shard for shard, _ in rest_of(stream_readers(sizes, 1, seed="2")[0], 0)] != order[0]


def test_a_reader_without_any_line_is_an_error():
    with pytest.raises(DataError, match="^text: no sentences$"):
        list(stream_readers([0, 0], 1)[0].take(1))
    with pytest.raises(DataError, match="^text: no sentences for process 1 of 2$"):
        list(stream_readers([1], 2)[1].take(1))
