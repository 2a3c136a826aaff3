"""From a trace database to its jobs. Sums are made in runs/sql/."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.runs.job.job import JobOfRun, JobStep, JobStraggler, RankOfRun
from traceq.runs.run import Run

if TYPE_CHECKING:
    import duckdb


def read_jobs(connection: duckdb.DuckDBPyConnection, runs: Mapping[int, Run]) -> dict[int, JobOfRun]:
    """Return the job of each trace that is a rank of a multi-rank job, by trace_id; `runs` are the runs by trace_id."""
    found: dict[int, JobOfRun] = {}
    for row in ask(connection, statement("runs/sql/job.sql")):
        trace_ids = row.pop("trace_ids")
        job = _read_job(connection, row, [runs[trace_id] for trace_id in trace_ids if trace_id in runs])
        found |= dict.fromkeys(trace_ids, job)
    return found


def _share_numbers(runs: Sequence[Run]) -> bool:
    """Return whether the ranks number their steps alike: at least half of the steps of any have a number that all have."""
    numbers = [{each.step for each in run.steps} for run in runs]
    return not numbers or 2 * len(set.intersection(*numbers)) >= max(map(len, numbers))


def _read_job(connection: duckdb.DuckDBPyConnection, row: dict[str, Any], runs: list[Run]) -> JobOfRun:
    """Return one job as it is kept with runs: its steps, ranks and stragglers.

    `row` is its row of job.sql, `runs` its ranks' runs.
    """
    place = {name: row.pop(name) for name in ("job", "time_window")}
    told = row["steps_told"]
    stragglers = ask(connection, statement("runs/sql/job_straggler.sql"), **place)
    digest = hashlib.sha256("".join(sorted(run.sha256 for run in runs)).encode())
    by_number = _share_numbers(runs)
    query = statement("runs/sql/job_step.sql")
    steps = ask(connection, query, is_aligned=row["is_aligned"], by_number=by_number, **place)
    ledgers: dict[int, list[Mapping[str, int]]] = {}
    for number, each in ((number, each) for run in runs for number, each in enumerate(run.steps) if each.ledger):
        ledgers.setdefault(each.step if by_number else number, []).append(each.ledger)
    return JobOfRun(
        **row,
        sha256=digest.hexdigest(),
        steps=tuple(JobStep(**step, ledger=_mean_ledger(ledgers.get(step["step"], []), step["dur"])) for step in steps),
        ranks=tuple(_read_rank(each, told) for each in ask(connection, statement("runs/sql/job_rank.sql"), **place)),
        stragglers=tuple(
            JobStraggler(
                straggler["kind"],
                straggler["name"],
                tuple(straggler["ranks"]),
                round(straggler["adds"] / told),
                round(straggler["win"] / told),
                straggler["cause"],
            )
            for straggler in stragglers
        ),
    )


def _read_rank(row: dict[str, Any], told: int) -> RankOfRun:
    # Reports on what is in the cache do without.
    """Return a rank's mean times per step, ns, from its row of job_rank.sql.

    `told` is the number of steps over which `win` is summed.
    """
    import numpy as np

    from traceq.runs.statistics import dependence_factor

    own = np.array(row["own"], dtype=np.float64)
    count = max(len(own), 1)
    error = None
    if count > 1:
        error = float(own.std(ddof=1)) / math.sqrt(count) * dependence_factor([own])
    return RankOfRun(
        row["rank"],
        row["host"],
        row["stage"],
        own_ns=round(float(own.sum()) / count),
        error_ns=error,
        transfer_ns=round(row["transfer"] / count),
        wait_ns=round(row["wait"] / count),
        win_ns=None if row["win"] is None else round(row["win"] / told),
    )


def _mean_ledger(ledgers: list[Mapping[str, int]], dur: int) -> dict[str, int]:
    """Return the mean of the ranks' ledgers in one step, ns by category, without UNTOLD; empty without ledgers.

    Ranks' steps overlap, so that a rank's ledger may be longer than the job's step: the mean is scaled to at most
    `dur`.
    """
    parts: dict[str, int] = {}
    for ledger in ledgers:
        for name, part in ledger.items():
            parts[name] = parts.get(name, 0) + part
    whole = sum(parts.values())
    if not whole:
        return {}
    from traceq.runs.compare.causes import UNTOLD

    total = min(dur, whole // len(ledgers))
    found = {name: part * total // whole for name, part in sorted(parts.items()) if name != UNTOLD}
    if UNTOLD not in parts:  # what is left of whole nanoseconds
        found[max(found, key=lambda name: found[name])] += total - sum(found.values())
    return found
