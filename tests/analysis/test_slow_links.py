"""Slow links: how links are compared with their siblings, and what slow ones have in common."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspected import filled, record, rows

from traceq.analysis.inspected.slow_links import Link, LinkClass, LinkFound, compare_links, explain_slow


def pair(source, target):
    return Link("pair", f"{source} {target}", "inter_host", 2, (source, target))


def group(name, *processes, level="inter_host"):
    return Link("group", name, level, len(processes), processes)


def classes(link, transfer, period=0, count=10, bytes_=1 << 20):
    return LinkClass(link, "send_recv", bytes_, period, count, transfer, bytes_ / transfer, None)


def found(link, *, slow):
    ratio = 2.0 if slow else 1.0
    since = 0 if slow else None
    return LinkFound(link, 8, 100, 1 << 20, 10 / ratio, 10, ratio, 10, 10 if slow else 0, since, None, 1e-9)


RING = [pair(source, (source + 1) % 8) for source in range(8)]


def test_a_link_at_half_speed_is_slow():
    results = compare_links([classes(link, 2000 if link == RING[3] else 1000) for link in RING])
    assert [(one.link.name, one.ratio, one.siblings) for one in results if one.is_slow] == [("3 4", 2.0, 8)]
    (slow,) = [one for one in results if one.is_slow]
    assert (slow.bandwidth, slow.usual_bandwidth) == pytest.approx((524.288, 1048.576))


def test_a_difference_that_the_siblings_have_as_well_is_none():
    spread = [800, 1300, 900, 1200, 1000, 1450, 1100, 700]
    results = compare_links([classes(link, took) for link, took in zip(RING, spread, strict=True)])
    assert [one.link.name for one in results if one.is_slow] == []


def test_a_fifth_longer_is_not_enough_and_a_third_is():
    for ratio, slow in ((1.2, []), (1.34, ["0 1"])):
        results = compare_links([classes(link, 1000 * ratio if link == RING[0] else 1000) for link in RING])
        assert [one.link.name for one in results if one.is_slow] == slow


def test_too_few_siblings_tell_nothing():
    assert compare_links([classes(link, 1000) for link in RING[:3]]) == []


def test_links_within_a_host_are_no_siblings_of_those_between():
    within = [Link("pair", f"w{number}", "intra_host", 2, (number, number + 1)) for number in range(4)]
    results = compare_links([*(classes(link, 1000) for link in RING), *(classes(link, 100) for link in within)])
    assert [one.ratio for one in results] == [1.0] * 12


def test_slow_from_some_period_on():
    rows_ = [
        classes(link, 2000 if link == RING[2] and period >= 4 else 1000, period)
        for link in RING
        for period in range(10)
    ]
    (slow,) = [one for one in compare_links(rows_) if one.is_slow]
    assert (slow.link.name, slow.since_period, slow.slow_periods, slow.ratio) == ("2 3", 4, 6, 2.0)


def test_slow_in_a_single_period_of_ten_is_not_slow():
    rows_ = [
        classes(link, 2000 if link == RING[2] and period == 4 else 1000, period)
        for link in RING
        for period in range(10)
    ]
    assert [one.link.name for one in compare_links(rows_) if one.is_slow] == []


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 1 << 30), st.floats(0.005, 0.08), st.integers(4, 40))
def test_links_of_one_kind_are_rarely_slow(seed, spread, number):
    """Find no slow link in 50 healthy jobs: the bound is 1 % for normal logarithms, and a quarter at the least."""
    chance = np.random.default_rng(seed)
    links = [pair(place, place + 100) for place in range(number)]
    took = 1000 * np.exp(chance.normal(0, spread, (number, 10)))
    results = compare_links(
        [classes(link, took[place, period], period) for place, link in enumerate(links) for period in range(10)]
    )
    assert [one.link.name for one in results if one.is_slow] == []


HOSTS = {process: f"h{process // 4}" for process in range(16)}


def explain(slow, healthy):
    links = [*(found(link, slow=True) for link in slow), *(found(link, slow=False) for link in healthy)]
    return [(place.kind, place.name, len(place.slow)) for place in explain_slow(links, HOSTS)]


def test_the_rank_that_all_slow_links_have_in_common():
    slow = [pair(1, 5), pair(5, 1), group("dp", 1, 9)]
    assert explain(slow, [pair(0, 4), pair(4, 0), group("dp5", 5, 13)]) == [("rank", "1", 3)]


def test_one_direction_alone_is_a_pair():
    assert explain([pair(1, 5)], [pair(5, 1), group("a", 1, 9), group("b", 5, 13)]) == [("pair", "1 5", 1)]


def test_a_ring_alone_is_a_group():
    assert explain([group("dp", 1, 5, 9)], [group("dp0", 0, 4, 8)]) == [("group", "dp", 1)]


def test_a_group_within_a_host_has_its_name():
    slow = group("tp", 0, 1, 2, 3, level="intra_host")
    assert explain([slow], [group("tp1", 4, 5, 6, 7, level="intra_host")]) == [("group", "h0", 1)]


def test_a_host_whose_ranks_are_all_slow():
    slow = [pair(rank, rank + 4) for rank in range(4)] + [pair(rank + 4, rank) for rank in range(4)]
    slow += [group(f"dp{rank}", rank, rank + 8) for rank in range(4)]
    healthy = [group(f"dp{rank}", rank, rank + 8) for rank in range(4, 8)]
    assert explain(slow, healthy)[0] == ("host", "h0", 12)


def test_two_slow_ranks_are_two_places():
    slow = [pair(1, 5), group("dp1", 1, 9), pair(2, 6), group("dp2", 2, 10)]
    healthy = [pair(5, 1), pair(6, 2), pair(0, 4), pair(3, 7), group("dp0", 0, 8), group("dp3", 3, 11)]
    assert sorted(explain(slow, healthy)) == [("rank", "1", 2), ("rank", "2", 2)]


def test_from_records_to_the_table():
    """Eight groups of two; in one of them all takes twice as long, whoever comes first."""
    records = [
        record(
            rank, (2_000_000 if number == 5 else 1_000_000) + 300_000 * ((sequence + rank) % 2), communicator=f"c{number}",
            sequence=sequence, pid=10 * number + rank, host=f"h{rank}",
        )
        for number in range(8) for sequence in range(20) for rank in range(2)
    ]  # fmt: skip
    tables = filled(records)
    assert rows(tables, "select communicator, ratio, level, count from inspected_link where is_slow") == [
        ("c5", 2.0, "inter_host", 20)
    ]
    assert rows(tables, "select kind, communicator, process, host, slow, links from slow_link") == [
        ("group", "c5", None, None, 1, 1)
    ]
