"""The replay by hand: a model in a few numbers, and when the last mark is passed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from traceq.analysis.replay.replay import Model, span


def model(events, work=()):
    """Events are (gap, call, slices, waits, tail or None, is_mark), work is (latency, spacing, dur, before)."""
    return Model(
        pid=[1] * len(events),
        gap=[float(each[0]) for each in events],
        call=[float(each[1]) for each in events],
        slices=[each[2] for each in events],
        waits=[each[3] for each in events],
        had_to_wait=[each[4] is not None for each in events],
        tail=[float(each[4] or 0) for each in events],
        is_mark=[each[5] for each in events],
        latency=[float(each[0]) for each in work],
        spacing=[float(each[1]) for each in work],
        lag=[0.0] * len(work),
        residual=[0.0] * len(work),
        dur=[float(each[2]) for each in work],
        before=[each[3] for each in work],
        engine=[-1] * len(work),
        awaited=[-1] * len(work),
        category=["compute"] * len(work),
    )


def mark(gap):
    return (gap, 0, range(0), (), None, True)


def launch(gap, call, *slices):
    return (gap, call, range(slices[0], slices[-1] + 1) if slices else range(0), (), None, False)


def wait(gap, call, *awaited, tail=None):
    return (gap, call, range(0), awaited, tail, False)


def test_the_host_alone():
    assert span(model([mark(5), launch(10, 3), mark(20)])) == 33


def test_work_outlasts_the_host():
    assert span(model([mark(0), launch(10, 5, 0), mark(1)], [(6, 0, 100, -1)])) == 116


def test_a_stream_works_in_order():
    work = [(6, 0, 100, -1), (6, 2, 50, 0)]
    assert span(model([mark(0), launch(0, 5, 0), launch(0, 5, 1), mark(0)], work)) == 6 + 100 + 2 + 50


def test_a_wait_ends_when_the_work_does():
    events = [mark(0), launch(0, 5, 0), wait(0, 101, 0, tail=4), mark(10)]
    assert span(model(events, [(6, 0, 100, -1)])) == 6 + 100 + 4 + 10


def test_a_wait_for_what_is_done_takes_its_own_time():
    events = [mark(0), launch(0, 5, 0), wait(500, 3, 0), mark(10)]
    assert span(model(events, [(6, 0, 100, -1)])) == 518


def test_a_wait_for_what_is_not_done_any_more_in_time_waits():
    """The host has become faster: what was done when it asked is not any more."""
    events = [mark(0), launch(0, 5, 0), wait(0, 3, 0), mark(10)]
    assert span(model(events, [(6, 0, 100, -1)])) == 116


def test_nothing_waits_for_the_gpu():
    events = [mark(0), launch(0, 5, 0), wait(0, 0, 0, tail=4), mark(10)]
    assert span(replace(model(events, [(6, 0, 2, -1)]), waits_for_gpu=False)) == 15


def test_processes_have_clocks_of_their_own():
    two = replace(model([mark(0), launch(50, 5), mark(20)]), pid=[1, 2, 1])
    assert span(two) == 20


@pytest.mark.parametrize("dur", [0, 10])
def test_without_events_between_marks_there_is_only_time(dur):
    assert span(model([mark(0), mark(dur)])) == dur
