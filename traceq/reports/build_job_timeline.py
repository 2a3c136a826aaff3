"""Builds the timeline of a job: what the GPU of each rank does, all ranks on one clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.categories import CATEGORIES
from traceq.common.units import count
from traceq.reports.build_timelines import join_within, number_names
from traceq.reports.model import Job
from traceq.reports.pieces import pieces_of
from traceq.reports.queries import read_columns
from traceq.reports.timeline import Called, DrawnSlices, Lane, Timeline

if TYPE_CHECKING:
    import duckdb

# Ranks and slices of a drawing.
_FEWEST_RANKS, _MOST_RANKS, _MOST_SLICES = 2, 64, 800


def build_job_timeline(connection: duckdb.DuckDBPyConnection, job: Job) -> Timeline | None:
    """Build the timeline of the job's first 64 ranks; None for a single rank, and without a clock that they have in common."""
    ranks = sorted(member.rank for member in job.members if member.device is not None)
    place = {"job": job.job, "time_window": job.time_window}
    read = read_columns(connection, "job_timeline", **place, categories=",".join(CATEGORIES), most=_MOST_RANKS)
    if len(ranks) < _FEWEST_RANKS or not len(read["ts"]):
        return None
    no = np.zeros(len(read["ts"]), bool)
    drawn = pieces_of(
        read["lane"], np.zeros_like(read["lane"]), read["number"], read["ts"], read["ts_end"], is_fine=no, is_culprit=no
    )
    dur = int(read["ts_end"].max())
    pieces, stretch = join_within([drawn], _MOST_SLICES, dur)
    pieces = pieces.select(np.lexsort((pieces.ts, pieces.track)))
    numbers, called = np.unique(pieces.number, return_inverse=True)
    kinds = [CATEGORIES[number - 1] if number else "other" for number in numbers.tolist()]
    columns = {
        "lane": pieces.track,
        "depth": pieces.depth,
        "ts": pieces.ts,
        "dur": pieces.ts_end - pieces.ts,
        "busy": pieces.busy,
        "called": called,
        "count": pieces.slices,
        "launch": np.full(len(called), -1),
    }
    shown = ranks[:_MOST_RANKS]
    which = "All ranks" if len(shown) == len(ranks) else f"The first {count(len(shown))} of {count(len(ranks))} ranks"
    return Timeline(
        kind="job",
        title=f"{which} on one clock: what each GPU does",
        ts=int(read["first_ts"][0]),
        dur=dur,
        lanes=tuple(Lane(f"rank {rank}", "ledger", 1) for rank in shown),
        called=tuple(Called(kind, kind) for kind in kinds),
        slices=DrawnSlices(**{name: number_names(column) for name, column in columns.items()}),
        resolution=stretch.coarse,
        fine=stretch.fine,
    )
