"""Groups of rows: the connected components of rows with an equal hash."""

from __future__ import annotations

import numpy
from hypothesis import given
from hypothesis import strategies as st

from polyglot.data.row_groups import RowGroups


def components(columns: list[list[int]], count: int) -> list[int]:
    """Smallest row of each row's component, by repeated relabelling."""
    labels = list(range(count))
    is_changed = True
    while is_changed:
        is_changed = False
        for column in columns:
            for first in range(count):
                for second in range(count):
                    is_joined = column[first] == column[second] != 0
                    if is_joined and labels[first] > labels[second]:
                        labels[first] = labels[second]
                        is_changed = True
    return labels


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 6), min_size=n, max_size=n), max_size=3)
    )
)
def test_groups_are_the_connected_components(columns):
    count = len(columns[0]) if columns else 4
    groups = RowGroups(count)
    for column in columns:
        groups.join_equal(numpy.array(column, dtype=numpy.uint64))
    assert groups.labels().tolist() == components(columns, count)


def test_a_long_chain_is_one_group():
    count = 20_000
    groups = RowGroups(count)
    numbers = numpy.arange(count, dtype=numpy.uint64) // numpy.uint64(2)
    groups.join_equal(numbers + numpy.uint64(1))
    groups.join_equal(
        (numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(1)) // numpy.uint64(2)
    )
    # The hash 0 of the first row joins nothing, but its first column does.
    assert not groups.labels().any()
