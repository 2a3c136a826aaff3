"""What ran beside copies, and which bytes came back, against oracles that go instant by instant and copy by copy."""

from __future__ import annotations

from itertools import count, pairwise

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import category_at

from traceq import sql
from traceq.store import create_schema

# activity -> the columns of gpu_slice that make it one
COLUMNS = {
    "compute": ("kernel", False, None),
    "communication": ("kernel", True, None),
    "graph": ("graph", False, None),
    "memset": ("memset", False, None),
    "copy_h2d": ("memcpy", False, "h2d"),
    "copy_d2h": ("memcpy", False, "d2h"),
    "copy_other": ("memcpy", False, "um"),
}
COPIES = ("copy_h2d", "copy_d2h", "copy_other")
TIME = st.integers(0, 40)
SLICES = st.lists(st.tuples(st.sampled_from(sorted(COLUMNS)), TIME, st.integers(0, 12)), min_size=1, max_size=12)
BOUNDARIES = st.lists(TIME, min_size=2, max_size=5, unique=True).map(sorted)
NO_CALLS = "create temp table _copy_position (slice_id bigint, position varchar)"


@pytest.fixture(scope="module")
def connection():
    connection = duckdb.connect()
    create_schema(connection)
    return connection


def clear(connection):
    for table in ("cpu_slice", "gpu_slice", "step", "device_activity", "copy_overlap"):
        connection.execute(f"delete from {table}")
    for (table,) in connection.execute("select table_name from duckdb_tables() where temporary").fetchall():
        connection.execute(f"drop table temp.{table}")


def insert(connection, columns, rows):
    """Rows into a table, in one statement: one each would take most of the time."""
    marks = ", ".join(f"({', '.join('?' * len(row))})" for row in rows)
    connection.execute(f"insert into {columns} values {marks}", [value for row in rows for value in row])


def run(connection, *analyses):
    for analysis in analyses:
        sql.run(connection, f"analyzers/{analysis}.sql", trace_id=1)


def fill(connection, devices, boundaries):
    """Slices per device and steps between the boundaries; returns (slice_id, device, activity, ts, dur) and the steps."""
    clear(connection)
    slice_ids = count()
    slices = [
        (next(slice_ids), device, activity, ts, dur)
        for device, each in enumerate(devices)
        for activity, ts, dur in each
    ]
    insert(
        connection,
        "gpu_slice (trace_id, slice_id, device, name, ts, dur, kind, is_communication, copy_kind)",
        [
            (1, slice_id, device, "Memcpy HtoD", ts, dur, *COLUMNS[activity])
            for slice_id, device, activity, ts, dur in slices
        ],
    )
    steps = list(pairwise(boundaries))
    insert(
        connection,
        "step (trace_id, step, name, source, ts, dur)",
        [(1, number, "s", "annotation", ts, end - ts) for number, (ts, end) in enumerate(steps)],
    )
    run(connection, "device_activity", "copy_call", "copy_time")
    return slices, steps


def computes(slices, instant):
    return category_at(slices, instant) == "compute"


def expected(slices, steps, category, ts, dur):
    """(overlapped, hidden, exposed, could_overlap), instant by instant."""
    overlapped = sum(computes(slices, instant) for instant in range(ts, ts + dur))
    exposed = sum(category_at(slices, instant) == category for instant in range(ts, ts + dur))
    later = [instant for start, end in steps if start < ts + dur <= end for instant in range(ts + dur, end)]
    could_overlap = min(exposed, sum(computes(slices, instant) for instant in later))
    return overlapped, dur - overlapped - exposed, exposed, could_overlap


@settings(max_examples=30, deadline=None)
@given(devices=st.lists(SLICES, min_size=1, max_size=2), boundaries=BOUNDARIES)
def test_every_nanosecond_of_a_copy_is_where_the_oracle_says(connection, devices, boundaries):
    slices, steps = fill(connection, devices, boundaries)
    found = {
        slice_id: times
        for slice_id, *times in connection.execute(
            "select slice_id, overlapped, hidden, exposed, could_overlap from _copy_time"
        ).fetchall()
    }
    assert found == {
        slice_id: list(expected(devices[device], steps, activity, ts, dur))
        for slice_id, device, activity, ts, dur in slices
        if activity in COPIES
    }


@settings(max_examples=20, deadline=None)
@given(devices=st.lists(SLICES, min_size=1, max_size=2), boundaries=BOUNDARIES)
def test_totals_are_unions_and_their_exposed_part_is_the_ledgers(connection, devices, boundaries):
    slices, steps = fill(connection, devices, boundaries)
    connection.execute(NO_CALLS)
    run(connection, "copy_return", "copy_overlap")
    rows = connection.execute(
        "select device, step, category, busy, overlapped, hidden, exposed from copy_total where busy > 0"
    ).fetchall()
    wanted = []
    for device, each in enumerate(devices):
        for number, (ts, end) in [*enumerate(steps), (None, (-1, -1))]:
            # outside all steps: what is before the first and after the last
            outside = [*range(steps[0][0]), *range(steps[-1][1], 60)]
            instants = outside if number is None else range(ts, end)
            for category in COPIES:
                running = [
                    instant for instant in instants if any(a == category and t <= instant < t + d for a, t, d in each)
                ]
                overlapped = sum(computes(each, instant) for instant in running)
                exposed = sum(category_at(each, instant) == category for instant in running)
                busy = len(running)
                if busy:
                    wanted.append((device, number, category, busy, overlapped, busy - overlapped - exposed, exposed))
    assert sorted(rows, key=str) == sorted(wanted, key=str)
    copies = [one for one in slices if one[2] in COPIES]
    assert connection.execute("select coalesce(sum(copies), 0), coalesce(sum(dur), 0) from copy_total").fetchone() == (
        len(copies),
        sum(dur for *_, dur in copies),
    )


ROUND_TRIPS = st.lists(
    # direction, when it is asked for, how long it takes, bytes, step
    st.tuples(
        st.sampled_from(("h2d", "d2h")), TIME, st.integers(1, 8), st.sampled_from((8, 64)), st.sampled_from((0, 1))
    ),
    min_size=1,
    max_size=14,
)


def brought_back(copies):
    """h2d copy -> d2h copy, both by number, played back one event after the other."""
    events = []
    for number, (direction, launched, dur, size, step) in enumerate(copies):
        at = launched + 1 + dur if direction == "d2h" else launched
        events.append((at, direction != "d2h", number, (size, step)))
    waiting, found = {}, {}
    for _, asks, number, key in sorted(events):
        queue = waiting.setdefault(key, [])
        if not asks:
            queue.append(number)
        elif queue:
            found[number] = queue.pop(0)
    return found


@settings(max_examples=30, deadline=None)
@given(copies=ROUND_TRIPS)
def test_bytes_that_come_back_are_those_the_oracle_pairs(connection, copies):
    clear(connection)
    insert(
        connection,
        "cpu_slice (trace_id, thread_id, dur, kind, name, slice_id, ts)",
        [
            (1, 0, 1, "runtime", "cudaMemcpyAsync", 100 + number, launched)
            for number, (_, launched, *_) in enumerate(copies)
        ],
    )
    insert(
        connection,
        "gpu_slice (trace_id, device, kind, name, is_communication, slice_id, launch_id, ts, copy_kind, dur, bytes, step)",
        [
            (1, 0, "memcpy", "Memcpy", False, number, 100 + number, launched + 1, direction, *rest)
            for number, (direction, launched, *rest) in enumerate(copies)
        ],
    )
    run(connection, "copy_call", "copy_return")
    assert dict(connection.execute("from _copy_return").fetchall()) == brought_back(copies)
