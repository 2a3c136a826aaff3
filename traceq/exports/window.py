"""The time around the worst piece of a finding: as much as shows where it comes from and what it leads to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.finding import Finding, Value

if TYPE_CHECKING:
    import duckdb


_EVER = 1 << 62

# To each side: a tenth of a step, but not many times what is to be seen, and never so little that nothing is beside it.
_OF_STEP = 0.1
_OF_PIECE = 10
_LEAST_NS = 20_000


class TimeWindow(msgspec.Struct, frozen=True):
    """A window of time: slices that touch [since, until] (ns, the trace's own clock), and slices with ids in `kept`."""

    since: int
    until: int
    kept: tuple[int, ...] = ()

    def as_parameters(self, trace_id: int) -> dict[str, Any]:
        """Return the window's bounds, its kept ids and the trace's id as parameters of a query, by name."""
        return {"trace_id": trace_id, "since": self.since, "until": self.until, "kept": list(self.kept)}


EVERYTHING = TimeWindow(-_EVER, _EVER)


def worst_piece(finding: Finding) -> Mapping[str, Value]:
    """Return the finding's piece with the most claimed time, as a mapping of column name to value."""
    return dict(zip(finding.instances.columns, finding.instances.rows[0], strict=True))


def find_window(connection: duckdb.DuckDBPyConnection, finding: Finding, step_ns: float) -> TimeWindow:
    """Return the window around the worst piece of `finding`, with the call that launched it and a margin on both sides.

    `step_ns` is the trace's mean step length.
    """
    piece = worst_piece(finding)
    ts, dur = _to_int(piece["ts"]), _to_int(piece["dur"])
    slice_id = piece.get("slice_id")
    margin = max(_LEAST_NS, min(int(_OF_STEP * step_ns), _OF_PIECE * dur))
    row = ask(
        connection,
        statement("exports/sql/around.sql"),
        trace_id=finding.where.trace_id,
        device=-2 if finding.where.device is None else finding.where.device,
        ts=ts,
        slice_id=-1 if slice_id is None else _to_int(slice_id),
    )[0]
    first, last = ts, max(ts + dur, row["gap_end"] or 0)
    # A launch may be many steps ahead of its kernel: then only the call is shown, without what was in between.
    if row["first_call"] is not None and row["first_call"] >= ts - step_ns:
        first = min(first, row["first_call"])
    return TimeWindow(first - margin, last + margin, tuple(row["kept"] or ()))


def _to_int(value: Value) -> int:
    return 0 if value is None else int(value)
