"""How long iterations take, by which clock, and what is made of it."""

from __future__ import annotations

import time

import lazy_import
import pytest

from traceq.capture.overhead import Clock, Unprofiled, measure_overhead

torch = lazy_import.module("torch")


class Event:
    """What torch.cuda.Event does, on a clock that the test sets."""

    now = 0

    def __init__(self, *, enable_timing):
        assert enable_timing

    def record(self):
        self.at = Event.now

    def synchronize(self):
        self.is_done = True

    def elapsed_time(self, end):
        assert end.is_done
        return float(end.at - self.at)


def test_with_a_device_the_devices_clock_counts(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    clock = Clock()
    for milliseconds in (0, 7, 9):
        clock.begin()
        Event.now += milliseconds
        clock.end(whole=milliseconds != 7)
        Event.now += 100
    assert clock.lengths(0, 9) == [0, 9_000_000]
    assert clock.lengths(1, 2) == []


def test_a_stream_that_is_captured_is_left_alone(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    monkeypatch.setattr(torch.cuda, "Event", None)
    clock = Clock()
    clock.begin()
    clock.end(whole=True)
    assert len(clock.lengths(0, 1)) == 1


class Times:
    """A clock whose iterations took these times, and as much of the processor's."""

    def __init__(self, *times):
        self.times = times

    def lengths(self, first, end):
        return list(self.times[first:end])

    cpu = lengths


@pytest.mark.parametrize(
    ("unprofiled", "profiled", "share"),
    [([100, 100, 900], [110, 90, 120], 0.1), ([], [110], None), ([100], [], None), ([], [], None)],
)
def test_overhead_compares_medians(unprofiled, profiled, share):
    told = measure_overhead(
        Times(*unprofiled, *profiled), Unprofiled(0, len(unprofiled)), (len(unprofiled), len(unprofiled + profiled))
    )
    assert told["overhead_share"] == share
    assert (told["unprofiled_steps"], told["profiled_steps"]) == (len(unprofiled), len(profiled))
    for name in ("step", "cpu"):
        assert told[f"unprofiled_{name}_ns"] == (100 if unprofiled else None)
        assert told[f"profiled_{name}_ns"] == (110 if profiled else None)
    assert "is_steady" not in told


def test_steps_that_wait_in_turn_for_workers_are_compared_by_whole_cycles():
    """Medians of three and of five steps would say that steps are six times as long with the profiler."""
    clock = Times(999, 50, 240, 40, 240, 40, 250, 60, 250, 60)
    told = measure_overhead(clock, Unprofiled(1, 5, steady=2, cycle=2), (5, 10))
    assert (told["unprofiled_step_ns"], told["profiled_step_ns"], told["overhead_share"]) == (140, 150, 0.0714)
    assert (told["unprofiled_cpu_ns"], told["unprofiled_steps"], told["is_steady"]) == (145, 3, True)


@pytest.mark.parametrize("before", [Unprofiled(1, 5, steady=None, cycle=2), Unprofiled(1, 5, steady=2, cycle=4)])
def test_steps_that_a_queue_may_have_fed_are_no_measure(before):
    told = measure_overhead(Times(999, 50, 240, 40, 240, 40, 250, 60, 250), before, (5, 9))
    assert (told["overhead_share"], told["is_steady"]) == (None, False)
    assert told["unprofiled_cpu_ns"] == 145
    assert told["profiled_step_ns"] == 150


def test_waiting_takes_no_cpu_time():
    clock = Clock()
    clock.begin()
    time.sleep(0.05)
    clock.end(whole=True)
    clock.begin()
    clock.end(whole=False)
    (length,), (cpu,) = clock.lengths(0, 2), clock.cpu(0, 2)
    assert cpu < length / 2
