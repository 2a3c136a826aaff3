"""Jobs simulated rank by rank, with one thing wrong, as the tables that an ingest of all their traces would leave.

The simulator is its own what-if: what a job loses is the difference to the same job without what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from traceq.analysis.job.job import fill_jobs
from traceq.database.connect import create_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MS = 1e6
WORK, LAUNCH = 2 * MS, 0.2 * MS
TRANSFER = 0.3 * MS
NOISE = 0.02
OF_A_HOST = 8
STAGES = 4
MICRO_BATCHES = 4


@dataclass
class Job:
    """What ranks do before each collective, ns: `work` on the GPU, then `launch`, waiting for the host (rank x step x place).

    Layout `groups`: two collectives of the ranks of a host, then one of all ranks. Layout `pipeline`: micro-batches go through
    four stages, then the copies of each stage reduce.
    """

    ranks: int
    steps: int
    layout: str
    work: Floats
    launch: Floats
    clock: Floats

    def lasts(self) -> float:
        """How long the job takes, ns."""
        return self._run(lambda *_part: None)

    def recorded(self) -> list[tuple[int, int, int, str, str, int, int, float, float, float]]:
        """Parts of collectives: rank, step, stream, operation, group, its size, number; begin of own time, start and end."""
        rows: list[tuple[int, int, int, str, str, int, int, float, float, float]] = []
        self._run(lambda *part: rows.append(part))
        return rows

    def _run(self, record: Any) -> float:
        now = np.zeros(self.ranks)
        places = _list_places(self.ranks, self.layout)
        for step in range(self.steps):
            own = self.work[:, step] + self.launch[:, step]
            for place, (op, groups) in enumerate(places):
                for group, members in groups.items():
                    starts = now[members] + own[members, place]
                    end = float(starts.max()) + TRANSFER
                    number = step * len(places) + place
                    for each, (rank, start) in enumerate(zip(members, starts.tolist(), strict=True)):
                        is_send = op == "send_recv" and each == 0
                        stream, name = (1, "send") if is_send else (2, "recv") if op == "send_recv" else (0, op)
                        record(rank, step, stream, name, group, len(members), number, float(now[rank]), start, end)
                        # who sends does not wait for who receives
                        now[rank] = start if is_send else end
        return float(now.max())


def _list_places(ranks: int, layout: str) -> list[tuple[str, dict[str, list[int]]]]:
    """Return the collectives of a step in their order, each with its groups."""
    if layout == "groups":
        hosts = {f"host {first}": list(range(first, first + OF_A_HOST)) for first in range(0, ranks, OF_A_HOST)}
        return [("all_reduce", hosts), ("all_gather", hosts), ("all_reduce", {"all": list(range(ranks))})]
    copies = ranks // STAGES
    between = [
        (
            "send_recv",
            {
                f"{stage} to {stage + 1}, {copy}": [stage * copies + copy, (stage + 1) * copies + copy]
                for copy in range(copies)
            },
        )
        for _ in range(MICRO_BATCHES)
        for stage in range(STAGES - 1)
    ]
    of_stage = {f"stage {stage}": list(range(stage * copies, (stage + 1) * copies)) for stage in range(STAGES)}
    return [*between, ("reduce_scatter", of_stage), ("barrier", {"all": list(range(ranks))})]


def build_job(ranks: int, steps: int, layout: str, seed: int, noise: float = NOISE) -> Job:
    """Build a job in which nothing is wrong but `noise`: all ranks do the same."""
    random = np.random.default_rng(seed)
    shape = (ranks, steps, len(_list_places(ranks, layout)))
    work = WORK * np.maximum(1 + noise * random.standard_normal(shape), 0.5)
    computes = _mark_computing(ranks) if layout == "pipeline" else 1.0
    clock = random.uniform(-1e6, 1e6, ranks)
    return Job(ranks, steps, layout, work * computes, np.full(shape, LAUNCH) * computes, clock)


def _mark_computing(ranks: int) -> Floats:
    """Where ranks of a pipeline compute: before what they send; the last stage before what it receives next, and at the end."""
    copies = ranks // STAGES
    stage = np.arange(ranks) // copies
    at = np.zeros((ranks, MICRO_BATCHES * (STAGES - 1) + 2))
    for micro in range(MICRO_BATCHES):
        for between in range(STAGES - 1):
            at[stage == between, micro * (STAGES - 1) + between] = 1
        if micro:
            at[stage == STAGES - 1, micro * (STAGES - 1) + STAGES - 2] = 1
    at[stage == STAGES - 1, -2] = 1
    return at[:, None, :]


def fill_tables(made: Job) -> duckdb.DuckDBPyConnection:
    """Return the job's tables, with the stage that deals with jobs filled; close the connection."""
    connection = duckdb.connect()
    create_schema(connection)
    rows = made.recorded()
    rank, step, stream, op, group, size, number, begin, start, end = (
        np.array(each) for each in zip(*rows, strict=True)
    )
    place = number % made.work.shape[2]
    moved = made.clock[rank] + 1e9
    begins, ts, ends = (np.rint(each + moved).astype(np.int64) for each in (begin, start, end))
    launch = np.rint(made.launch[rank, step, place]).astype(np.int64)
    ids = np.arange(len(rank))
    known = {"trace_id": rank + 1, "device": 0, "step": step}
    slices = known | {"slice_id": ids, "stream": stream, "ts": ts, "dur": ends - ts}
    _insert(connection, "trace", _trace_columns(made))
    _insert(connection, "step", _step_columns(made, rank, step, begins, ends))
    _insert(connection, "gpu_slice", slices | {"kind": "kernel", "name": op, "is_communication": True})
    described = {"op": op, "group_name": group, "group_size": size, "bytes": 1 << 20}
    timed = {"overlapped": 0, "exposed": ends - ts}
    _insert(connection, "collective_slice", {k: v for k, v in slices.items() if k != "ts"} | described | timed)
    _insert(connection, "collective", {"trace_id": rank + 1, "slice_id": ids, "sequence": number} | described)
    counts = dict.fromkeys(("communication", "copy_h2d", "copy_d2h", "copy_other", "memset", "graph"), 0)
    works = {"ts": begins, "dur": np.maximum(ts - launch - begins, 0), "compute": 1, "category": "compute"}
    _insert(connection, "device_activity", known | works | counts)
    gap = {"trace_id": rank + 1, "gap_id": ids, "ts": ts - launch, "dur": launch}
    _insert(connection, "idle_gap", gap | {"device": 0, "step": step, "cause": "idle_launch"})
    _insert(connection, "idle_gap_cause", gap | {"cause": "idle_launch"})
    fill_jobs(connection)
    return connection


