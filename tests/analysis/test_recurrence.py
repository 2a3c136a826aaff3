"""Steps of traces that nothing marks: sequences of launches that recur."""

from __future__ import annotations

import numpy as np
import pytest
from builder import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.analysis.steps.recurrence import recurring_sequence
from traceq.analysis.steps.recurring_communication import recurring_communication

STEP = "ABABABABCCDE"


def numbers(letters):
    return np.array([ord(letter) - ord("A") for letter in letters], np.int64)


@pytest.mark.parametrize(("launches", "length"), [(STEP * 4, 12), (STEP * 9, 12), ("ABABCCDE" * 4, 8)])
def test_whole_steps_are_found(launches, length):
    found = recurring_sequence(numbers(launches))
    assert found is not None
    assert found.length == length
    assert len(found.starts) >= len(launches) // length - 1
    assert set(np.diff(found.starts)) == {length}


@pytest.mark.parametrize(
    "launches",
    ["", "A", "ABC" * 50, STEP * 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "X" * 10 + STEP],
    ids=["nothing", "one", "loop inside an operator", "too few whole ones", "no repetition", "one step"],
)
def test_what_does_not_recur_is_no_step(launches):
    assert recurring_sequence(numbers(launches)) is None


def test_layers_between_other_work_are_no_steps():
    assert recurring_sequence(numbers("XYZ" + "ABCDEFGH" * 4 + "UVW")) is None


@settings(max_examples=100, deadline=None)
@given(step=st.lists(st.integers(0, 5), min_size=8, max_size=30), times=st.integers(4, 9), cut=st.integers(0, 7))
def test_any_step_with_a_kernel_of_its_own_is_found_whole(step, times, cut):
    launches = [6, *step] * times
    found = recurring_sequence(np.array(launches[cut:], np.int64))
    assert found is not None
    assert set(np.diff(found.starts)) == {len(step) + 1}
    assert found.length == len(step) + 1


def test_unmarked_launches_become_steps():
    trace = TraceBuilder()
    for number in range(5 * 10):
        trace.kernel(f"kernel {number % 10}", 1000 * number + 500, 300, launched=(1000 * number, 100))
    assert trace.fill().text("select step, name, source, ts, dur from step where step < 2 order by step") == (
        "0 sequence of 10 launches recurrence 0 10000\n1 sequence of 10 launches recurrence 10000 10000"
    )


def communication(letters, long_after=(), pause=10):
    """Collectives 100 ns apart and `pause` times that after those positions."""
    pauses = [100 * (pause if position in long_after else 1) for position in range(len(letters))]
    ts = np.cumsum([0, *pauses[:-1]], dtype=np.int64)
    return numbers(letters), ts, ts + 10


@pytest.mark.parametrize(
    ("letters", "long_after", "ends", "length"),
    [
        ("A" * 23, (3, 8, 13, 18), [3, 8, 13, 18], 5),
        ("X" + "ABACB" * 5, (0, 5, 10, 15, 20), [0, 5, 10, 15, 20, 25], 5),
        ("AAABBBBBCC" * 4, (), [0, 10, 20, 30], 10),
        ("CC" + "AAABBBBBCC" * 4 + "A", (9, 19, 29, 39), [9, 19, 29, 39], 10),
        ("AABBBBBBCC" * 3, (4, 14, 24), [4, 14, 24], 10),
    ],
    ids=["pauses alone", "first step unlike the others", "names alone", "cut at both ends", "names and pauses"],
)
def test_collectives_recur(letters, long_after, ends, length):
    assert recurring_communication(*communication(letters, long_after)) == (ends, length)


@pytest.mark.parametrize(
    ("letters", "long_after", "pause"),
    [
        ("", (), 1),
        ("A" * 40, (), 1),
        ("A" * 40, (5, 15, 26, 35), 10),
        ("A" * 40, (5, 15, 25), 10),
        ("A" * 40, (13, 18, 23, 28), 10),
        ("A" * 40, (9, 19, 29), 1.5),
        ("AB" * 20, range(1, 40, 2), 10),
        ("ABAC" * 10, (), 1),
        ("AAABBBBBCC" * 2, (), 1),
        ("AAABBBBBCC" * 4 + "AAD", (), 1),
        ("ABABAB" + "BAABAB" + "ABABAB" * 3, (5, 11, 17, 23), 10),
    ],
    ids=[
        "nothing", "no pauses", "unevenly apart", "too few", "in the middle only", "hardly longer", "two a layer",
        "four a layer", "too few to repeat", "others at the end", "long pauses around unlike ones",
    ],
)  # fmt: skip
def test_collectives_that_do_not_recur_are_no_steps(letters, long_after, pause):
    assert recurring_communication(*communication(letters, long_after, pause)) is None


