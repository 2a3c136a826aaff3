"""Macros that make columns easy to read: times with a unit and a beginning that means something, short names."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.common.text import shortened
from traceq.database.catalogue import empty_database, list_macros


@pytest.fixture(scope="module")
def database():
    """A trace that begins at 1 s, with the steps 5 and 6 of 2 ms each."""
    trace = TraceBuilder()
    for number, ts in ((5, 1_000_000_000), (6, 1_002_000_000)):
        trace.annotation(f"ProfilerStep#{number}", ts, 2_000_000)
        trace.kernel("gemm", ts + 1_500_000, 250_000, launched=(ts + 100, 10))
    trace.call("cudaDeviceSynchronize", 1_004_500_000, 500)
    return trace.fill_all()


def test_times_are_given_in_milli_and_microseconds(database):
    assert database.rows("select ms(dur), us(dur) from kernel order by ts limit 1") == [(0.25, 250.0)]
    assert database.rows("select ms(null), ms(-1), us(1.5)") == [(None, -1e-6, 0.0015)]


def test_times_count_from_the_start_of_the_trace_or_the_step(database):
    columns = "step, ms_in_trace(trace_id, ts), ms_in_step(trace_id, step, ts)"
    assert database.rows(f"select {columns} from gpu_slice order by ts") == [(5, 1.5, 1.5), (6, 3.5, 1.5)]
    assert database.rows(
        "select ms_in_trace(c.trace_id, c.ts), ms_in_step(c.trace_id, null, c.ts), ms_in_step(c.trace_id, 7, c.ts)"
        " from cpu_slice as c where name = 'cudaDeviceSynchronize'"
    ) == [(4.5, None, None)]


@pytest.mark.parametrize("name", ["gemm", "x" * 80, "".join(map(str, range(60))), "void at::native::" + "long<" * 200])
@pytest.mark.parametrize("columns", [80, 20, 7])
def test_names_are_shortened_as_in_reports(name, columns):
    with empty_database() as connection:
        found = connection.execute("select short_name($name, $columns)", {"name": name, "columns": columns}).fetchone()
        assert found == (shortened(name, columns),)


def test_names_are_shortened_to_80_characters_where_none_is_given():
    with empty_database() as connection:
        assert connection.execute("select length(short_name(repeat('x', 81))), short_name(null)").fetchone() == (
            80,
            None,
        )


def test_macros_are_in_the_dictionary_with_their_parameters():
    with empty_database() as connection:
        told = {each.name: each.comment for each in list_macros(connection)}
    assert told["ms"].startswith("ms(ns): Milliseconds")
    assert told["short_name"].startswith("short_name(name, columns): ")
    assert {"us", "ms_in_trace", "ms_in_step", "interval_union"} <= told.keys()
    assert all(comment.rstrip(": ") != name for name, comment in told.items())
