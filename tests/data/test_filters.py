"""Filters: kept pairs are within the limits, dropped pairs are counted once."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.core.errors import DataError
from polyglot.data.filters import FilterConfig, filter_pairs

LENGTHS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1)


def lengths(*pairs):
    return numpy.array(pairs, dtype=numpy.int32).reshape(-1, 2).T


@settings(deadline=None)
@given(
    pairs=LENGTHS,
    least=st.integers(0, 5),
    most=st.integers(1, 30),
    ratio=st.none() | st.floats(1, 10),
)
def test_a_pair_stays_exactly_when_it_is_within_every_bound(pairs, least, most, ratio):
    config = FilterConfig(min_length=least, max_length=most, max_ratio=ratio)
    wanted = [
        least <= min(pair)
        and max(pair) <= most
        and (ratio is None or max(pair) <= ratio * max(1, min(pair)))
        for pair in pairs
    ]
    if not any(wanted):
        with pytest.raises(DataError, match="^de-en: "):
            filter_pairs(*lengths(*pairs), config, name="de-en")
        return
    mask, dropped = filter_pairs(*lengths(*pairs), config, name="de-en")
    assert mask.tolist() == wanted
    assert sum(dropped.values()) == wanted.count(False)


def test_each_reason_is_counted():
    pairs = [(5, 5), (0, 5), (0, 0), (5, 0), (1, 9), (101, 5), (1, 10), (2, 18)]
    mask, dropped = filter_pairs(*lengths(*pairs), FilterConfig(), name="de-en")
    assert dropped == {
        "empty source": 2,
        "empty target": 1,
        "too short": 0,
        "too long": 1,
        "ratio": 1,
    }
    assert mask.tolist() == [True, False, False, False, True, False, False, True]


def test_an_empty_side_that_may_stay_counts_as_one_piece_in_the_ratio():
    mask, dropped = filter_pairs(
        *lengths((0, 9), (10, 0), (0, 0)), FilterConfig(min_length=0), name="de-en"
    )
    assert mask.tolist() == [True, False, True] and dropped["ratio"] == 1


@pytest.mark.parametrize(
    "pairs, message",
    [
        (
            [(130, 5), (9, 123)],
            (
                "de-en: only over-long sentences: max_length is 100 pieces, "
                "the shortest of 2 pairs has 123"
            ),
        ),
        (
            [(0, 5), (130, 5), (1, 50)],
            (
                "de-en: the filters leave none of 3 sentence pairs: 1 empty source, 1 too long, "
                "1 ratio"
            ),
        ),
        ([], "de-en: no sentences"),
    ],
)
def test_message_if_no_pair_is_left(pairs, message):
    with pytest.raises(DataError) as error:
        filter_pairs(*lengths(*pairs), FilterConfig(), name="de-en")
    assert str(error.value) == message
