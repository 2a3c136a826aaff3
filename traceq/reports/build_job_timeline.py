"""Builds the timeline of a job: what the GPU of each rank does, all ranks on one clock."""

from __future__ import annotations

from collections.abc import Sequence
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

# Ranks and slices of a drawing; of more ranks these are drawn that matter, of them so many late ones.
_FEWEST_RANKS, _MOST_RANKS, _MOST_SLICES = 2, 64, 800
_MOST_LATE = 12


def build_job_timeline(connection: duckdb.DuckDBPyConnection, job: Job) -> Timeline | None:
    """Build the timeline of the job's ranks, of more than 64 of those that matter.

    None for a single rank, and without a clock that they have in common.
    """
    ranks = sorted(member.rank for member in job.members if member.device is not None)
    shown = ranks if len(ranks) <= _MOST_RANKS else _choose_ranks(job, ranks)
    place = {"job": job.job, "time_window": job.time_window}
    listed = {"shown": ",".join(map(str, shown)), "categories": ",".join(CATEGORIES)}
    read = read_columns(connection, "job_timeline", **place, **listed)
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
    of_all = f"{count(len(shown))} of {count(len(ranks))} ranks, those that are late, typical or first,"
    which = "All ranks" if len(shown) == len(ranks) else of_all
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


def _choose_ranks(job: Job, ranks: Sequence[int]) -> list[int]:
    """Return those of `ranks` that matter, in order: the latest ones, a typical one of each stage, the first and the last."""
    late = [rank for straggler in job.stragglers for rank in straggler.ranks][:_MOST_LATE]
    by_own = sorted(job.members, key=lambda member: (member.own_ns or 0, member.rank))
    by_stage: dict[int | None, list[int]] = {}
    for member in by_own:
        by_stage.setdefault(member.stage, []).append(member.rank)
    typical = [members[len(members) // 2] for members in by_stage.values()][:_MOST_LATE]
    usual = [member.rank for member in job.members if member.is_usual]
    return sorted({*late, *typical, *usual, ranks[0], ranks[-1]} & {*ranks})
