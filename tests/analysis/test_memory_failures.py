"""Where memory ran out: what was asked for, what lay idle then, and who held the rest, also where the snapshot is of later."""

from __future__ import annotations

import pytest
from builder import TraceBuilder
from labelled.memory_history import events, segment

MIB = 1 << 20
ANALYSES = ("snapshot_timeline", "memory_step")
FAILURE = f"""
    select bytes // {MIB}, needed // {MIB}, short // {MIB}, reserved // {MIB}, idle // {MIB}, largest_free // {MIB}, is_exact
    from memory_failure
"""
HISTORY = f"""
    1 + 0 {100 * MIB} main
    2 alloc 0 {40 * MIB} forward
    3 + {200 * MIB} {60 * MIB} main
    4 alloc {200 * MIB} {50 * MIB} init
    5 oom {20 * MIB} {70 * MIB} loss
"""


def fill_failures(text, *segments, **more):
    trace = TraceBuilder()
    events(trace, "\n".join(line for line in text.splitlines() if line.strip()))
    for number, (address, blocks) in enumerate(segments):
        segment(trace, number, address, blocks, **more)
    return trace.fill(*ANALYSES)


HELD = (0, f"{40 * MIB} {40 * MIB} used forward\n{60 * MIB} 0 free -")
SECOND = (200 * MIB, f"{50 * MIB} {50 * MIB} used init\n{10 * MIB} 0 free -")


def test_the_state_at_the_end_is_that_of_the_failure():
    trace = fill_failures(HISTORY, HELD, SECOND)
    assert trace.text(FAILURE) == "70 70 50 160 70 60 True"
    assert trace.text("select owner, category, bytes from memory_failure_holder order by bytes") == (
        f"model.py:7 forward activations {40 * MIB}\nmodel.py:3 __init__ parameters {50 * MIB}"
    )


def test_what_came_later_is_taken_back():
    """A tensor and its segment are released, another segment comes: none of that was so when memory ran out."""
    later = f"""
        6 gone 0 {40 * MIB} main
        7 - 0 {100 * MIB} main
        8 + {400 * MIB} {30 * MIB} main
        9 alloc {400 * MIB} {30 * MIB} main
    """
    trace = fill_failures(HISTORY + later, SECOND, (400 * MIB, f"{30 * MIB} {30 * MIB} used main"))
    assert trace.text(FAILURE) == "70 70 50 160 70 60 False"


def test_the_last_of_several_failures_counts():
    trace = fill_failures(f"{HISTORY}\n6 oom {30 * MIB} {80 * MIB} main", HELD, SECOND)
    assert trace.text("select number, failures, owner from memory_failure") == "5 2 app.py:9 main"


@pytest.mark.parametrize(("asked", "needed"), [(1, 2), (5, 20), (9, 20), (10, 10), (11, 12)])
def test_what_the_allocator_asks_the_device_for(asked, needed):
    trace = fill_failures(f"1 oom {MIB} {asked * MIB} main", HELD)
    assert trace.text(f"select needed // {MIB}, short // {MIB} from memory_failure") == f"{needed} {needed - 1}"


def test_other_streams_and_pools_lend_nothing():
    for more in ({"stream": 5}, {"pool": "0.1"}):
        trace = fill_failures(HISTORY, HELD, SECOND, **more)
        assert (
            trace.text(f"select idle // {MIB}, idle_elsewhere // {MIB}, largest_free from memory_failure") == "70 70 -"
        )


def test_what_another_stream_may_still_use_is_awaiting():
    """Released before memory ran out, and completed never, in a history that has completions."""
    other = f"2 alloc {90 * MIB} 1 main\n2 gone {90 * MIB} 1 main"
    before = HISTORY.replace("3 +", f"{other}\n3 +").replace("5 oom", f"4 free 0 {40 * MIB} main\n5 oom")
    trace = fill_failures(before, (0, HELD[1].replace("used", "waiting", 1)), SECOND)
    assert trace.text(f"select awaiting // {MIB}, idle // {MIB} from memory_failure") == "40 70"


def test_others_hold_what_is_neither_reserved_nor_free():
    trace = TraceBuilder()
    trace.add("device", device=0, name="GPU", source="trace", memory_bytes=1000 * MIB)
    events(trace, HISTORY)
    segment(trace, 0, *HELD)
    segment(trace, 1, *SECOND)
    assert trace.fill(*ANALYSES).text(f"select others // {MIB} from memory_failure") == "820"
    assert fill_failures(HISTORY, HELD, SECOND).text("select others from memory_failure") == "-"


def test_where_segments_contradict_events_nothing_is_idle():
    trace = fill_failures(f"1 alloc {4 << 40} {900 * MIB} main\n2 oom 5 {12 * MIB} main", HELD)
    assert trace.text("select reserved, idle, idle_elsewhere, largest_free from memory_failure") == "- - - -"


def test_without_times_all_but_the_time_is_known():
    lines = [line.split(maxsplit=1)[1] for line in HISTORY.strip().splitlines()]
    trace = fill_failures("\n".join(f"- {line}" for line in lines), HELD, SECOND)
    assert trace.text(FAILURE) == "70 70 50 160 70 60 True"
    assert trace.text("select ts, number, bytes from memory_peak") == f"- 3 {90 * MIB}"
    assert trace.text("select count(*) from memory_timeline") == "0"
