"""Records of collectives: what belongs together, who waited, and bandwidths; against loops over the same records."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspected import filled, record, rows


def test_a_collective_takes_as_long_as_its_fastest_rank_needs():
    tables = filled(
        [record(0, 900_000), record(1, 400_000), record(0, 300_000, sequence=1), record(1, 301_000, sequence=1)]
    )
    assert rows(
        tables, "select process, sequence, dur, transfer, wait from inspected_collective order by sequence, process"
    ) == [
        (0, 0, 900_000, 400_000, 500_000),
        (1, 0, 400_000, 400_000, 0),
        (0, 1, 300_000, 300_000, 0),
        (1, 1, 301_000, 300_000, 1_000),
    ]
    assert rows(
        tables, "select sequence, members, transfer, last_process, late_by, wait from inspected_match order by all"
    ) == [
        (0, 2, 400_000, 1, 500_000, 500_000),
        # 1 us is no wait to tell of
        (1, 2, 300_000, None, 1_000, 1_000),
    ]
    assert rows(tables, "select process, last_count, awaited, late_by from inspected_process") == [
        (0, 0, 0, None), (1, 1, 500_000, 500_000),
    ]  # fmt: skip


def test_without_all_ranks_waiting_is_not_known():
    tables = filled([record(0, 900_000, group_size=3), record(1, 400_000, group_size=3)])
    assert (
        rows(tables, "select transfer, wait, match_id is not null from inspected_collective")
        == [(None, None, True)] * 2
    )
    assert rows(tables, "select members, transfer, bus_bandwidth, late_by from inspected_match") == [
        (2, None, None, None)
    ]


def test_one_process_alone():
    tables = filled([record(0, 900_000)])
    assert rows(tables, "select match_id, transfer from inspected_collective") == [(None, None)]
    assert rows(tables, "select process, rank, matched from inspected_process") == [(0, None, 0)]
    assert rows(tables, "select is_with_waiting, bus_median from inspected_cost") == [
        (True, pytest.approx((64 << 20) / 900_000))
    ]


def test_records_that_are_there_twice_count_once():
    both = [record(0, 900_000), record(1, 400_000)]
    tables = filled([*both, *both, {**both[0], "file": 1}])
    assert rows(tables, "select process, records, repeated from inspected_process") == [(0, 1, 2), (1, 1, 1)]
    assert rows(tables, "select count(*), sum(dur) from inspected_collective") == [(2, 1_300_000)]


@pytest.mark.parametrize(
    ("op", "message", "bytes_", "bus"),
    [
        ("AllReduce", 1000, 1000, 1000 * 2 * 3 / 4),
        ("AllGather", 1000, 4000, 4000 * 3 / 4),
        ("ReduceScatter", 1000, 4000, 4000 * 3 / 4),
        ("Broadcast", 1000, 1000, 1000),
        ("Reduce", 1000, 1000, 1000),
        ("AllGatherV", 1000, None, None),
        ("AlltoAll", 1000, None, None),
        ("SomethingNew", 1000, None, None),
    ],
)
def test_bandwidths_by_the_factors_of_nccl_tests(op, message, bytes_, bus):
    """In 1,000 ns: bytes per ns are GB/s."""
    tables = filled([record(0, 1000, op=op, message_bytes=message, group_size=4)])
    expected = [(bytes_, None if bytes_ is None else bytes_ / 1000, None if bus is None else pytest.approx(bus / 1000))]
    assert rows(tables, "select bytes, algorithm_bandwidth, bus_bandwidth from inspected_collective") == expected


@pytest.mark.parametrize(
    ("op", "message", "micros", "algorithm", "bus"),
    [
        ("AllReduce", 17_179_869_184, 61_974, 277.210914, 485.119099),
        ("ReduceScatter", 2_147_483_648, 41_057, 418.439467, 366.134533),
    ],
)
def test_bandwidths_of_the_examples_that_the_plugin_documents(op, message, micros, algorithm, bus):
    """Compute both bandwidths of eight ranks as the plugin's README says them."""
    tables = filled([record(0, micros * 1000, op=op, message_bytes=message, group_size=8)])
    ((found_algorithm, found_bus),) = rows(
        tables, "select algorithm_bandwidth, bus_bandwidth from inspected_collective"
    )
    assert (found_algorithm, found_bus) == pytest.approx((algorithm, bus), rel=1e-8)


def test_operations_unknown_to_traceq_stay_apart():
    tables = filled(
        [record(0, 1, op="New"), record(1, 1, op="New"), record(0, 1, op="Other"), record(1, 1, op="Other")]
    )
    assert rows(tables, "select op, members from inspected_match") == [("unknown", 2)] * 2
    assert rows(tables, "select count(*), count(distinct match_id) from inspected_collective") == [(4, 2)]


def send(rank, peer, dur, sequence, op="Send", **others):
    return record(rank, dur, op=op, peer=peer, sequence=sequence, message_bytes=1 << 20, group_size=4, **others)


