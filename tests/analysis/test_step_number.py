"""Numbers of steps: the program's where names have them, else a count from 0."""

from __future__ import annotations

from itertools import pairwise

import pytest
from builder import TraceBuilder
from hypothesis import assume, given
from hypothesis import strategies as st

from traceq.analysis.steps.level import StepLevel, StepMark, number_steps


def make_level(source, *names, numbers=()):
    marks = [
        StepMark(name, 1, 100 * place, 100 * place + 90, number=numbers[place] if numbers else None)
        for place, name in enumerate(names)
    ]
    return StepLevel(source, names[0], marks, "")


@pytest.mark.parametrize(
    ("source", "names", "expected"),
    [
        ("profiler_step", ["ProfilerStep#5", "ProfilerStep#6", "ProfilerStep#7"], [5, 6, 7]),
        ("profiler_step", ["ProfilerStep#12"], [12]),
        ("mark", ["traceq.step#10", "traceq.step#20"], [10, 20]),
        ("annotation", ["iteration 7", "iteration 8", "iteration 9"], [7, 8, 9]),
        (
            "step_range",
            ["epoch 2, step 99 of it", "epoch 2, step 100 of it", "epoch 2, step 101 of it"],
            [99, 100, 101],
        ),
        # two may be sizes
        ("annotation", ["batch 32", "batch 64"], [0, 1]),
        # sizes
        ("annotation", ["bucket 128", "bucket 256", "bucket 512"], [0, 1, 2]),
        ("annotation", ["seq_len=1024", "seq_len=2048", "seq_len=4096", "seq_len=8192"], [0, 1, 2, 3]),
        ("annotation", ["bucket 64", "bucket 128", "bucket 192"], [0, 1, 2]),
        ("step_range", ["batch 1", "batch 2", "batch 4"], [0, 1, 2]),
        ("step_range", ["len 317", "len 402", "len 511"], [0, 1, 2]),
        # every tenth one is annotated, and some are left out
        ("annotation", ["iteration 10", "iteration 20", "iteration 30"], [10, 20, 30]),
        ("annotation", ["step 3", "step 4", "step 5", "step 90", "step 91"], [3, 4, 5, 90, 91]),
        # numbers start again, repeat, or are of something else
        ("annotation", ["epoch 0 step 8", "epoch 0 step 9", "epoch 1 step 0"], [0, 1, 2]),
        ("profiler_step", ["ProfilerStep#5", "ProfilerStep#5"], [0, 1]),
        ("profiler_step", ["ProfilerStep#6", "ProfilerStep#5"], [0, 1]),
        ("annotation", ["train", "train", "train"], [0, 1, 2]),
        ("annotation", ["step 1 of 3", "step 2 of 3", "step 3 of 3"], [0, 1, 2]),
        ("serving", ["decode[bs=1]", "decode[bs=2]", "decode[bs=3]"], [0, 1, 2]),
        ("recurrence", ["gemm_1", "gemm_2", "gemm_3"], [0, 1, 2]),
        # more than the table holds
        ("mark", ["traceq.step#2147483646", "traceq.step#2147483647"], [0, 1]),
        ("mark", ["traceq.step#12345678901", "traceq.step#12345678902"], [0, 1]),
    ],
)
def test_a_step_has_the_number_in_its_name_where_all_have_one_that_rises(source, names, expected):
    assert number_steps(make_level(source, *names)) == expected


@given(
    first=st.integers(0, 10**6),
    count=st.integers(3, 40),
    increment=st.sampled_from([1, 2, 5, 10, 100]),
    words=st.sampled_from([("step ", ""), ("train/iter=", " of it"), ("epoch 2 it ", "")]),
)
def test_numbers_that_rise_evenly_are_those_of_the_program(first, count, increment, words):
    numbers = [first + increment * place for place in range(count)]
    before, after = words
    level = make_level("annotation", *(f"{before}{number}{after}" for number in numbers))
    assert number_steps(level) == numbers
    # another start shifts all of them
    later = make_level("annotation", *(f"{before}{number + 7}{after}" for number in numbers))
    assert number_steps(later) == [number + 7 for number in numbers]


@given(first=st.integers(1, 5000), ratio=st.sampled_from([1.5, 2, 3, 4]), count=st.integers(3, 12))
def test_numbers_that_grow_by_a_factor_are_sizes(first, ratio, count):
    sizes = sorted({int(first * ratio**place) for place in range(count)})
    assume(len(sizes) >= 3 and len({later - size for size, later in pairwise(sizes)}) == len(sizes) - 1)
    assert number_steps(make_level("annotation", *(f"bucket {size}" for size in sizes))) == list(range(len(sizes)))


def test_a_trimmed_trace_keeps_the_numbers_of_the_whole():
    assert number_steps(make_level("recurrence", "gemm", "gemm", numbers=[7, 8])) == [7, 8]
    assert number_steps(make_level("mark", "traceq.step#3", "traceq.step#4", numbers=[3, 3])) == [3, 4]


def test_no_steps_have_no_numbers():
    assert number_steps(StepLevel("window", "window", [], "")) == []


def test_all_tables_have_the_numbers_of_the_program_also_with_gaps():
    trace = TraceBuilder()
    for number in range(4):
        ts = 1000 * number
        trace.annotation(f"ProfilerStep#{10 * number + 5}", ts, 1000)
        trace.kernel("gemm", ts + 200, 300, launched=(ts + 100, 10))
    # a phase that lasts into the steps after its own
    trace.annotation("traceq.phase#save", 900, 1300)
    trace.fill_all()
    assert trace.rows("select list(step order by ts) from step") == [([5, 15, 25, 35],)]
    assert trace.rows("select list(step order by ts) from gpu_slice") == [([5, 15, 25, 35],)]
    assert trace.rows("select list(distinct step order by step) from time_ledger") == [([5, 15, 25, 35],)]
    assert trace.rows("select step, count, dur from step_phase order by step") == [
        (5, 1, 100),
        (15, 0, 1000),
        (25, 0, 200),
    ]
