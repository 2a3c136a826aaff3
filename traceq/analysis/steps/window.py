"""The part of a trace that is judged: where the program does its recurring GPU work, or what the user says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from traceq.analysis.steps.level import StepMark
from traceq.common.units import duration
from traceq.database.sql import run
from traceq.errors import WrongUse

if TYPE_CHECKING:
    import duckdb

    from traceq.analysis.steps.choice import Window

_NAMED = """
    select
        min(ts) filter (kind = 'annotation' and name = $first) as first,
        max(ts_end) filter (kind = 'annotation' and name = $last) as last,
        max(ts_end) as host_end
    from cpu_slice
"""


# What vLLM and SGLang put around the capture of a CUDA graph while they start.
_CAPTURE = "select exists (from cpu_slice where kind = 'annotation' and regexp_matches(name, '^capture_\\d+_[A-Z]+$'))"


class Extent(NamedTuple):
    """The time from `ts` to `ts_end`, ns on the trace's clock."""

    ts: int
    ts_end: int


def gpu_phase(connection: duckdb.DuckDBPyConnection) -> Extent | None:
    """Return the stretch of recurring GPU work (without a GPU, of host work); None for a trace without slices."""
    rows = run(connection, "analysis/steps/gpu_phase.sql").fetchall()
    return Extent(*rows[0]) if rows else None


def is_graph_capture(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether a server (vLLM, SGLang) captures CUDA graphs in this trace while it starts."""
    ((is_capture,),) = connection.execute(_CAPTURE).fetchall()
    return bool(is_capture)


def window_extent(connection: duckdb.DuckDBPyConnection, window: Window) -> Extent | None:
    """Return the window as times of the trace; None if no annotation has its name, or it ends before it starts.

    None for a trace without slices, too. Raises WrongUse where it begins after all that the trace holds.
    """
    phase = gpu_phase(connection)
    if phase is None:
        return None
    names = {"first": str(window.first), "last": str(window.last)}
    ((first, last, host_end),) = connection.execute(_NAMED, names).fetchall()
    ts = phase.ts if window.first is None else phase.ts + window.first if isinstance(window.first, int) else first
    end = phase.ts_end if window.last is None else phase.ts + window.last if isinstance(window.last, int) else last
    capture_end = max(phase.ts_end, host_end or phase.ts_end)
    if isinstance(window.first, int) and ts >= capture_end:
        begins, ends = duration(window.first), duration(capture_end - phase.ts)
        raise WrongUse(f"--window: it begins {begins} after the first GPU work; the trace ends {ends} after it.")
    return Extent(ts, end) if ts is not None and end is not None and ts < end else None


def exclude_outside(marks: list[StepMark], extent: Extent) -> list[StepMark]:
    """Return `marks` with those outside of `extent` excluded; the extent as the only mark if no counted one is left."""
    ends = [*(later.ts for later in marks[1:]), *(later.own_end for later in marks[-1:])]
    judged = [
        mark
        if extent.ts <= mark.ts and end <= extent.ts_end
        else mark._replace(excluded=mark.excluded or "outside of --window")
        for mark, end in zip(marks, ends, strict=True)
    ]
    return judged if any(mark.excluded is None for mark in judged) else mark_of_extent(extent)


def mark_of_extent(extent: Extent | None) -> list[StepMark]:
    """Return the extent as a list of one mark named "window"; no mark for None or an empty extent."""
    return [] if extent is None or extent.ts == extent.ts_end else [StepMark("window", None, extent.ts, extent.ts_end)]