def test_a_send_belongs_to_the_receive_of_the_same_ordinal():
    """Each rank numbers its sends and receives together: 0 sends to 1 as its first and third, 1 receives as second and third."""
    tables = filled(
        [
            send(0, 1, 50_000, 1), send(0, 2, 70_000, 2), send(0, 1, 60_000, 3),
            send(1, 0, 55_000, 2, "Recv"), send(1, 0, 20_000, 3, "Recv"), send(2, 0, 10_000, 1, "Recv"),
        ]
    )  # fmt: skip
    assert rows(tables, "select source, target, sequence, transfer, bytes from inspected_match order by all") == [
        (0, 1, 0, 50_000, 1 << 20), (0, 1, 1, 20_000, 1 << 20), (0, 2, 0, 10_000, 1 << 20),
    ]  # fmt: skip
    assert rows(tables, "select process, op, sequence, wait from inspected_collective order by process, sequence") == [
        (0, "send", 1, 0), (0, "send", 2, 60_000), (0, "send", 3, 40_000),
        (1, "recv", 2, 5_000), (1, "recv", 3, 0),
        (2, "recv", 1, 0),
    ]  # fmt: skip


def test_unequal_numbers_of_sends_and_receives_are_not_matched():
    tables = filled([send(0, 1, 5, 1), send(0, 1, 5, 2), send(1, 0, 5, 1, "Recv")])
    assert rows(tables, "select count(*) from inspected_match") == [(0,)]


def test_ranks_come_from_the_communicator_that_all_are_in():
    tables = filled(
        [
            record(0, 5, communicator="tp", pid=7), record(1, 5, communicator="tp", pid=8),
            record(0, 5, communicator="tp2", pid=9),
            *(record(rank, 5, communicator="world", group_size=3, pid=pid) for rank, pid in enumerate((9, 7, 8))),
        ]
    )  # fmt: skip
    assert rows(tables, "select process, rank, pid from inspected_process") == [(0, 0, 9), (1, 1, 7), (2, 2, 8)]


def test_a_process_with_several_gpus_is_told_apart_by_rank():
    tables = filled([record(0, 5, pid=7), record(1, 6, pid=7)])
    assert rows(tables, "select process, rank, pid, dur from inspected_process") == [(0, 0, 7, 5), (1, 1, 7, 6)]


def test_the_same_pid_on_two_hosts_is_two_processes():
    tables = filled([record(0, 5, pid=1, host="a"), record(1, 6, pid=1, host="b")])
    assert rows(tables, "select host, pid from inspected_process") == [("a", 1), ("b", 1)]
    assert rows(tables, "select nodes from inspected_communicator") == [(1,)]


OPERATIONS = ("AllReduce", "AllGather", "Broadcast")


@st.composite
def jobs(draw):
    """Records of up to 4 ranks in up to 2 communicators; some lack, some are there twice."""
    ranks = draw(st.integers(1, 4))
    records = []
    for communicator in draw(st.lists(st.sampled_from("ab"), max_size=2, unique=True)):
        for op in OPERATIONS:
            for sequence in range(draw(st.integers(0, 3))):
                for rank in range(ranks):
                    copies = draw(st.sampled_from([1, 1, 1, 0, 2]))
                    dur = draw(st.integers(1, 200)) * 1000
                    records += [
                        record(rank, dur, communicator=communicator, op=op, sequence=sequence, group_size=ranks)
                    ] * copies
    return records


@settings(max_examples=60, deadline=None)
@given(jobs())
def test_sums_and_waits_are_those_of_loops(records):
    once = {(one["communicator"], one["communicator_rank"], one["op"], one["sequence"]): one for one in records}
    members = defaultdict(list)
    for (communicator, _, op, sequence), one in once.items():
        members[communicator, op, sequence].append(one)
    expected = defaultdict(lambda: [0, 0, 0, 0, 0])
    for found in members.values():
        least = min(one["dur"] for one in found)
        is_whole = len(found) == found[0]["group_size"] and len(found) > 1
        for one in found:
            total = expected[one["pid"]]
            total[0] += 1
            total[1] += one["dur"]
            if is_whole:
                total[2] += 1
                total[3] += least
                total[4] += one["dur"] - least
    tables = filled(records)
    found = rows(tables, "select pid, records, dur, matched, transfer, wait from inspected_process order by pid")
    assert found == [(pid, *total) for pid, total in sorted(expected.items())]
    assert rows(tables, "select coalesce(sum(repeated), 0) from inspected_process") == [(len(records) - len(once),)]
    bytes_moved = sum(
        one["message_bytes"] * (one["group_size"] if one["op"] == "AllGather" else 1) for one in once.values()
    )
    assert rows(tables, "select coalesce(sum(bytes), 0) from inspected_collective") == [(bytes_moved,)]


def test_bandwidth_over_time():
    """80 operations in tenths: twice as fast in the last three."""
    tables = filled(
        record(rank, 1_000_000 if number < 56 else 500_000, sequence=number, utc_ns=number)
        for number in range(80)
        for rank in range(2)
    )
    periods = "select period, count, dur_median, utc_ns from inspected_period where period in (0, 6, 7) order by period"
    assert rows(tables, periods) == [(0, 16, 1_000_000, 0), (6, 16, 1_000_000, 48), (7, 16, 500_000, 56)]
    ((first, last, change, dip),) = rows(
        tables, "select first_bandwidth, last_bandwidth, change, dip from inspected_drift"
    )
    assert (first, last, change, dip) == pytest.approx((67.108864, 134.217728, 1.0, 1.0))
