"""The edges of a dependency graph as columns of the table dependency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from traceq.analysis.replay.recorded import NONE
from traceq.analysis.replay.waits import KINDS, QUEUE, before_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from traceq.analysis.replay.graph import Graph, Lag
    from traceq.analysis.replay.recorded import Booleans, Integers, Recorded

_KINDS = ("thread", "hand_over", "launch", "stream", "copy_engine", "event", "graph", *KINDS)


def edges(recorded: Recorded, graph: Graph) -> Iterator[dict[str, Any]]:
    """kind, source_id, target_id, lag, usual and unexplained (ns), a row an edge; part by part, since all of them are many."""
    for kind, *columns in _parts(recorded, graph):
        found: dict[str, Any] = {"kind": pa.DictionaryArray.from_arrays(pa.array(kind), pa.array(_KINDS))}
        for name, column in zip(("source_id", "target_id", "lag", "usual", "unexplained"), columns, strict=True):
            is_whole = np.issubdtype(column.dtype, np.integer)
            found[name] = column if is_whole else np.nan_to_num(column, neginf=0.0).round().astype(np.int64)
        yield found


def _parts(recorded: Recorded, graph: Graph) -> Iterator[list[Any]]:
    work = recorded.work
    yield _between_calls(recorded)
    here = np.flatnonzero(work.is_launched)
    given = recorded.events.ts[work.event[here]]
    lead = graph.lead[work.event[here]]
    yield _part(
        "launch",
        recorded.events.slice_id[work.event[here]],
        work.slice_id[here],
        work.ts[here] - given,
        lead + graph.launch.usual[here],
        graph.launch.unexplained[here],
    )
    for kind, others, lag, mask in (
        ("stream", graph.before, graph.stream, None),
        ("copy_engine", graph.engine, None, None),
        ("event", graph.awaited, graph.awaiting, ~graph.is_graph),
        ("graph", graph.awaited, graph.awaiting, graph.is_graph),
    ):
        yield _between_slices(recorded, kind, others, lag, mask)
    yield _returns(recorded, graph)


def _part(kind: str, *columns: Any) -> list[Any]:
    return [np.full(len(columns[0]), _KINDS.index(kind), np.int8), *columns]


def _between_calls(recorded: Recorded) -> list[Any]:
    events = recorded.events
    calls = np.flatnonzero((events.mark == NONE) & ~events.is_outside)
    place = before_in(events.lane[calls])
    calls, other = calls[place >= 0], calls[place[place >= 0]]
    # Whole numbers first: times since 1970 are too large for a float.
    usual = (events.begun[calls] - events.begun[other]) - events.call[other]
    # Of threads that take turns one may begin before the other has ended, now and then: the replay waits for the end.
    lag = events.ts[calls] - events.ts_end[other]
    turns = (events.thread[calls] != events.thread[other]).astype(np.int8)
    return [turns, events.slice_id[other], events.slice_id[calls], lag, usual, np.zeros(len(calls))]


def _between_slices(
    recorded: Recorded, kind: str, others: Integers, lag: Lag | None, mask: Booleans | None
) -> list[Any]:
    work = recorded.work
    here = np.flatnonzero((others >= 0) if mask is None else (others >= 0) & mask)
    other = others[here]
    usual = np.zeros(len(here)) if lag is None else lag.usual[here]
    unexplained = np.zeros(len(here)) if lag is None else lag.unexplained[here]
    return _part(
        kind, work.slice_id[other], work.slice_id[here], work.ts[here] - work.ts_end[other], usual, unexplained
    )


def _returns(recorded: Recorded, graph: Graph) -> list[Any]:
    """Return edges from GPU work to the return of calls."""
    events, work, waits = recorded.events, recorded.work, graph.waits
    kind = waits.kind[waits.event]
    until = np.where(kind == QUEUE, work.ts[waits.slice], work.ts_end[waits.slice])
    first = _KINDS.index(KINDS[0])
    return [
        (first + kind).astype(np.int8),
        work.slice_id[waits.slice],
        events.slice_id[waits.event],
        events.ts_end[waits.event] - until,
        graph.tail.usual,
        graph.tail.unexplained,
    ]
