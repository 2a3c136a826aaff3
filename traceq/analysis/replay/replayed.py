"""Fills the table replay: the counted steps executed again, once for each cause without it."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from traceq.analysis.categories import BUSY
from traceq.analysis.replay.replay import Model, span
from traceq.analysis.replay.replay_host import NO_CAUSE, HostTime
from traceq.analysis.replay.replay_model import Recorded, Step, model, read
from traceq.database.sql import run

if TYPE_CHECKING:
    import duckdb

# Of compute a quarter is taken away: kernels get faster, they do not vanish.
_COMPUTE_TAKEN = 0.25
# The cautious replay lets the host take longer by this for all it still does.
_SLOWER_HOST = 1.25
# What fetching does in workers takes the training thread's place on the CPU and in memory: docs/decisions/0013-savings.md.
_SLOWER_BESIDE_WORKERS = 1.15
_IN_WORKERS = "data_in_workers"

# With typical latencies the replay has to come this close to what was recorded, or it says nothing.
_MOST_ERROR = 0.25

# By so much a replay may be wrong: an upper bound is not below what it says and this.
_MARGIN = 1.02
_MOST_SHARE = 1.1

# More slices are not replayed, but the first counted steps that have so many.
_MOST_SLICES = 60_000
_MOST_SLICES_OF_ONE_STEP = 300_000

_BLOCKING_COPY_CALL = 5_000  # what the call takes when it does not block, ns


def fill_replay(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """A row for each category that the ledger holds; without savings where the steps cannot be replayed."""
    steps = [Step(*row) for row in run(connection, "analysis/replay/replay_step.sql").fetchall()]
    chosen = _chosen(steps)
    first, last = (chosen[0], chosen[-1]) if chosen else (steps[0], steps[-1]) if steps else (None, None)
    if first is None or last is None:
        return
    bounds = {"first_step": first.step, "last_step": last.step}
    removable = dict(run(connection, "analysis/replay/replay_removable.sql", **bounds).fetchall())
    if "compute" in removable:
        removable["compute"] = int(removable["compute"] * _COMPUTE_TAKEN)
    rows = _rows(connection, trace_id, chosen, removable) if chosen else _unknown(trace_id, removable)
    if rows:
        found_replay = pa.Table.from_pylist(rows)  # noqa: F841 - DuckDB finds the variable by its name
        connection.execute("insert into replay by name select * from found_replay")


def _chosen(steps: list[Step]) -> list[Step]:
    """The steps to replay: from the first that counts, as many as have at most so many slices."""
    counted = [number for number, step in enumerate(steps) if step.counts]
    if not counted:
        return []
    chosen: list[Step] = []
    slices = 0
    for step in steps[counted[0] : counted[-1] + 1]:
        slices += step.slices
        if slices > (_MOST_SLICES if chosen else _MOST_SLICES_OF_ONE_STEP):
            break
        chosen.append(step)
    return chosen if sum(step.slices for step in chosen) else []


def _unknown(trace_id: int, removable: dict[str, int]) -> list[dict[str, Any]]:
    return [{"trace_id": trace_id, "scenario": name, "removable": removable[name]} for name in sorted(removable)]


def _rows(
    connection: duckdb.DuckDBPyConnection, trace_id: int, steps: list[Step], removable: dict[str, int]
) -> list[dict[str, Any]]:
    # Work launched before the first step may still hold it up.
    recorded = read(connection, steps)
    whole = model(recorded)
    host = HostTime(connection, recorded)
    as_recorded = span(whole)
    latency = median(whole.latency)
    usual = span(
        replace(whole, residual=[0.0] * len(whole.residual), latency=[min(each, latency) for each in whole.latency])
    )
    error = abs(as_recorded - usual) / max(as_recorded, 1.0)
    if error > _MOST_ERROR:
        return [{**row, "error": error} for row in _unknown(trace_id, removable)]
    if "idle_data" in removable:
        removable = {**removable, _IN_WORKERS: removable["idle_data"]}
    rows = []
    for name in sorted(removable):
        slower = _SLOWER_BESIDE_WORKERS if name == _IN_WORKERS else 1.0
        without = _without(whole, recorded, host, "idle_data" if name == _IN_WORKERS else name)
        saved = as_recorded - span(_with_slower_host(without, slower))
        cautious = as_recorded - span(_with_slower_host(without, slower * _SLOWER_HOST))
        most = max(removable[name], 1)
        rows.append(
            {
                "trace_id": trace_id,
                "scenario": name,
                "removable": removable[name],
                "saved": round(saved),
                "share": min(max(saved / most, 0.0), 1.0),
                "share_high": min(max(saved / most, 1.0) * _MARGIN, _MOST_SHARE) if saved > most else 1.0,
                "share_low": min(max(min(saved, cautious) / most, 0.0), 1.0),
                "error": error,
            }
        )
    return [*rows, *map(_among_ranks, (row for row in rows if row["scenario"] == "communication"))]


def _among_ranks(row: dict[str, Any]) -> dict[str, Any]:
    """Communication waits for other ranks, too, of which a replay of one knows nothing: half of what it denies is possible."""
    return {**row, "scenario": "communication_of_ranks", "share": (1 + row["share"]) / 2}


def _without(whole: Model, recorded: Recorded, host: HostTime, name: str) -> Model:
    """The model without the time of a category of the ledger."""
    if name in BUSY:
        left = 1 - _COMPUTE_TAKEN if name == "compute" else 0.0
        dur = [
            each * left if category == name else each for each, category in zip(whole.dur, whole.category, strict=True)
        ]
        return replace(whole, dur=dur)
    if name == "idle_launch_latency":
        zeros = [0.0] * len(whole.dur)
        return replace(whole, latency=zeros, residual=zeros, spacing=[min(each, 0.0) for each in whole.spacing])
    if name == "idle_dependency":
        return replace(whole, awaited=[-1] * len(whole.dur))
    gap, call = host.of(NO_CAUSE if name == "idle_unattributed" else name)
    less = replace(whole, gap=_less(whole.gap, gap), call=_less(whole.call, call))
    if name != "idle_sync":
        return less
    asked = [
        0.0 if each.waits and not each.launches else time for each, time in zip(recorded.events, less.call, strict=True)
    ]
    copies = [
        min(time, _BLOCKING_COPY_CALL) if each.waits and each.launches else asked[number]
        for number, (each, time) in enumerate(zip(recorded.events, whole.call, strict=True))
    ]
    return replace(less, call=copies, waits_for_gpu=False)


def _less(times: list[float], taken: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    return [max(time - less, 0.0) for time, less in zip(times, taken.tolist(), strict=True)]


def _with_slower_host(without: Model, factor: float) -> Model:
    """What is left of the host's time takes longer by a factor; what the cause took is gone all the same."""
    return replace(without, gap=[time * factor for time in without.gap], call=[time * factor for time in without.call])