def _trace_columns(made: Job) -> dict[str, Any]:
    ranks = np.arange(made.ranks)
    return {
        "trace_id": ranks + 1,
        "run": "simulated",
        "path": [f"rank{rank}" for rank in ranks],
        "sha256": [str(rank) for rank in ranks],
        "size_bytes": 0,
        "format": "simulated",
        "host": [f"h{rank // OF_A_HOST}" for rank in ranks],
        "rank": ranks,
        "world_size": made.ranks,
        "utc_origin_ns": 0,
        "ts": 0,
        "dur": int(1e12),
        "ingested_at": "2026-01-01 00:00:00",
    }


def _step_columns(made: Job, rank: Any, step: Any, begins: Any, ends: Any) -> dict[str, Any]:
    key = rank * made.steps + step
    first, last = np.full(made.ranks * made.steps, np.iinfo(np.int64).max), np.zeros(made.ranks * made.steps, np.int64)
    np.minimum.at(first, key, begins)
    np.maximum.at(last, key, ends)
    each = np.arange(len(first))
    return {
        "trace_id": each // made.steps + 1,
        "step": each % made.steps,
        "name": [f"step {number % made.steps}" for number in each],
        "source": "simulated",
        "ts": first,
        "dur": last - first,
    }


def _insert(connection: duckdb.DuckDBPyConnection, table: str, columns: dict[str, Any]) -> None:
    length = max(
        len(each) for each in columns.values() if isinstance(each, Sequence | np.ndarray) and not isinstance(each, str)
    )
    whole = {
        name: each if isinstance(each, list | np.ndarray) else pa.array([each] * length)
        for name, each in columns.items()
    }
    connection.register("_rows", pa.table(whole))
    connection.execute(f"insert into {table} by name from _rows")
    connection.unregister("_rows")


def report_job(made: Job) -> dict[str, Any]:
    """Return the job's row, and its stragglers in their order."""
    with closing(fill_tables(made)) as connection:
        row = connection.execute("from job")
        found = dict(zip([column[0] for column in row.description], row.fetchone() or (), strict=True))
        named = connection.execute("select kind, units, adds, cause from straggler order by place").fetchall()
    return found | {"named": named}


