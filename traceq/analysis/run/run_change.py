"""Finds where the steps of a run changed for good, for a while or steadily: rows of run_change from those of run_step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traceq.common.change_points import FLOOR, LevelChange, Slope, describe_series
from traceq.database.sql import run

Column = NDArray[Any]
Floats = NDArray[np.float64]

_UNITS = {"step_time": "ns", "memory": "bytes"}
# Start-up: the first rows of an attempt, and those after them until its steps are as short as usual.
_START_UP, _LONGEST_START_UP = 10, 30
_SLOW_START = 1.05
_SMOOTHED = 5
# Rows at a level. A row may be the mean of ten steps: one of ten is then long because of a single step.
_SHORTEST, _MANY = 10, 200
# How near a level comes back to the one before, as a share of how far it went.
_COMES_BACK = 0.25


class _RunSteps(NamedTuple):
    """Rows of run_step in the order in which the steps were done, a column each.

    `attempt_begin` is the first step of the attempt, start-up included. Numbers that a row lacks are NaN; `at_ns` and
    `throughput_unit` hold objects, None where a row lacks them.
    """

    series_id: Column
    log_id: Column
    attempt: Column
    step: Column
    first_step: Column
    attempt_begin: Column
    at_ns: Column
    throughput_unit: Column
    step_time: Column
    throughput: Column
    memory: Column


def fill_changes(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Add to run_change what changed in the logs of the trace (0: logs without one).

    Time and throughput are looked at over all attempts, memory in each attempt, since a new process begins with little.
    """
    rows = run(connection, "analysis/run/run_series.sql", trace_id=trace_id).fetchnumpy()
    all_steps = _RunSteps(**{name: _fill_gaps(np.ma.asarray(column)) for name, column in rows.items()})
    changes: list[dict[str, object]] = []
    for number in np.unique(all_steps.series_id):
        steps = _choose_rows(all_steps, all_steps.series_id == number)
        is_running = ~find_start_up(steps.step_time, _number_attempts(steps))
        steady = _choose_rows(steps, is_running)
        changes += _list_changes(steady, "step_time")
        changes += _list_changes(steady, "throughput")
        attempts = _number_attempts(steady)
        for attempt in np.unique(attempts):
            changes += _list_changes(_choose_rows(steady, attempts == attempt), "memory")
    if changes:
        # Numbers of attempts and steps are whole, and times since 1970 need all their digits.
        connection.register("_changes", pa.Table.from_pylist([{"trace_id": trace_id, **change} for change in changes]))
        connection.execute("insert into run_change by name from _changes")
        connection.unregister("_changes")


