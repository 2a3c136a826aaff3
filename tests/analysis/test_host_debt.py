"""What the host owes to calls that waited for the GPU, against what a device that is never waited for does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from traceq.analysis.ledger.host_debt import DebtEvent, charge_gaps


def make_call(ts: int, slice_id: int, dur: int, pid: int = 1) -> DebtEvent:
    return DebtEvent(0, pid, ts, 0, slice_id, dur, None)


def make_gap(ts: int, gap_id: int, dur: int, pid: int = 1, ahead: int | None = None) -> DebtEvent:
    return DebtEvent(0, pid, ts, 1, gap_id, dur, ahead)


def test_gaps_are_owed_to_a_call_for_as_long_as_it_held_the_host():
    assert list(
        charge_gaps([make_call(0, 10, 50), make_gap(0, 1, 30), make_gap(100, 2, 30), make_gap(200, 3, 30)])
    ) == [
        (1, 10, 30),
        (2, 10, 20),
    ]


def test_what_a_short_wait_does_not_owe_is_owed_to_the_one_before_it():
    events = [make_call(0, 10, 8000), make_call(9000, 11, 10), make_gap(9000, 1, 500)]
    assert list(charge_gaps(events)) == [
        (1, 11, 10),
        (1, 10, 490),
    ]


def test_a_gap_without_a_wait_before_it_is_nobodys():
    assert list(charge_gaps([make_gap(0, 1, 30), make_call(100, 10, 50)])) == []


def test_the_host_is_never_further_ahead_than_its_queue_lets_it_be():
    assert list(charge_gaps([make_call(0, 10, 50), make_call(10, 11, 20), make_gap(10, 1, 100, ahead=30)])) == [
        (1, 11, 20),
        (1, 10, 10),
    ]


def test_a_long_gap_is_owed_to_the_call_that_is_still_waiting_then_only():
    events = [
        make_call(0, 10, 300_000),
        make_call(10, 11, 20),
        make_gap(10, 1, 200_000),
        make_gap(300_000, 2, 90_000),
        make_gap(400_000, 3, 90_000),
    ]
    assert list(charge_gaps(events)) == [(1, 11, 20), (2, 10, 90_000), (3, 10, 10_020)]


def test_processes_owe_nothing_to_one_another():
    assert list(charge_gaps([make_call(0, 10, 50, pid=1), make_gap(100, 1, 30, pid=2)])) == []


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50), st.booleans()), min_size=1, max_size=40))
def test_all_that_is_owed_is_what_the_device_would_do_without_the_waits(work: list[tuple[int, int, bool]]):
    """A host that prepares work for `host` ns, launches work of `dur` ns, and at times waits until it is done."""
    events, host, device, waiting, free_host, free_device = [], 0, 0, 0, 0, 0
    for number, (prepare, dur, waits) in enumerate(work):
        host, free_host = host + prepare, free_host + prepare
        if host > device:
            events.append(make_gap(device, number, host - device))
        device = max(device, host) + dur
        free_device = max(free_device, free_host) + dur
        if waits:
            events.append(make_call(device, 1000 + number, device - host))
            waiting += device - host
            host = device
    owed = list(charge_gaps(events))
    assert sum(ns for _, _, ns in owed) == device - free_device
    idle = {event.id: event.dur for event in events if event.place}
    assert all(sum(ns for one, _, ns in owed if one == number) <= idle[number] for number in idle)
    assert sum(ns for _, _, ns in owed) <= waiting
