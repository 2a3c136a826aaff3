"""Collectives among more ranks: rings and trees reckoned by hand, what has to be given, what cannot be told."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceq.analysis.communication.more_ranks import (
    CannotScale,
    Fabric,
    NeedsBandwidth,
    RecordedCollective,
    group_collectives,
    price_collectives,
)

MS = 1_000_000
# 100 MB in 2 ms
BYTES = 100_000_000
BOARD = Fabric(8, 100.0, None)


def make_collective(op="all_reduce", size=2, axis="dp", dur=2 * MS, bytes_=BYTES, transfer=None, slice_id=1):
    return RecordedCollective(slice_id, op, bytes_, "grads", size, axis, transfer, dur)


def price(one, ranks, ranks_then, fabric=BOARD, then=None):
    found = price_collectives([one], ranks, ranks_then, fabric, then or fabric)
    return found.get(one.slice_id)


def test_a_ring_sends_its_share_of_the_message():
    # two ranks send the message once, eight send it 1.75 times; latency is small beside 2 ms
    assert price(make_collective(), 2, 8).likely == pytest.approx(1.75, rel=0.02)
    assert price(make_collective("all_gather"), 2, 8).likely == pytest.approx(1.75, rel=0.02)
    assert price(make_collective("broadcast"), 2, 8).likely == pytest.approx(1, rel=0.02)


def test_another_gpus_links_count_within_a_node():
    assert price(make_collective(), 2, 2, then=Fabric(8, 200.0, None)).likely == pytest.approx(1 / 2, rel=0.02)
    assert price(make_collective(), 2, 2) == (1, 1, 1)


def test_at_the_least_only_what_the_links_need_comes_on_top():
    # 1 ms more for the message at 100 GB/s three quarters more often; the rest of it may have been waiting
    assert price(make_collective(dur=20 * MS), 2, 8).low == pytest.approx(1 + 0.75 / 20, rel=0.01)


def test_small_messages_pay_for_hops():
    small = price(make_collective(bytes_=8, dur=10_000), 2, 8)
    # at the least, 6.6 us and two hops, then fourteen, of 0.6 us each; of a tree as many
    assert small.likely > 1.2
    assert small.high == pytest.approx((14 + 14 * 4) / (14 + 2 * 4), rel=0.01)


def test_between_nodes_the_network_decides():
    with pytest.raises(NeedsBandwidth) as error:
        price(make_collective(size=8), 8, 64)
    assert (error.value.option, error.value.ranks, error.value.nodes) == ("network", 64, 8)
    slow = price(make_collective(size=8), 8, 64, Fabric(8, 100.0, 1.0))
    # eight cards of 1 GB/s a node: 200 MB less a 64th at 8 GB/s, at 0.8 to 1 of it
    assert slow.likely * 2 * MS == pytest.approx(2 * 63 / 64 * BYTES / 8 / sqrt(0.8), rel=0.02)


def test_a_rank_of_each_node_has_its_card_alone():
    # tensor parallel over the eight GPUs of a node: the group of a rank is one of each node
    found = price(make_collective(size=2), 16, 64, Fabric(8, 100.0, 10.0))
    assert found.likely == pytest.approx((2 * 7 / 8) / (2 * 1 / 2), rel=0.1)


def test_on_a_network_nothing_gets_faster():
    # the message took 2 ms where the link needs 1: on a network as fast it will take no less
    assert price(make_collective(size=8), 8, 16, Fabric(8, 100.0, 10_000.0)).likely >= 1


def test_a_rank_alone_exchanges_nothing():
    assert price(make_collective(), 2, 1) == (0, 0, 0)


@pytest.mark.parametrize("axis", ["tp", "pp", "ep", None, "cp+tp"])
def test_groups_of_other_axes_do_not_grow(axis):
    assert price(make_collective(axis=axis), 8, 64) is None


def test_what_the_trace_does_not_say_cannot_be_told():
    with pytest.raises(CannotScale, match="bytes"):
        price(make_collective(bytes_=None), 2, 8)
    with pytest.raises(CannotScale, match="copies of 4 ranks cannot have 10: give a multiple of 4"):
        price(make_collective(), 8, 10)


def test_groups_that_grow_come_first():
    found = group_collectives([make_collective(size=4, axis="tp"), make_collective(size=2)], 8, 32)
    assert [tuple(group) for group in found] == [("grads", "dp", 2, 8, 1), ("grads", "tp", 4, 4, 1)]


@given(
    st.sampled_from(["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"]),
    st.integers(1, 6),
    st.integers(1, 6),
    st.floats(1e4, 1e9),
    st.integers(8, 10**10),
)
def test_bounds_are_in_order_and_more_ranks_take_no_less(op, first, more, dur, bytes_):
    ranks = 2**first
    one = make_collective(op, ranks, dur=dur, bytes_=bytes_)
    found = price(one, ranks, ranks * 2**more, Fabric(8, 100.0, 25.0))
    assert 0 <= found.low <= found.likely <= found.high
    assert found.likely >= 1 - 1e-9


def test_one_rank_alone_tells_nothing_of_the_links():
    alone = make_collective("broadcast", size=1)
    # 100 MB at 100 GB/s
    assert price(alone, 1, 2).low == pytest.approx((MS + 6_600 + 600) / (2 * MS), rel=0.01)
    assert price(alone, 1, 1) == (1, 1, 1)
    with pytest.raises(NeedsBandwidth) as error:
        price(alone, 1, 2, Fabric(8, None, None))
    assert error.value.option == "link"
