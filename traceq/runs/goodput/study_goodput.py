"""From the tables of a run to what it came to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.runs.goodput.goodput import (
    CATEGORIES,
    HOUR,
    Category,
    Checkpoints,
    EarlyEnd,
    Goodput,
    Pace,
    Power,
    RunLog,
    SlowStart,
    StepChange,
    Terms,
)

if TYPE_CHECKING:
    import duckdb

_PARTS = ("lost", "hang", "restart", "queue", "start_up", "compile", "other")
# A start is slow where it takes half as much again as the usual one, and a minute more: starts differ.
_SLOW_FACTOR = 1.5
_SLOW_NS = 60_000_000_000
_FEWEST_STARTS = 3
# Energy of a category is known where samples cover nearly all of it.
_ENOUGH_POWER = 0.9


def study_goodput(connection: duckdb.DuckDBPyConnection, terms: Terms, trace_id: int = 0) -> Goodput:
    """Return what the run of the trace (0: of logs alone) came to, by its tables run_log, run_attempt and run_phase."""
    logs = ask(connection, _LOGS, trace_id=trace_id)
    ledger = ask(connection, "select * from run_goodput where trace_id = $trace_id", trace_id=trace_id)
    ((first_at, wall),) = connection.execute(
        "select min(at_ns), sum(dur)::bigint from run_phase where trace_id = $1", [trace_id]
    ).fetchall()
    attempts = ask(
        connection, "select * from run_attempt where trace_id = $trace_id order by attempt", trace_id=trace_id
    )
    early_ends = [
        _read_early_end(row, terms)
        for row in ask(
            connection, "select * from run_restart where trace_id = $trace_id order by attempt", trace_id=trace_id
        )
    ]
    (pace,) = ask(connection, statement("runs/sql/pace.sql"), trace_id=trace_id)
    (checkpoint,) = ask(connection, statement("runs/sql/run_checkpoint.sql"), trace_id=trace_id)
    joules, power = _read_energy(ask(connection, statement("runs/sql/energy.sql"), trace_id=trace_id))
    sizes = [row["gpus"] for row in attempts if row["gpus"] is not None]
    return Goodput(
        terms=terms,
        logs=tuple(
            RunLog(row["file"], row["format"], row["lines"], row["lines_left_out"], row["steps"]) for row in logs
        ),
        first_at=first_at or 0,
        wall_ns=wall or 0,
        is_local=any(row["is_local"] for row in logs),
        gpus=tuple(size for place, size in enumerate(sizes) if not place or sizes[place - 1] != size),
        ledger=tuple(
            Category(
                row["category"], row["dur"], row["share"], price(row["gpu_dur"], terms), joules.get(row["category"])
            )
            for row in sorted(ledger, key=lambda row: (-row["dur"], CATEGORIES.index(row["category"])))
        ),
        early_ends=tuple(early_ends),
        slow_starts=_find_slow_starts(ask(connection, statement("runs/sql/run_start.sql"), trace_id=trace_id), terms),
        checkpoints=_weigh_checkpoints(checkpoint, early_ends, ledger),
        pace=_read_pace(pace),
        changes=_read_changes(connection, trace_id),
        power=power,
        cannot_tell=_say_why_not(logs, attempts, wall),
    )


_LOGS = """
select
    l.file, l.format, l.lines, l.lines_left_out,
    l.shift is null and l.first_at is not null as is_local,
    l.first_at is not null as has_times,
    count(s.step) as steps
