"""What ranks send and get in all-to-alls, and which of them bring back what one before took away."""

from __future__ import annotations

import json

import pytest
from tables import empty_tables, insert


def exchanges(*rows, size=2, columns="sent, received, is_return"):
    """Rows of the view, of all-to-alls (lists or elements out and in, bytes of an element) of a rank; a row has 4 elements."""
    connection = empty_tables()
    for number, (out, into, width) in enumerate(rows):
        (sent, split_out), (got, split_in) = (
            (4 * sum(side), side) if isinstance(side, list) else (side, []) for side in (out, into)
        )
        args = {"In split size": str(split_out), "Out split size": str(split_in)}
        insert(
            connection, "gpu_slice", "trace_id slice_id device ts dur kind name is_communication",
            [(1, number, 0, number * 10, 5, "kernel", "SendRecv", True)],
        )  # fmt: skip
        insert(
            connection, "collective_slice",
            "trace_id slice_id device step op group_name group_size bytes dur overlapped exposed",
            [(1, number, 0, 1, "all_to_all", "ep", size, max(sent, got) * width, 5, 0, 5)],
        )  # fmt: skip
        insert(
            connection, "collective", "trace_id slice_id op in_elements out_elements args",
            [(1, number, "all_to_allv", sent, got, json.dumps(args))],
        )  # fmt: skip
    return connection.execute(f"select {columns} from exchange order by slice_id").fetchall()


def test_there_and_back():
    assert exchanges(([3, 5], [2, 2], 2), ([2, 2], [3, 5], 2)) == [(64, 32, False), (32, 64, True)]


def test_fp8_with_scales_there_and_bf16_back():
    # the scales of a token are fewer elements, of four bytes; the result has two bytes an element
    found = exchanges(([3, 5], [2, 2], 1), ([3, 5], [2, 2], 4), ([2, 2], [3, 5], 2))
    assert [is_return for _, _, is_return in found] == [False, False, True]


def test_even_exchanges_come_back_every_second_time():
    found = exchanges(*[(8, 8, 2)] * 4, columns="is_return, is_even")
    assert found == [(False, True), (True, True)] * 2


def test_a_count_before_the_tokens():
    found = exchanges((4, 4, 8), ([3, 5], [2, 2], 2), ([2, 2], [3, 5], 2), (4, 4, 8), ([1, 7], [6, 2], 2))
    assert [is_return for _, _, is_return in found] == [False, False, True, False, False]


def test_a_rank_that_nothing_comes_to():
    assert exchanges(([3, 5], [0, 0], 2), ([0, 0], [3, 5], 2)) == [(64, 0, False), (0, 64, True)]
    assert exchanges((0, 0, 2)) == [(0, 0, False)]


@pytest.mark.parametrize("size", [3, 4])
def test_lists_that_do_not_fit_the_group_are_not_used(size):
    assert exchanges(([3, 5], [2, 2], 2), size=size, columns="sent, sent_rows, received_rows") == [(64, None, None)]
