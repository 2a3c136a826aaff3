"""Steps and attempts of training logs, and where the captured steps lie among them, against plain loops."""

from __future__ import annotations

import statistics
from functools import cache

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.database import sql
from traceq.database.connect import SHARES_OF_NOTHING, create_schema

SECOND = 1_000_000_000
ORIGIN = 1_775_000_000 * SECOND


@cache
def empty_database():
    """A database in memory that all tests use, each in a transaction that the next takes back: making a schema takes long."""
    database = duckdb.connect()
    database.execute(SHARES_OF_NOTHING)
    create_schema(database)
    database.execute("begin")
    return database


class Run:
    """One log, and the steps of a trace, as rows; (line, step, values) are its lines."""

    def __init__(self, lines=(), *, starts=(), clock="utc", shift=0, steps=(), origin=ORIGIN, zone=None, printed=()):
        self.database = empty_database()
        self.database.execute("rollback; begin")
        times = [at for _, _, at, _ in lines if at is not None]
        self._insert("run_log", [(1, 0, "x.log", "megatron", clock, shift, min(times, default=None), max(times, default=None),
                                  None, None, len(lines), 0, None, None)])  # fmt: skip
        values = [
            (1, 0, line, None, step, at, name, value, None)
            for line, step, at, said in lines
            for name, value in said.items()
        ]
        self._insert("run_value", values)
        self._insert("run_event", [(1, 0, line, None, None, "begin", "restart", None, None) for line in starts])
        self.database.execute(
            "insert into trace (trace_id, path, sha256, size_bytes, format, ingested_at, utc_origin_ns, utc_zone_ns)"
            " values (1, 'x', 'x', 1, 'chrome', '2026-01-01', ?, ?)",
            [origin, zone],
        )
        for step, name, source, ts, dur in steps:
            self.database.execute(
                "insert into step (trace_id, step, name, source, ts, dur) values (1, ?, ?, ?, ?, ?)",
                [step, name, source, ts, dur],
            )
        for line, step, ts in printed:
            self.database.execute(
                "insert into printed_value (trace_id, ts, line, step, quantity, value, is_recorded)"
                " values (1, ?, ?, ?, 'loss', 1, true)",
                [ts, line, step],
            )
        sql.run(self.database, "analysis/run/run_step.sql", trace_id=1)
        sql.run(self.database, "analysis/run/run_window.sql", trace_id=1)

    def _insert(self, table, rows):
        for row in rows:
            self.database.execute(f"insert into {table} values ({', '.join('?' * len(row))})", row)

    def rows(self, query):
        return self.database.execute(query).fetchall()

    @property
    def attempts(self):
        return self.rows("select attempt, step from run_step order by all")

    @property
    def window(self):
        (said,) = self.rows("select placed_by, reason from run_log")
        found = self.rows("select first_step, last_step, placed_by from run_window")
        return found[0] if found else said


def at(seconds):
    return ORIGIN + round(seconds * SECOND)


def even(count, seconds=1.0, first=1, begin=0.0, **values):
    """Lines of so many steps, each after so many seconds."""
    return [
        (n, first + n, at(begin + (n + 1) * seconds), {"loss": 1.0, **values}) for n in range(count)
    ]  # fmt: skip


# --- attempts


