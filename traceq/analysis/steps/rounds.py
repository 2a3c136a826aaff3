"""Steps out of launches that recur: when the rounds of a Recurrence start and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.steps.level import StepMark
from traceq.database.sql import run

if TYPE_CHECKING:
    import duckdb

    from traceq.analysis.steps.recurrence import Launches, Recurrence

_FIRST_CUT = "incomplete: cut by the start of the capture"
_FIRST_OTHER = "warm-up: other launches than in the steps that follow"
_BETWEEN = "no step: other launches between the steps"
_LAST_CUT = "incomplete: cut by the end of the capture"
_LAST_OTHER = "incomplete: other launches than in the steps before"

# Of a round: what is missing from the first one is worth leaving it out, where so many others are left.
_MISSED, _SEVERAL = 0.01, 3

# Slices inside each other around a launch are few in most traces. After so many the others are looked for all at once.
_MANY_LEVELS = 64

_TRACE_START = """
    select min(ts)
    from (
        select ts from cpu_slice where kind <> 'other' or dur > 0
        union all
        select ts from staging.gpu_slice
    )
"""


def build_round_marks(
    connection: duckdb.DuckDBPyConnection, what: str, launches: Launches, found: Recurrence
) -> list[StepMark]:
    """Return the rounds of launches as steps; launches before the first and after the last round become excluded steps.

    A round starts on the host when the one before is over: after its last launch, the operator around it and the wait
    that follows. Where the host runs rounds ahead, a round starts when the GPU starts it. `what` is the word for the
    launches in the name of the steps.
    """
    name = f"sequence of {found.length} {what}"
    first, last = found.parts[0].first, found.parts[-1].last
    begin = 0 if first and found.is_like_before else min(found.first, first)
    end = max(found.last, last)
    places = sorted({begin, *(part.first for part in found.parts), last, end})
    other = {part.first for part in found.parts if not part.is_round}
    starts = _gpu_starts(launches, places) if found.is_ahead else _host_starts(connection, launches, places)
    if not found.is_ahead and end == len(launches.number):
        # the last one ends where its work does: what follows may be the profiler's stop
        starts[-1] = min(starts[-1], max(int(launches.ts_end[-1]), starts[-2] + 1))
    is_clipped = not found.is_ahead and places[0] == 0 and _is_clipped(launches, places, starts)
    marks = []
    for place, ts, until in zip(places, starts, starts[1:], strict=False):
        excluded = None
        if place < first:
            is_cut = place == 0 and first - place < found.length
            excluded = _FIRST_CUT if is_cut else _FIRST_OTHER
        elif place >= last:
            excluded = _LAST_CUT if end == len(launches.number) else _LAST_OTHER
        elif place in other:
            excluded = _BETWEEN
        elif place == 0 and is_clipped:
            excluded = _FIRST_CUT
        marks.append(StepMark(name, _thread_at(launches, place), ts, until, excluded))
    return marks


def _thread_at(launches: Launches, place: int) -> int | None:
    """Return the thread id of the launch with the index `place`; None where it is unknown."""
    thread = int(launches.thread_id[place])
    return None if thread < 0 else thread


def _is_clipped(launches: Launches, places: list[int], starts: list[int]) -> bool:
    """Return whether the first round lacks the host work that other rounds do before their first launch.

    Then the capture starts inside the round. `places` and `starts` (ns) are the rounds' first launches and their starts.
    """
    leads = launches.ts[np.array(places[:-1])] - np.array(starts[:-1])
    lengths = np.diff(starts[1:])
    return len(lengths) >= _SEVERAL and bool(np.median(leads[1:]) - leads[0] > _MISSED * np.median(lengths))


def _gpu_starts(launches: Launches, places: list[int]) -> list[int]:
    """Return the start on the GPU of the launch at each place but the last, ns.

    For the last place it is the end of all launches before it.
    """
    first = np.array(places[:-1])
    return [*launches.gpu_ts[first].tolist(), int(launches.gpu_ts_end[places[0] : places[-1]].max())]


def _host_starts(connection: duckdb.DuckDBPyConnection, launches: Launches, places: list[int]) -> list[int]:
    """Return when the host is done with its work before each of the places, ns.

    Nothing shows that for the very first launch: there the median time between the end of such work and the launch counts.
    """
    before = np.array([place - 1 for place in places if place])
    after = np.append(launches.ts, np.iinfo(np.int64).max)[before + 1]
    run(
        connection,
        "analysis/steps/boundary.sql",
        threads=[_thread_at(launches, place) for place in before.tolist()],
        launched=launches.ts[before].tolist(),
        settled=launches.settled[before].tolist(),
        until=after.tolist(),
    )
    level = 0
    file = "boundary_around"
    while run(connection, f"analysis/steps/{file}.sql", level=level).fetchall() != [(0,)]:
        level += 1
        # reads all slices of the trace, unlike a level of the few around launches
        file = "boundary_around" if level % _MANY_LEVELS else "boundary_chain"
    starts = [ts for _, ts in run(connection, "analysis/steps/boundary_start.sql").fetchall()]
    leads = sorted(int(launches.ts[place]) - ts for place, ts in zip(places[-len(starts) : -1], starts, strict=False))
    lead = max(leads[(len(leads) - 1) // 2], 0) if leads else 0
    ((trace_start,),) = connection.execute(_TRACE_START).fetchall()
    earliest = max(int(launches.ts[places[0]]) - lead, trace_start)
    return [earliest, *starts] if places[0] == 0 else [max(starts[0], earliest), *starts[1:]]
