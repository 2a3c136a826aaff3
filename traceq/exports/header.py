"""The head of an exported trace: where it comes from, and what its times count from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from traceq.common.version import __version__
from traceq.database.query import ask
from traceq.database.sql import statement


@dataclass(frozen=True)
class ExportedTrace:
    """A trace of the file: a row of export/traces.sql, what its processes begin with, and the ns that its times count from."""

    row: Mapping[str, Any]
    prefix: str
    origin: int

    @property
    def trace_id(self) -> int:
        """Its number in the database."""
        return int(self.row["trace_id"])


def prepare_traces(rows: Sequence[Mapping[str, Any]]) -> list[ExportedTrace]:
    """Prepare the traces of a file. Those of one time, the ranks of a job, keep their distances; others all begin at 0.

    Ranks whose collectives tell how far their clocks are apart are on one clock.
    """
    bases = [_clock_base(row) for row in rows]
    starts = [row["ts"] + (base or 0) for row, base in zip(rows, bases, strict=True)]
    ends = [row["ts_end"] + (base or 0) for row, base in zip(rows, bases, strict=True)]
    is_one_time = None not in bases and max(starts, default=0) < min(ends, default=0)
    origins = [min(starts) - base if is_one_time else row["ts"] for row, base in zip(rows, bases, strict=True)]
    return [
        ExportedTrace(row, prefix, origin)
        for row, prefix, origin in zip(rows, _choose_prefixes(rows), origins, strict=True)
    ]


def _clock_base(row: Mapping[str, Any]) -> int | None:
    """Return what is added to the times of a trace to be on the clock of its job; None when its own clock is not known."""
    utc: int | None = row["utc_origin_ns"]
    return None if utc is None else utc - (row["clock_offset"] or 0)


def _choose_prefixes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Prefix the names of processes: not for one trace, else by rank if ranks are distinct, else by trace_id."""
    if len(rows) == 1:
        return [""]
    ranks = [row["rank"] for row in rows]
    if None not in ranks and len(set(ranks)) == len(ranks):
        return [f"rank {rank}: " for rank in ranks]
    return [f"trace {row['trace_id']}: " for row in rows]


def make_header(
    connection: duckdb.DuckDBPyConnection, traces: Sequence[ExportedTrace], told: Mapping[str, object]
) -> dict[str, object]:
    """Make the members of the file beside its events; `told` is further information for the reader.

    A file of one trace can be read as a profiler's own: GPUs, rank and clock are where Kineto has them.
    """
    members: dict[str, object] = {"schemaVersion": 1, "displayTimeUnit": "ns"}
    if len(traces) == 1:
        members |= _as_kineto(connection, traces[0])
    members["otherData"] = {
        "producer": f"traceq {__version__}",
        "traces": [_collect_facts(trace) for trace in traces],
        **told,
    }
    return members


def _collect_facts(trace: ExportedTrace) -> dict[str, object]:
    """Collect the facts of a trace, with times as text: a reader's numbers may end at 2**53."""
    facts = {
        "trace_id": trace.trace_id,
        "run": trace.row["run"],
        "rank": trace.row["rank"],
        "sha256": trace.row["sha256"],
        "ts_zero_ns": str(trace.origin),
        "clock_offset_ns": trace.row["clock_offset"],
    }
    return {name: value for name, value in facts.items() if value is not None}


def _as_kineto(connection: duckdb.DuckDBPyConnection, trace: ExportedTrace) -> dict[str, object]:
    members: dict[str, object] = {}
    if trace.row["utc_origin_ns"] is not None:
        members["baseTimeNanoseconds"] = trace.row["utc_origin_ns"] + trace.origin
    if trace.row["rank"] is not None:
        members["distributedInfo"] = {"rank": trace.row["rank"], "world_size": trace.row["world_size"]}
    devices = ask(connection, statement("exports/sql/devices.sql"), trace_id=trace.trace_id)
    if devices:
        members["deviceProperties"] = [
            {name: value for name, value in device.items() if value is not None} for device in devices
        ]
    return members