@dataclass
class Wrong:
    """What is put into a job, and what is to be said of it: the ranks that are named, the cause, and patterns that fit.

    `units` are None where nobody is to be named.
    """

    name: str
    layout: str
    ranks: int
    made: Job
    plain: Job
    units: set[int] | None
    cause: str | None
    patterns: set[str]

    @property
    def worth(self) -> float:
        """What it costs, by the simulator's own what-if, ns."""
        return self.made.lasts() - self.plain.lasts()


KINDS = ("rank", "host", "stage", "lengths", "expert", "hiccups", "two", "pipeline", "balanced")


def break_job(kind: str, ranks: int, seed: int, steps: int = 20) -> Wrong | None:
    """Build a job with one thing wrong that costs at least 1 % of its time; None if so few ranks have no such thing."""
    random = np.random.default_rng((seed, ranks, KINDS.index(kind)))
    layout = "pipeline" if kind in ("pipeline", "stage") else "groups"
    if kind == "host" and ranks < 3 * OF_A_HOST:
        return None
    plain = build_job(ranks, steps, layout, seed, 0.005 if kind == "balanced" else NOISE)
    made = build_job(ranks, steps, layout, seed, 0.005 if kind == "balanced" else NOISE)
    units, cause, patterns = _put(kind, made, random)
    if kind == "stage":
        # work is not saved, but evened out between the stages
        plain.work *= made.work.sum() / plain.work.sum()
    found = Wrong(kind, layout, ranks, made, plain, units, cause, patterns)
    return (
        found
        if kind == "balanced" or found.worth >= 0.01 * made.lasts()
        else break_job(kind, ranks, seed + 1000, steps)
    )


def _put(kind: str, made: Job, random: np.random.Generator) -> tuple[set[int] | None, str | None, set[str]]:
    found: tuple[set[int] | None, str | None, set[str]] = None, None, {"none"}
    one = int(random.integers(made.ranks))
    if kind in ("rank", "pipeline"):
        made.work[one] *= 1 + random.uniform(0.05, 0.3)
        found = {one}, "compute", {"fixed"}
    elif kind == "two":
        pair = sorted(random.choice(made.ranks, 2, replace=False).tolist())
        for rank in pair:
            made.launch[rank] += WORK * random.uniform(0.1, 0.3) * random.uniform(0.5, 1.5, made.launch[rank].shape)
        found = set(pair), "idle_launch", {"alternating", "fixed"}
    elif kind == "host":
        of_host = range(one // OF_A_HOST * OF_A_HOST, one // OF_A_HOST * OF_A_HOST + OF_A_HOST)
        made.launch[list(of_host)] += WORK * random.uniform(0.1, 0.3)
        found = set(of_host), "idle_launch", {"host"}
    elif kind == "stage":
        copies = made.ranks // STAGES
        of_stage = range(one // copies * copies, one // copies * copies + copies)
        made.work[list(of_stage)] *= 1 + random.uniform(0.1, 0.4)
        found = set(of_stage), "compute", {"stage"}
    elif kind == "lengths":
        made.work *= random.lognormal(0, 0.2, made.work.shape[:2])[:, :, None]
        found = None, None, {"wandering"}
    elif kind == "expert":
        made.work[one, :, 1] *= 1 + random.uniform(0.5, 1.0)
        found = {one}, "compute", {"fixed"}
    elif kind == "hiccups":
        steps = random.choice(made.steps, 2, replace=False)
        made.launch[one, steps, 0] += random.uniform(4, 10, 2) * MS
        found = {one}, "idle_launch", {"transient"}
    return found


@dataclass
class Verdict:
    """Whether who and why were right, and how far off what is promised is (a share of what is true; None where none is)."""

    who: bool
    why: bool
    pattern: bool
    error: float | None
    said: dict[str, Any]


def judge_case(case: Wrong) -> Verdict:
    """Compare what traceq says of the job with what was put in."""
    said = report_job(case.made)
    named = said["named"]
    pattern = said["pattern"] in case.patterns
    if case.units is None:
        who = not named if case.name == "balanced" else pattern
        return Verdict(who, True, pattern, None, said)
    first = named[: 2 if case.name == "two" else 1]
    who = {unit for each in first for unit in each[1]} == case.units
    why = bool(first) and all(each[3] == case.cause for each in first)
    error = sum(each[2] for each in first) / case.worth - 1 if who else None
    return Verdict(who, why, pattern, error, said)