@settings(max_examples=100, deadline=None)
@given(
    step=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 100)), min_size=4, max_size=12),
    pauses=st.lists(st.integers(300, 550), min_size=6, max_size=9),
    cut=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_steps_with_a_long_pause_are_found_whole(step, pauses, cut):
    collectives = [(name, own, long) for long in pauses for name, own in [*step[:-1], (step[-1][0], None)]]
    names = np.array([name for name, _, _ in collectives])
    gaps = np.array([long if own is None else own for _, own, long in collectives])
    ts = np.cumsum([0, *gaps[:-1]])
    kept = slice(cut[0], len(names) - cut[1])
    found = recurring_communication(names[kept], ts[kept], ts[kept])
    assert found is not None
    assert found.length == len(step)
    assert {(end + cut[0] + 1) % len(step) for end in found.ends} == {0}


def varying(trace, bytes_of=lambda _: None, **options):
    """Five steps of 1,000 ns, each with kernels of its own and four all-reduces launched at 500, 600, 700 and 800."""
    for step in range(5):
        for kernel in range(3 + step % 2):
            trace.kernel(f"gemm {step} {kernel}", 1000 * step + 100 * kernel + 30, 20, (1000 * step + 100 * kernel, 10))
        for bucket in range(4):
            ts = 1000 * step + 500 + 100 * bucket
            launched = options.get("launched", (ts, 10))
            reduce = trace.kernel("ncclDevKernel_AllReduce_Sum_f32", ts + 20, 60, launched, stream=9)
            trace.add("collective", slice_id=reduce, op="allreduce", bytes=bytes_of(bucket))
    return trace


STEPS = "select step, name, source, thread_id, ts, dur from step order by step"


def test_steps_of_varying_kernels_end_after_their_last_collective():
    assert varying(TraceBuilder(), lambda bucket: 1 << bucket).fill().text(STEPS) == (
        "0 after a sequence of 4 collectives recurrence 0 810 1000\n"
        "1 after a sequence of 4 collectives recurrence 0 1810 1000\n"
        "2 after a sequence of 4 collectives recurrence 0 2810 1000\n"
        "3 after a sequence of 4 collectives recurrence 0 3810 1070"
    )


def test_without_launching_calls_steps_lie_between_collectives_on_the_device():
    assert varying(TraceBuilder(), launched=None).fill().text(STEPS) == (
        "0 after a sequence of 4 collectives recurrence - 880 1000\n"
        "1 after a sequence of 4 collectives recurrence - 1880 1000\n"
        "2 after a sequence of 4 collectives recurrence - 2880 1000\n"
        "3 after a sequence of 4 collectives recurrence - 3880 1000"
    )


def test_collectives_of_the_host_recur_where_there_is_no_gpu():
    trace = TraceBuilder()
    for number in range(4 * 8):
        asked = trace.op("record_param_comms", 100 * number, 10, thread=number % 2)
        trace.add("collective", slice_id=asked, op="allreduce", bytes=number % 8)
    steps = trace.fill().text("select step, name, thread_id, ts, dur from step order by step")
    assert steps.splitlines()[0] == "0 after a sequence of 8 collectives 0 10 800"


def test_what_does_not_recur_leaves_the_whole_trace():
    trace = TraceBuilder()
    for number in range(40):
        trace.kernel("ncclDevKernel_AllReduce_Sum_f32", 1000 * number + 500, 300, launched=(1000 * number, 100))
    assert trace.fill().text("select source, count(*) from step group by source") == "whole_trace 1"


def test_kernels_of_one_stream_recur_where_launching_calls_are_missing():
    trace = TraceBuilder()
    for number in range(5 * 10):
        trace.kernel(f"kernel {number % 10}", 1000 * number, 300)
        if number % 7 == 0:
            trace.kernel("memset", 1000 * number + 10 * (number % 3), 30, stream=8)
    assert trace.fill().text("select step, source, ts, dur from step where step < 2 order by step") == (
        "0 recurrence 0 10000\n1 recurrence 10000 10000"
    )