def find_start_up(durations: Floats, attempts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows are start-up: the first 10 of each attempt (`attempts` are their numbers), and further slow ones.

    Of an attempt with fewer than 30 rows it is the first row, of one with a single row none. Where most of the first 10 are
    more than 5 % slower than the attempt's median, further rows count while the median of five is, unless that lasts beyond
    30: then it is no start-up.
    """
    is_start_up = np.zeros(len(durations), dtype=bool)
    for attempt in np.unique(attempts):
        (places,) = np.nonzero(attempts == attempt)
        if len(places) < 3 * _START_UP:
            is_start_up[places[: len(places) > 1]] = True
            continue
        end = _START_UP
        known = durations[places]
        limit = _SLOW_START * float(np.nanmedian(known)) if np.isfinite(known).any() else np.inf
        is_slow = np.nanmedian(np.append(known[:end], 0)) > limit
        while is_slow and end < len(places) and np.nanmedian(np.append(known[end : end + _SMOOTHED], 0)) > limit:
            end += 1
        is_start_up[places[: end if end <= _LONGEST_START_UP else _START_UP]] = True
    return is_start_up


def _fill_gaps(column: Any) -> Column:
    """Return a column of a result with what it lacks: NaN for numbers with a fraction, None for times and words."""
    if column.dtype == np.float64:
        return np.asarray(column.filled(np.nan))
    if not np.ma.is_masked(column):
        return np.asarray(column.data)
    values = column.data.astype(object)
    values[column.mask] = None
    return np.asarray(values)


def _choose_rows(steps: _RunSteps, chosen: NDArray[np.bool_]) -> _RunSteps:
    """Return those of the rows that are chosen."""
    return _RunSteps(*(column[chosen] for column in steps))


def _number_attempts(steps: _RunSteps) -> NDArray[np.int64]:
    """Return a number for each row that differs between logs and between attempts of one."""
    begins = (np.diff(steps.log_id) != 0) | (np.diff(steps.attempt) != 0)
    return np.concatenate(([0], np.cumsum(begins)))[: len(steps.step)]


def _list_changes(steps: _RunSteps, quantity: str) -> Iterator[dict[str, object]]:
    """Yield the changes of a quantity as rows of run_change without the trace."""
    values: Floats = getattr(steps, quantity)
    values = np.where(values > 0, values, np.nan)
    done = np.cumsum(steps.step - steps.first_step + 1)
    count = int(np.isfinite(values).sum())
    described = describe_series(done, values, shortest=_SHORTEST if count >= _MANY else _SHORTEST // 2)
    unit = _UNITS.get(quantity) or next((unit for unit in steps.throughput_unit if unit), None)
    for kind, change, end in _pair_up(described.changes):
        yield {
            "quantity": quantity,
            "kind": kind,
            **_locate_begin(steps, change),
            **(_locate_end(steps, end) if end else {}),
            "unit": unit,
            **{name: getattr(change, name) for name in ("before", "after", "ratio", "ratio_low", "ratio_high")},
        }
    if described.slope:
        yield {
            "quantity": quantity,
            "kind": "slope",
            "unit": unit,
            **_describe_slope(steps, values, done, described.slope),
        }


def _pair_up(changes: list[LevelChange]) -> Iterator[tuple[str, LevelChange, LevelChange | None]]:
    """Yield the changes as levels, and as windows with their end where a level comes back to the one before."""
    number = 0
    while number < len(changes):
        change = changes[number]
        following = changes[number + 1] if number + 1 < len(changes) else None
        if following:
            away = abs(following.after - change.before)
            if away <= max(FLOOR * change.before, _COMES_BACK * abs(change.after - change.before)):
                yield "window", change, following
                number += 2
                continue
        yield "level", change, None
        number += 1


def _locate_begin(steps: _RunSteps, change: LevelChange) -> dict[str, object]:
    """Return where a change begins: log, attempt, the step with its bounds, and its time."""
    low, high = _within_attempt(steps, change.index, change.low, change.high)
    return {
        "log_id": int(steps.log_id[change.index]),
        "attempt": int(steps.attempt[change.index]),
        "step": int(steps.first_step[change.index]),
        "step_low": _lowest_step(steps, low),
        "step_high": int(steps.first_step[high]),
        "at_ns": _as_whole(steps.at_ns[change.index]),
    }


def _within_attempt(steps: _RunSteps, place: int, low: int, high: int) -> tuple[int, int]:
    """Return the bounds of a row as far as they are in its attempt: numbers of steps of another cannot be compared with its."""
    attempts = _number_attempts(steps)
    (same,) = np.nonzero(attempts == attempts[place])
    return max(low, int(same[0])), min(high, int(same[-1]))


def _lowest_step(steps: _RunSteps, low: int) -> int:
    """Return the first step of a row; of the first steady row of an attempt that of the attempt: start-up hides a change."""
    is_first = low == 0 or _number_attempts(steps)[low] != _number_attempts(steps)[low - 1]
    return int(steps.attempt_begin[low] if is_first else steps.first_step[low])


def _locate_end(steps: _RunSteps, change: LevelChange) -> dict[str, object]:
    """Return where a window ends that `change` ends: the last step before it, with its bounds and time."""
    last = change.index - 1
    low, high = _within_attempt(steps, last, change.low - 1, change.high - 1)
    return {
        "until_attempt": int(steps.attempt[last]),
        "until_step": int(steps.step[last]),
        "until_low": min(_lowest_step(steps, low), int(steps.step[low])),
        "until_high": int(steps.step[high]),
        "until_at_ns": _as_whole(steps.at_ns[last]),
    }


def _as_whole(value: int | None) -> int | None:
    """Return a number of numpy as one of Python."""
    return None if value is None else int(value)


def _describe_slope(steps: _RunSteps, values: Floats, done: NDArray[np.int64], slope: Slope) -> dict[str, object]:
    """Return where a slope begins and ends, and how much it changes in all; `done` are the steps done up to each row."""
    known = np.flatnonzero(np.isfinite(values))
    first, last = int(known[0]), int(known[-1])
    middle = float(np.median(values[known]))
    to_begin, to_end = (float(done[place] - done[known].mean()) for place in (first, last))
    ratio, low, high = (
        (1 + share * to_end) / (1 + share * to_begin) for share in (slope.per_unit, slope.low, slope.high)
    )
    return {
        "log_id": int(steps.log_id[first]),
        "attempt": int(steps.attempt[first]),
        "step": int(steps.first_step[first]),
        "at_ns": _as_whole(steps.at_ns[first]),
        "until_attempt": int(steps.attempt[last]),
        "until_step": int(steps.step[last]),
        "until_at_ns": _as_whole(steps.at_ns[last]),
        "before": middle * (1 + slope.per_unit * to_begin),
        "after": middle * (1 + slope.per_unit * to_end),
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
    }
