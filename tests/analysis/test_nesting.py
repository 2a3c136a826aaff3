"""Depth, parent, and the operator and annotation around a slice."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from builder import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.analysis.nesting import nesting
from traceq.analysis.nesting.levels import place_nested
from traceq.analysis.nesting.stack import NOBODY, OpenSlices

NESTING = "select name, depth, parent_id, operator_id, annotation_id from cpu_slice order by slice_id"


def test_a_slice_knows_what_is_around_it():
    trace = TraceBuilder()
    trace.annotation("forward", 0, 100)
    trace.op("aten::linear", 10, 50)
    trace.op("aten::addmm", 20, 30)
    trace.call("cudaLaunchKernel", 25, 5)
    trace.call("cudaStreamSynchronize", 70, 5)
    trace.op("aten::add", 30, 5, thread=1)
    assert trace.fill().text(NESTING) == (
        "forward 0 - - -\n"
        "aten::linear 1 0 - 0\n"
        "aten::addmm 2 1 1 0\n"
        "cudaLaunchKernel 3 2 2 0\n"
        "cudaStreamSynchronize 1 0 - 0\n"
        "aten::add 0 - - -"
    )


def test_slices_that_touch_are_siblings():
    trace = TraceBuilder()
    trace.op("a", 0, 10)
    trace.op("b", 10, 10)
    assert trace.fill().text(NESTING) == "a 0 - - -\nb 0 - - -"


def test_a_child_that_ends_a_microsecond_late_does_not_swallow_what_follows():
    trace = TraceBuilder()
    trace.op("parent", 0, 2000)
    trace.op("child", 1000, 2000)
    trace.op("next", 2000, 1000)
    assert trace.fill("notes").text(NESTING) == "parent 0 - - -\nchild 1 0 0 -\nnext 0 - - -"
    assert (
        trace.text("select code, count from import_note where code = 'child_outlasts_parent'")
        == "child_outlasts_parent 1"
    )


def test_an_annotation_opened_in_a_python_frame_stays_around_what_follows():
    trace = TraceBuilder()
    trace.cpu("python", "main", 0, 10**6)
    trace.cpu("python", "__enter__", 1000, 2000)
    trace.annotation("ProfilerStep#1", 2000, 500_000)
    trace.op("aten::mm", 10_000, 1000)
    trace.op("aten::late", 600_000, 1000)
    assert trace.fill("notes").text(NESTING) == (
        "main 0 - - -\n__enter__ 1 0 - -\nProfilerStep#1 2 1 - -\naten::mm 2 2 - 2\naten::late 1 0 - -"
    )
    assert trace.text("select code, count from import_note where code = 'overlapping_slices'") == "overlapping_slices 1"


def test_with_equal_times_the_caller_is_around_the_callee():
    trace = TraceBuilder()
    trace.call("cudaLaunchKernel", 0, 5)
    trace.op("inner", 0, 5, external_id=12)
    trace.op("outer", 0, 5, external_id=11)
    trace.annotation("range", 0, 5)
    assert trace.fill().text("select name from cpu_slice order by depth") == "range\nouter\ninner\ncudaLaunchKernel"


def test_ranges_that_need_not_nest_have_no_depth_and_are_nobodys_parent():
    trace = TraceBuilder()
    trace.annotation("request", 0, 50, is_async=True)
    trace.op("a", 10, 100, is_async=False)
    assert trace.fill().text("select name, depth, parent_id from cpu_slice order by slice_id") == ("request - -\na 0 -")


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_sweeping_window_by_window_changes_nothing(monkeypatch, rows):
    monkeypatch.setattr(nesting, "_ROWS_PER_WINDOW", rows)
    trace = TraceBuilder()
    trace.annotation("step", 0, 10_000)
    for number in range(5):
        trace.op("outer", 2000 * number, 1500)
        trace.op("inner", 2000 * number, 700)
        trace.call("cudaLaunchKernel", 2000 * number + 100, 50)
        trace.op("other thread", 2000 * number + 100, 5000, thread=1)
    trace.fill()
    assert trace.text("select name, depth, count(*) from cpu_slice group by all order by all") == (
        "cudaLaunchKernel 3 5\ninner 2 5\nother thread 0 1\nother thread 1 1\nother thread 2 3\nouter 1 5\nstep 0 1"
    )


def test_a_second_try_begins_anew_and_commits_each_window(monkeypatch):
    monkeypatch.setattr(nesting, "_ROWS_PER_WINDOW", 2)
    trace = TraceBuilder()
    for number in range(3):
        trace.op("outer", 2000 * number, 1500)
        trace.op("inner", 2000 * number, 700)
    trace.fill()
    for table in ("_slice_cut", "_slice_ended_under", "_slice_outlasting"):
        trace._connection.execute(f"drop table {table}")
    commits = []
    nesting.nest_slices(trace._connection, 1, lambda: commits.append(trace.text("select count(*) from cpu_slice")))
    assert trace.text("select name, depth, count(*) from cpu_slice group by all order by all") == "inner 1 3\nouter 0 3"
    assert commits[-1] == "6"
    assert len(commits) > 2


@settings(max_examples=200, deadline=None)
@given(spans=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=15), rounding=st.integers(0, 4))
def test_the_sweep_agrees_with_looking_at_every_pair(spans, rounding):
    rows = sorted(((ts, ts + dur) for ts, dur in spans), key=lambda row: (row[0], row[0] - row[1]))
    starts, ends = [row[0] for row in rows], [row[1] for row in rows]
    depths, parents, _ = OpenSlices(rounding).place(list(range(len(rows))), [0] * len(rows), starts, ends)
    cut_ends: list[int] = []
    for number, (ts, end) in enumerate(rows):
        around = [other for other in range(number) if rows[other][0] <= ts < cut_ends[other]]
        parent = around[-1] if around else NOBODY
        cut_ends.append(cut_ends[parent] if parent != NOBODY and 0 < end - cut_ends[parent] <= rounding else end)
        assert (depths[number], parents[number]) == (len(around), parent)


def by_slice(places):
    return list(zip(places.depth, places.parent_id, *places.around, strict=True))


@settings(max_examples=300, deadline=None)
@given(
    spans=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 15)), max_size=15),
    cut=st.integers(0, 15),
)
def test_arrays_and_stack_agree_up_to_the_first_that_does_not_nest(spans, cut):
    columns = columns_of(spans)
    by_stack, by_arrays = OpenSlices(rounding=0), OpenSlices(rounding=0)
    for window in (slice(0, cut), slice(cut, None)):
        nested = place_nested(by_arrays, *(column[window] for column in columns))
        expected = by_slice(by_stack.place(*(column[window].tolist() for column in columns)))
        assert by_slice(nested) == expected[: len(nested.depth)]
        assert by_arrays.outlasting == []
        if len(nested.depth) < len(expected):
            assert by_stack.outlasting[0].slice_id == columns[0][window][len(nested.depth)]
            return
        assert by_stack.outlasting == []
        assert by_arrays.opened == by_stack.opened


@pytest.mark.parametrize(("least", "placed"), [(1, 4), (2, 0)])
def test_arrays_place_none_where_levels_have_few_slices(least, placed):
    """Three levels deep, four slices."""
    columns = columns_of([(0, 10, 0), (1, 8, 0), (2, 5, 0), (3, 1, 0)])
    assert len(place_nested(OpenSlices(), *columns, least).depth) == placed


def columns_of(spans):
    """Ids, kinds, starts, ends of (start, duration, kind), in the order of the sweep."""
    rows = sorted(spans, key=lambda row: (row[0], -row[1]))
    ids, kinds, starts = range(len(rows)), [kind for _, _, kind in rows], [ts for ts, _, _ in rows]
    return [np.array(column, np.int64) for column in (ids, kinds, starts, [ts + dur for ts, dur, _ in rows])]


@settings(max_examples=300, deadline=None)
@given(
    spans=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12), st.integers(0, 15)), max_size=30),
    rounding=st.integers(0, 4),
    by_arrays=st.integers(1, 8),
    by_stack=st.integers(1, 4),
    least=st.integers(0, 3),
)
def test_going_back_and_forth_between_arrays_and_stack_changes_nothing(spans, rounding, by_arrays, by_stack, least):
    columns = columns_of(spans)
    expected, mixed = OpenSlices(rounding), OpenSlices(rounding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_BY_ARRAYS", by_arrays)
        patch.setattr(nesting, "_BY_STACK", by_stack)
        patch.setattr(nesting, "_LEAST_PER_LEVEL", least)
        pieces = list(nesting._place_slices(mixed, columns))
    found = [list(chain.from_iterable(piece[field] for piece in pieces)) for field in range(9)]
    places = expected.place(*(column.tolist() for column in columns))
    assert list(zip(*found, strict=True)) == by_slice(places)
    assert mixed.cut == expected.cut
    assert mixed.outlasting == expected.outlasting