def find_attempts(numbers, starts):
    """(attempt, step) of each line: a number that falls back begins one, unless the next is beyond all before again."""
    found, attempt = [], 1
    for place, number in enumerate(numbers):
        before = numbers[place - 1] if place else None
        after = numbers[place + 1] if place + 1 < len(numbers) else None
        falls = before is not None and number < before and not (after is not None and after > before)
        began = before is not None and any(place - 1 < start <= place for start in starts)
        attempt += falls or began
        found.append((attempt, number))
    return sorted(set(found))


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=12),
    st.sets(st.integers(0, 12), max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_attempts_are_those_of_a_loop(numbers, starts):
    lines = [(place * 10, number, None, {"loss": 1.0}) for place, number in enumerate(numbers)]
    run = Run(lines, starts=[start * 10 - 5 for start in starts], clock="none", shift=None)
    assert run.attempts == find_attempts(numbers, starts)


def test_a_line_out_of_order_is_no_attempt_and_a_restart_is_one():
    def attempts(*numbers):
        return Run(
            [(n, step, None, {"loss": 1.0}) for n, step in enumerate(numbers)], clock="none", shift=None
        ).attempts

    assert attempts(10, 11, 10, 12) == [(1, 10), (1, 11), (1, 12)]
    assert attempts(10, 11, 12, 10, 11, 12) == [(1, 10), (1, 11), (1, 12), (2, 10), (2, 11), (2, 12)]
    assert attempts(10, 20, 30, 20) == [(1, 10), (1, 20), (1, 30), (2, 20)]


def test_of_two_lines_on_a_step_the_first_says_each_value():
    lines = [
        (1, 10, at(1), {"learning_rate": 1e-5}),
        (2, 10, None, {"loss": 2.5, "step_time": 5e8}),
        (3, 10, at(2), {"loss": 3.5, "memory": 7.0}),
    ]
    assert Run(lines).rows("select step, line, dur, dur_from, loss, memory, at_ns from run_step") == [
        (10, 1, 500_000_000, "logged", 2.5, 7.0, at(1))
    ]


def test_steps_that_the_log_does_not_time_take_the_time_between_its_lines():
    run = Run([(1, 10, at(0.25), {"loss": 1.0}), (2, 20, at(5.5), {"loss": 1.0}), (3, 25, at(8.0), {"loss": 1.0})])
    assert run.rows("select step, steps, dur, dur_from from run_step order by step") == [
        (10, 8, None, None),
        (20, 10, 525_000_000, "between_lines"),
        (25, 5, 500_000_000, "between_lines"),
    ]


@given(st.integers(40, 4000), st.integers(30, 60))
@settings(max_examples=15, deadline=None)
def test_times_in_whole_seconds_are_not_taken_for_those_of_short_steps(milliseconds, count):
    lines = [(n, n, ORIGIN + (n * milliseconds // 1000) * SECOND, {"loss": 1.0}) for n in range(1, count)]
    found = [dur for (dur,) in Run(lines).rows("select dur from run_step where dur is not null order by step")]
    late = [dur for dur in found[-5:] if count * milliseconds > 20_000]
    assert all(
        abs(dur / 1e6 - milliseconds) <= 1000 * milliseconds / 18_000 + 1000 / max(20_000 / milliseconds, 1)
        for dur in late
    )


# --- windows

STEPS = [(n, f"ProfilerStep#{n}", "profiler_step", round((n + 0.5) * SECOND), SECOND) for n in (3, 4)]


def test_the_clock_places_the_captured_steps():
    run = Run(even(20, step_time=1e9), steps=[(0, "ProfilerStep#0", "profiler_step", 3 * SECOND, SECOND)])
    assert run.window == (4, 4, "clock")
    assert run.rows("select * exclude (trace_id, log_id) from run_window") == [
        (1, 4, 4, 1, SECOND, SECOND, 19, 50.0, 1.0, 1.0, "clock")
    ]


def place(ends, durations, begin, end):
    """(first, last) captured step by looking at each: those of which more than half lies in the capture, but at least one."""
    inside = [
        number
        for number, (until, dur) in enumerate(zip(ends, durations, strict=True), start=1)
        if max(0, min(until, end) - max(until - dur, begin)) > dur / 2
    ]
    return (inside[0], inside[-1]) if inside else None


@given(
    st.lists(st.integers(100, 3000), min_size=5, max_size=25),
    st.integers(0, 22),
    st.integers(1, 6),
    st.integers(-40, 40),
    st.sampled_from([None, 0, 2, -5]),
)
@settings(max_examples=60, deadline=None)
def test_windows_are_those_of_a_loop(milliseconds, first, count, off, zone):
    durations = [each * 1_000_000 for each in milliseconds]
    ends = [sum(durations[: n + 1]) for n in range(len(durations))]
    first, last = min(first, len(ends) - 1), min(first + count, len(ends)) - 1
    begin = max(0, ends[first] - durations[first] + off * 1_000_000)
    until = max(begin + 1, min(ends[last], ends[-1]) + off * 1_000_000)
    local = 0 if zone is None else zone * 3600 * SECOND
    lines = [
        (n, n + 1, ORIGIN + end + local, {"step_time": float(dur)})
        for n, (end, dur) in enumerate(zip(ends, durations, strict=True))
    ]
    run = Run(
        lines,
        clock="utc" if zone is None else "local",
        shift=0 if zone is None else None,
        steps=[(0, "ProfilerStep#0", "profiler_step", begin, until - begin)],
        zone=None if zone is None else local,
    )
    if (expected := place(ends, durations, begin, until)) is None:
        return
    assert run.window == (*expected, "clock")
    inside = durations[expected[0] - 1 : expected[1]]
    others = durations[1:]
    dur, usual, percentile = run.rows("select step_dur, run_step_dur, percentile from run_window")[0]
    assert dur == pytest.approx(statistics.median(inside), abs=1)
    assert usual == pytest.approx(statistics.median(others), abs=1)
    middle = statistics.median(inside)
    below = sum(each < middle for each in others) + sum(each == middle for each in others) / 2
    assert percentile == pytest.approx(100 * below / len(others))
    (shifted,) = run.rows("select at_ns from run_step order by step limit 1")[0]
    assert shifted == ORIGIN + ends[0], "from here on all times are UTC"


def test_a_log_without_a_zone_is_placed_where_only_one_fits():
    steps = [(0, "ProfilerStep#0", "profiler_step", 30 * SECOND, SECOND)]
    hours = 5 * 3600 + 45 * 60
    short = [(n, step, when + hours * SECOND, said) for n, step, when, said in even(100, step_time=1e9)]
    assert Run(short, clock="local", shift=None, steps=steps).window == (31, 31, "clock")
    long = [(n, step, when + hours * SECOND, said) for n, step, when, said in even(60, 60.0, step_time=6e10)]
    by, reason = Run(long, clock="local", shift=None, steps=steps).window
    assert by is None
    assert reason.startswith("its times name no zone, and it fits the trace in several")
    assert Run(long, clock="local", shift=-hours * SECOND, steps=steps).window == (1, 1, "clock"), "--offset"


PROGRAM = [(n, f"step {n}", "annotation", (n - 100) * SECOND, SECOND) for n in (105, 106)]


def test_numbers_place_the_captured_steps_only_where_they_are_the_programs():
    lines = [(n, n, None, {"step_time": 1e9}) for n in range(1, 200)]
    without = {"clock": "none", "shift": None}
    assert Run(lines, steps=PROGRAM, **without).window == (105, 106, "step_number")
    assert Run(lines, steps=STEPS, **without).window == (
        None,
        "the lines of its steps have no times, and the program does not number its steps in the trace",
    )
    printed = [(0, 141, round(4.4 * SECOND)), (1, 142, round(5.5 * SECOND)), (2, 150, 90 * SECOND)]
    assert Run(lines, steps=STEPS, printed=printed, **without).window == (141, 142, "step_number")
    twice = lines + [(1000 + n, n, None, {"step_time": 1e9}) for n in range(50, 150)]
    assert Run(twice, steps=PROGRAM, **without).window == (None, "steps 105 to 106 are in 2 attempts")
    assert Run(lines[:50], steps=PROGRAM, **without).window == (None, "it does not have steps 105 to 106")


def test_an_absurd_ratio_of_the_trace_to_the_log_is_kept():
    lines = [(n, n, None, {"step_time": 1e9}) for n in range(1, 200)]
    steps = [(n, f"step {n}", "annotation", (n - 100) * 8 * SECOND, 8 * SECOND) for n in (105, 106)]
    assert Run(lines, steps=steps, clock="none", shift=None).rows("select trace_ratio from run_window") == [(8.0,)]


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (lambda: Run(steps=STEPS), "it has no steps"),
        (lambda: Run(even(1), steps=STEPS), "neither its lines nor their times tell how long steps took"),
        (lambda: Run(even(9), steps=()), "no steps were found in the trace"),
        (lambda: Run(even(9), steps=STEPS, origin=None), "the trace does not say when it was recorded"),
        (lambda: Run(even(9, begin=7200.0), steps=STEPS), "the trace was recorded 2.0 h before its first step"),
        (lambda: Run(even(9, begin=-9000.0), steps=STEPS), "the trace was recorded 2.5 h after its last step"),
        (lambda: Run(even(9, begin=60 * 3600.0), steps=STEPS, clock="local", shift=None), "in no time zone"),
    ],
)
def test_why_the_captured_steps_cannot_be_placed(run, reason):
    placed, said = run().window
    assert placed is None
    assert said.startswith(reason)
