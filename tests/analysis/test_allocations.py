"""Allocations from the history of a memory snapshot: their lives, what they are, the peak, and what is not known."""

from __future__ import annotations

import random

import pytest
from builder import TraceBuilder
from labelled.memory_history import events, segment

ANALYSES = ("snapshot_timeline", "memory_step")
ALLOCATIONS = "select address, requested_bytes, ts, ts_free, ts_end, category, at_peak from allocation"
STATE = "select ts, allocated, active, reserved from memory_timeline"
PEAK = "select device, number, ts, bytes, reserved, older, older_bytes, lost, at_end, bytes_at_end from memory_peak"


def fill_allocations(text="", *segments):
    trace = TraceBuilder()
    if text:
        events(trace, text)
    for number, (address, blocks) in enumerate(segments):
        segment(trace, number, address, blocks)
    return trace.fill(*ANALYSES)


def test_lives_and_the_peak():
    trace = fill_allocations(
        """
        1 + 1000 4096 init
        1 alloc 1000 100 init
        2 alloc 1512 300 forward
        3 free 1512 300 main
        5 freed 1512 300 main
        6 alloc 1512 200 forward
        """,
        (1000, "512 100 used init\n512 200 used forward\n3072 0 free -"),
    )
    assert trace.text(ALLOCATIONS) == (
        "1000 100 1 - - parameters True\n1512 300 2 3 5 activations True\n1512 200 6 - - activations False"
    )
    assert trace.text(STATE) == (
        "1 0 0 0\n1 0 0 4096\n1 100 100 4096\n2 400 400 4096\n3 100 400 4096\n5 100 100 4096\n6 300 300 4096"
    )
    assert trace.text(PEAK) == "0 2 2 400 4096 0 0 0 2 1024"


def test_what_is_older_than_the_history():
    """Freed without being allocated, or there at the end without an event: both were there from the start."""
    trace = fill_allocations(
        "1 gone 1000 100 main\n2 alloc 3000 50 main",
        (1000, "512 0 free -\n512 70 used init"),
        (3000, "512 50 used main"),
    )
    assert trace.text(ALLOCATIONS) == "1000 100 - 1 1 - True\n1512 70 - - - parameters True\n3000 50 2 - - - False"
    assert trace.text(PEAK) == "0 - 1 170 1536 2 170 0 2 1024"


def test_a_history_that_lost_something():
    """Neither freed nor there: the history was stopped before the snapshot."""
    trace = fill_allocations("1 alloc 1000 100 main\n2 alloc 2000 100 main", (2000, "512 100 used main"))
    assert trace.text("select address, is_lost from allocation") == "1000 True\n2000 False"
    assert trace.text("select lost, lost_bytes from memory_peak") == "1 100"
    assert trace.text("select distinct is_total from memory_timeline") == "False"


def test_more_in_use_than_reserved_is_a_contradiction():
    trace = fill_allocations("1 alloc 9000 1000 main\n2 gone 9000 1000 main", (1000, "512 100 used main"))
    assert trace.text("select bytes, reserved, most_reserved, reserved_at_end from memory_peak") == "1100 - - 512"
    assert trace.text("select distinct reserved from memory_timeline") == "-"


def test_segments_without_a_history():
    trace = fill_allocations("", (1000, "512 100 used init\n512 0 free -"))
    assert trace.text(PEAK) == "0 - - 100 1024 1 100 0 1 512"
    assert trace.text("select count(*) from memory_timeline") == "0"


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [("free", "1000 100 1 3 3\n2000 50 2 - -"), ("freed", "1000 100 1 2 2\n2000 50 2 - -")],
)
def test_actions_that_were_skipped(left_out, expected):
    """A history without requests, and one without completions (skip_actions)."""
    lines = "1 alloc 1000 100 main\n2 free 1000 100 main\n2 alloc 2000 50 main\n3 freed 1000 100 main".splitlines()
    trace = fill_allocations(
        "\n".join(line for line in lines if line.split()[1] != left_out), (2000, "512 50 used main")
    )
    assert trace.text("select address, requested_bytes, ts, ts_free, ts_end from allocation") == expected


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("asked", "freed", "expected"),
    [
        ("init", "-", "parameters"),
        ("init", "init", "temporary"),
        ("forward", "inner", "temporary"),
        ("forward", "backward", "activations"),
        ("forward", "main", "activations"),
        ("forward", "-", "activations"),
        ("backward", "backward", "temporary"),
        ("backward", "zero", "gradients"),
        ("accumulate", "-", "gradients"),
        ("ddp", "-", "gradients"),
        ("again", "backward", "activations"),
        ("again", "again", "temporary"),
        ("optimizer", "-", "optimizer"),
        ("optimizer", "zero", "temporary"),
        ("script", "-", "-"),
        ("own", "-", "optimizer"),
        ("loader", "main", "inputs"),
        ("main", "-", "-"),
        ("operator", "-", "-"),
        ("-", "-", "-"),
    ],
)
def test_categories(asked, freed, expected):
    """By who asked and who freed; "-" for what is not freed, or has no stack."""
    last = f"2 gone 1000 100 {freed}" if freed != "-" else ""
    blocks = [] if last else [(1000, f"512 100 used {asked}")]
    trace = fill_allocations(f"1 alloc 1000 100 {asked}\n{last}", *blocks)
    assert trace.text("select category from allocation") == expected


