"""A job that was judged, to be replayed again with some of its ranks as usual: from its tables, without its traces' slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from traceq.analysis.job.graph import Members, build_graph
from traceq.analysis.job.stragglers import JobTimes
from traceq.analysis.job.uneven import KINDS, UnevenCollectives, split_ends, take_waits
from traceq.database import sql

if TYPE_CHECKING:
    from collections.abc import Collection

    import duckdb


def read_times(
    connection: duckdb.DuckDBPyConnection, job: int, time_window: int, units: int, limit: int
) -> JobTimes | None:
    """Return the times of one window of a judged job, for replays; None if no collectives were matched.

    `units` is the number of ranks. Own times that exceed the usual by at most `limit` ns do not count as late.
    """
    query = sql.statement("analysis/job/recorded.sql")
    rows = sql.relation(connection, query, job=job, time_window=time_window, ops=list(KINDS)).to_arrow_table()
    if not rows.num_rows:
        return None
    ops = rows.column("op").to_pylist()
    found: dict[str, Any] = {
        name: rows.column(name).to_numpy(zero_copy_only=False) for name in rows.column_names if name != "op"
    }
    blocks, is_uneven = (found.pop(name).astype(bool) for name in ("blocks", "is_uneven"))
    wait = found.pop("wait").astype(float)
    whole = {name: column.astype(np.int64) for name, column in found.items()}
    members = Members(whole["unit"], whole["stream"], whole["ts"], whole["ts_end"], whole["match"], blocks)
    transfer = np.zeros(members.collectives)
    transfer[members.match] = whole["transfer"]
    shared = None
    if is_uneven.any():
        match, first = np.unique(members.match[is_uneven], return_index=True)
        first = np.flatnonzero(is_uneven)[first]
        uneven = UnevenCollectives(match, np.array([KINDS[ops[row]] for row in first]), whole["root"][first])
        members, shared, transfer = split_ends(members, transfer, take_waits(members, uneven, wait))
    graph, _ = build_graph(members, shared)
    own, usual = whole["own"].astype(float), whole["usual"].astype(float)
    late = ~graph.is_first & (own - usual > limit)
    return JobTimes(units, graph, own, np.where(late, usual, own), np.where(graph.is_first, own, 0.0), transfer)


def durations_without(times: JobTimes, units: Collection[int]) -> tuple[float, float]:
    """Return how long the job lasts as recorded, and with the ranks `units` at their usual speed; both in ns."""
    cut = np.zeros((times.units, 2), bool)
    cut[list(units), 1] = True
    before, after = times.lasts(cut)
    return float(before), float(after)
