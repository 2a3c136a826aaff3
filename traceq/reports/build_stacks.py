"""Builds the call paths of traces for other viewers, with the time that each path has of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from traceq.database.query import ask
from traceq.exports.stacks import CallPath, Stacks
from traceq.reports.build_flame import paths_of

if TYPE_CHECKING:
    import duckdb

_STEPS = "select coalesce(sum(dur), 0)::bigint as dur from step where trace_id = $trace_id and excluded is null"


def build_stacks(connection: duckdb.DuckDBPyConnection, traces: Mapping[int, str]) -> Stacks:
    """Build the call paths of the counted steps of these traces; `traces` are the names of their outermost frames by trace_id.

    A trace without a name has no such frame.
    """
    paths: list[CallPath] = []
    dur = 0
    for trace_id, name in traces.items():
        if name:
            paths.append(CallPath(None, "trace", name, 0, 0, 0))
        around, first = (len(paths) - 1 if name else None), len(paths)
        found = paths_of(connection, trace_id, with_idle=True)
        own = [path["host"] for path in found]
        for path in found:
            if path["parent"] is not None:
                own[path["parent"]] -= path["host"]
        for path, host in zip(found, own, strict=True):
            parent = around if path["parent"] is None else first + path["parent"]
            paths.append(CallPath(parent, path["kind"], path["name"], host, path["own_gpu"], path["own_idle"]))
        dur += ask(connection, _STEPS, trace_id=trace_id)[0]["dur"]
    return Stacks(paths, dur)
