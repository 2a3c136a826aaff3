"""The timeline of host threads, block by block, against asking at every instant what is open."""

from __future__ import annotations

from contextlib import closing

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.analysis.ledger import host_timeline
from traceq.analysis.ledger.host_slices import HostSlices
from traceq.database.sql import run

LAST = 24

TABLES = """
    create temp table cpu_slice (
        thread_id integer, slice_id bigint, ts bigint, ts_end bigint, depth integer, parent_id bigint, kind varchar, name varchar,
        context_id bigint, phase_id bigint
    );
    create temp table host_name (kind varchar, name varchar, context varchar, phase varchar, activity varchar);
    insert into host_name values ('runtime', 'wait', null, null, 'synchronization'), ('op', 'forward', null, 'forward', null);
    create temp table gpu_slice (launch_id bigint, kind varchar, src_memory varchar, dst_memory varchar);
    create temp table _slice_cut (slice_id bigint, ts_end bigint);
    create temp table _slice_outlasting (slice_id bigint, inside bigint, depth bigint);
    create temp table _slice_ended_under (slice_id bigint);
    create temp table _thread_without_python as select 1 as thread_id;
    create temp type host_phase as enum ('other', 'data', 'forward', 'backward', 'optimizer');
    create temp table _phase_interval (thread_id integer, phase host_phase, ts bigint, ts_end bigint);
"""


@pytest.fixture(scope="module")
def connection():
    with closing(duckdb.connect()) as connection:
        connection.execute(TABLES)
        run(connection, "analysis/ledger/host_slice.sql")
        connection.execute("create temp table _host_running (thread_id integer, ts bigint, state host_activity)")
        yield connection


@st.composite
def draw_nested(draw, begin=0, end=LAST, depth=0):
    """Draw slices of a thread that nest, as (ts, ts_end, depth, kind, name), an enclosing one before what it encloses."""
    found, ts = [], begin
    while ts < end and draw(st.booleans()):
        start = draw(st.integers(ts, end - 1))
        stop = draw(st.integers(start, end))
        kind, name = draw(
            st.sampled_from([("op", "forward"), ("runtime", "wait"), ("annotation", "a"), ("python", "p")])
        )
        found.append((start, stop, depth, kind, name))
        if depth < 3 and stop > start:
            found += draw(draw_nested(start, stop, depth + 1))
        ts = stop
    return found


def list_changes(values):
    """Return points in time, each with what holds from there on."""
    return st.lists(st.tuples(st.integers(0, LAST), values), max_size=4, unique_by=lambda each: each[0]).map(sorted)


WORLD = st.fixed_dictionaries(
    {
        "slices": st.lists(draw_nested(), min_size=1, max_size=3),
        "states": st.lists(list_changes(st.sampled_from(["cpu", "off", "none"])), min_size=3, max_size=3),
        "passes": list_changes(st.tuples(st.sampled_from(["forward", "backward"]), st.integers(1, 5))),
    }
)


def rows_of(world):
    """The rows of cpu_slice, _host_running and _phase_interval."""
    slices, states = [], []
    for thread, found in enumerate(world["slices"]):
        around: list[int] = []
        for ts, ts_end, depth, kind, name in found:
            parent = around[depth - 1] if depth else None
            around[depth:] = [len(slices)]
            slices.append((thread, len(slices), ts, ts_end, depth, parent, kind, name, None, None))
        states += [(thread, *each) for each in world["states"][thread]]
    starts = [ts for ts, _ in world["passes"]]
    passes = [
        (0, phase, ts, min(ts + length, *(other for other in starts if other > ts), LAST + 9))
        for ts, (phase, length) in world["passes"]
    ]
    return slices, states, passes


def look_up_instant(slices, states, passes, thread, t):
    """Return slice, activity and phase of the thread in nanosecond `t`."""
    of_thread = [each for each in slices if each[0] == thread]
    is_open = [each for each in of_thread if each[2] <= t < each[3]]
    inner = max(is_open, key=lambda each: each[4], default=None)
    state = next((each[2] for each in reversed(states) if each[0] == thread and each[1] <= t), None)
    phase = next((each[1] for each in passes if each[0] == thread and each[2] <= t < each[3]), "other")
    if inner is None:
        return None, state or "none", phase
    kind, name = inner[6:8]
    activity = {"op": "operator", "runtime": "synchronization"}.get(kind, kind)
    if kind == "annotation" and thread == 1:
        activity = state or "cpu"
    # a pass counts for what lies in it
    return inner[1], activity, "forward" if name == "forward" else phase


@settings(max_examples=150, deadline=None)
@given(world=WORLD, rows=st.sampled_from([1000, 100_000]))
def test_each_instant_has_what_is_open_innermost(connection, world, rows):
    slices, states, passes = rows_of(world)
    for table, found in (("cpu_slice", slices), ("_host_running", states), ("_phase_interval", passes)):
        connection.execute(f"truncate {table}")
        if found:
            connection.executemany(f"insert into {table} values ({', '.join('?' * len(found[0]))})", found)
    connection.execute("drop table _host_slice")
    run(connection, "analysis/ledger/host_slice.sql")
    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        # each slice is a place to cut at, or none is
        cuts = sorted({(each[0], each[2]) for each in slices}) if rows == 1000 else []
        patched.setattr(host_timeline, "_find_cuts", lambda _connection: cuts)
        host_timeline.fill_host_timeline(connection)
    found = connection.sql("select thread_id, ts, slice_id, activity, phase from _host_timeline").fetchall()
    assert found == sorted(found, key=lambda each: each[:2])
    for thread in {each[0] for each in slices}:
        own = [each[1:] for each in found if each[0] == thread]
        assert own[0][0] < 0
        for t in range(-1, LAST + 3):
            segment = [each for each in own if each[0] <= t][-1]
            slice_id, activity, phase = look_up_instant(slices, states, passes, thread, t)
            assert (t, *segment[1:3]) == (t, slice_id, activity)
            # whether a slice that a pass ends or begins in counts for it is told by its end alone
            if slice_id is None:
                assert segment[3] == phase
    extents = connection.sql(
        "select thread_id, min(rowid), max(rowid) from _host_timeline group by all order by all"
    ).fetchall()
    assert connection.sql("from _host_extent order by all").fetchall() == extents


@pytest.mark.parametrize("most_ids", [0, 1_000_000])
def test_slices_are_found_whatever_their_ids(connection, most_ids):
    connection.execute("truncate _host_slice")
    connection.execute(
        "insert into _host_slice values (7, 'operator', 'forward', null), (900000, 'synchronization', 'other', 7),"
        " (90, 'off', 'data', 90)"
    )
    ids = connection.sql("select unnest([900000, -1, 90, 7]) as slice_id").fetchnumpy()["slice_id"]
    names = [
        connection.execute(f"select enum_range(null::{kind})").fetchall()[0][0]
        for kind in ("host_activity", "host_phase")
    ]
    doing = HostSlices(connection, most_ids).doing(ids)
    assert [names[0][each] for each in doing.activity] == ["synchronization", "none", "off", "operator"]
    assert [names[1][each] for each in doing.phase] == ["other", "other", "data", "forward"]
    assert doing.synchronizing_id.tolist() == [7, -1, 90, -1]