def test_gradients_cannot_be_told_in_the_middle_of_a_backward():
    assert (
        fill_allocations("1 alloc 1000 9 backward", (1000, "512 9 used backward")).text(
            "select category from allocation"
        )
        == "-"
    )
    trace = fill_allocations("1 alloc 1000 9 backward\n2 alloc 2000 9 optimizer", (1000, "512 9 used backward"))
    assert trace.text("select category from allocation where address = 1000") == "gradients"


def test_what_outlives_other_phases_is_no_scratch_memory():
    """A layer that frees in its next forward what it kept through the backward."""
    trace = fill_allocations("1 alloc 1000 9 forward\n2 alloc 2000 9 backward\n3 gone 1000 9 forward")
    assert trace.text("select category from allocation where address = 1000") == "activations"


def test_owners_are_the_programs_own_lines():
    trace = fill_allocations(
        "\n".join(
            f"1 alloc {at} 1 {stack}"
            for at, stack in enumerate(("forward", "optimizer", "loader", "operator", "native"))
        )
    )
    assert trace.text("select owner, phase from allocation_stack") == (
        "model.py:7 forward forward\napp.py:6 main optimizer\npin_memory.py:4 pin (library) data\n"
        "aten::empty_memory_format (operator) -\nrun.py:9 main forward"
    )


def test_rounds_are_forwards_after_a_backward():
    cycle = "{0} alloc {0} 1 forward\n{0} gone {0} 1 backward\n{0} alloc 9 1 zero\n{0} gone 9 1 zero"
    trace = fill_allocations("0 alloc 8 1 init\n" + "\n".join(cycle.format(100 + number) for number in range(3)))
    assert (
        trace.text("select ts, round from allocation where address > 99 or address = 8") == "0 0\n100 0\n101 1\n102 2"
    )
    assert fill_allocations("0 alloc 8 1 forward").text("select round from allocation") == "-"


def test_steps():
    trace = TraceBuilder()
    for step in range(2):
        trace.annotation(f"traceq.step#{step}", 100 * step, 100)
    events(trace, "10 alloc 1 8 main\n110 alloc 2 8 main\n250 alloc 3 8 main")
    assert trace.fill(*ANALYSES).text("select ts, step from allocation") == "10 0\n110 1\n250 -"
    assert trace.text("select step, allocated_end from memory_step") == "0 8\n1 16"


def test_devices_are_apart():
    """The same address on two devices is not the same memory."""
    trace = TraceBuilder()
    events(trace, "1 alloc 1000 100 main")
    events(trace, "1 alloc 1000 300 main\n2 gone 1000 300 main", device=1)
    assert trace.fill(*ANALYSES).text(PEAK) == "0 0 1 100 - 0 0 1 0 0\n1 0 1 300 - 0 0 0 0 0"


def test_fragmentation():
    trace = fill_allocations(
        "",
        (1000, "512 100 used init\n512 0 free -\n1024 1000 used init\n256 0 free -"),
        (8000, "4096 0 free -"),
    )
    assert trace.text("select * exclude (trace_id) from memory_fragmentation") == (
        "0 0.0 large 2 6400 1536 436 4096 768 4096"
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(30))
def test_like_a_walk_through_the_history(seed):
    """Random histories, cut anywhere, against a walk that keeps a dict of what is live."""
    chance = random.Random(seed)  # noqa: S311 - the same numbers each time
    live, lines, walked = {}, [], []
    for at in range(200):
        if live and chance.random() < 0.45:
            address = chance.choice(sorted(live))
            lines.append(f"{at} gone {address} {live.pop(address)} main")
        else:
            address = chance.choice([each for each in range(150) if each not in live])
            live[address] = chance.randrange(1, 1000)
            lines.append(f"{at} alloc {address} {live[address]} main")
        walked.append(dict(live))
    cut = chance.randrange(150)
    trace = TraceBuilder()
    events(trace, "\n".join(lines[cut:]))
    for number, (address, size) in enumerate(live.items()):
        segment(trace, number, address, f"{size} {size} used main")
    trace.fill(*ANALYSES)
    before = walked[cut - 1] if cut else {}
    totals = [sum(before.values()), *(sum(each.values()) for each in walked[cut:])]
    assert trace.rows("select bytes, older_bytes, lost from memory_peak") == [(max(totals), totals[0], 0)]
    assert trace.rows("select sum(requested_bytes)::bigint from allocation where at_peak") == [(max(totals),)]
    assert trace.rows("select arg_max(active, rowid) from memory_timeline") == [(totals[-1],)]
    held = [before, *walked[cut:]][totals.index(max(totals))]
    assert dict(trace.rows("select address, requested_bytes from allocation where at_peak")) == held