from run_log as l
left join run_step as s using (trace_id, log_id)
where l.trace_id = $trace_id
group by all
order by min(l.log_id)
"""


def price(gpu_ns: float | None, terms: Terms) -> float | None:
    """Return what so much time of GPUs (ns) costs; None where the time or the price is not known."""
    return None if gpu_ns is None or terms.price is None else gpu_ns / HOUR * terms.price


def _say_why_not(logs: Sequence[Mapping[str, Any]], attempts: Sequence[Mapping[str, Any]], wall: int | None) -> str:
    """Return why the logs give no ledger; "" where they do."""
    if not any(row["steps"] for row in logs):
        return "no log has a step"
    if not attempts or not wall:
        return "no line of a step has a time"
    return ""


def _read_early_end(row: Mapping[str, Any], terms: Terms) -> EarlyEnd:
    """Return the early end of an attempt from its row of run_restart."""
    return EarlyEnd(
        attempt=row["attempt"],
        ended_at=row["ended_at"],
        ended_by=row["ended_by"],
        reason=row["reason"],
        lost_steps=row["lost_steps"],
        parts={part: row[part] for part in _PARTS if row[part]},
        dur=row["dur"],
        cost=price(row["gpu_dur"], terms),
    )


def _find_slow_starts(starts: Sequence[Mapping[str, Any]], terms: Terms) -> tuple[SlowStart, ...]:
    """Return the attempts that took much longer to start than the median of the others; none of fewer than three."""
    found = []
    for row in starts if len(starts) >= _FEWEST_STARTS else ():
        usual = round(median(other["dur"] for other in starts if other is not row))
        excess = row["dur"] - usual
        if row["dur"] > _SLOW_FACTOR * usual and excess > _SLOW_NS:
            cost = None if row["gpu_dur"] is None else price(row["gpu_dur"] * excess / row["dur"], terms)
            found.append(SlowStart(row["attempt"], row["dur"], usual, cost))
    return tuple(found)


def best_interval(checkpoint_ns: float, between_failures_ns: float) -> float:
    """Return the time of steps between two checkpoints (ns) that costs least in the mean.

    Young's first-order estimate, the square root of 2 C M, with Daly's higher-order terms (J. T. Daly, A higher order
    estimate of the optimum checkpoint interval for restart dumps, Future Generation Computer Systems 22, 2006, eq. 37), for
    a checkpoint of C and failures that are M apart; M where C is 2 M or more.
    """
    if checkpoint_ns >= 2 * between_failures_ns:
        return between_failures_ns
    part = math.sqrt(checkpoint_ns / (2 * between_failures_ns))
    return math.sqrt(2 * checkpoint_ns * between_failures_ns) * (1 + part / 3 + part * part / 9) - checkpoint_ns


def _weigh_checkpoints(
    row: Mapping[str, Any], early_ends: Sequence[EarlyEnd], ledger: Sequence[Mapping[str, Any]]
) -> Checkpoints | None:
    """Return how checkpoints fit to failures; None where no time of a checkpoint or no failure is known."""
    failures = sum(end.ended_by != "restart" for end in early_ends)
    if not row["count"] or not row["dur"] or not failures or not row["running_ns"] or not row["stepping_ns"]:
        return None
    between, interval = row["running_ns"] / failures, row["stepping_ns"] / row["count"]
    best = best_interval(row["dur"], between)
    at_stake = sum(part["dur"] for part in ledger if part["category"] in ("checkpoint", "lost"))
    saved = _overhead(interval, row["dur"], between) - _overhead(best, row["dur"], between)
    return Checkpoints(
        count=row["count"],
        dur=round(row["dur"]),
        interval_ns=round(interval),
        between_failures_ns=round(between),
        best_interval_ns=round(best),
        saves_ns=round(min(max(saved, 0.0) * row["running_ns"], at_stake)),
    )


def _overhead(interval: float, checkpoint: float, between_failures: float) -> float:
    """Return the share of the time that checkpoints and lost work take, to first order (J. W. Young, 1974); times in ns."""
    return checkpoint / interval + interval / (2 * between_failures)


def _read_pace(row: Mapping[str, Any]) -> Pace:
    """Return the pace of the run from its row of pace.sql."""
    first, last = row["first_loss"], row["last_loss"]
    has_loss = first is not None and last is not None and first["step"] != last["step"]
    return Pace(
        steps=row["steps"] or 0,
        counted=row["counted"],
        last_step=row["last_step"],
        step_ns=row["step_ns"],
        low_ns=row["low_ns"],
        high_ns=row["high_ns"],
        throughput=row["throughput"],
        throughput_unit=row["throughput_unit"],
        loss=((first["step"], first["loss"]), (last["step"], last["loss"])) if has_loss else None,
    )


def _read_energy(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, float], Power | None]:
    """Return the energy (J) of each category that samples cover, and what is known of power; None without samples."""
    if not rows:
        return {}, None
    known = {row["category"]: row["joules"] for row in rows if (row["coverage"] or 0) >= _ENOUGH_POWER}
    covered, whole = (sum(row[name] for row in rows) for name in ("covered_ns", "whole_ns"))
    return known, Power(rows[0]["devices"], covered / whole if whole else 0.0)


def _read_changes(connection: duckdb.DuckDBPyConnection, trace_id: int) -> tuple[StepChange, ...]:
    """Return the changes of the time a step, of the log with most of them."""
    rows = ask(connection, _CHANGES, trace_id=trace_id)
    counts = {row["log_id"]: sum(other["log_id"] == row["log_id"] for other in rows) for row in rows}
    chosen = max(counts, key=lambda log_id: (counts[log_id], -log_id), default=None)
    kept = [row for row in rows if row["log_id"] == chosen]
    return tuple(
        StepChange(row["kind"], row["step"], row["until_step"], row["before"], row["after"], row["ratio"])
        for row in kept
    )


_CHANGES = "select * from run_change where trace_id = $trace_id and quantity = 'step_time' order by log_id, step"
