"""The stretches of a trace that a report draws: a typical and the longest step, and the worst piece of each finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from traceq.common.text import shortened
from traceq.common.units import duration
from traceq.diagnosis.finding import Finding
from traceq.reports.queries import rows
from traceq.reports.timeline import Lane, Mark, Span, Timeline

if TYPE_CHECKING:
    import duckdb

Side = Literal["host", "gpu", "ledger"]


# How much is drawn: `spans` at most, from `pixels` columns down.
_STEP = {"spans": 2_400, "pixels": 1_000, "threads": 4, "levels": 8, "streams": 6}
_CLOSE_UP = {"spans": 240, "pixels": 400, "threads": 2, "levels": 5, "streams": 4}
_COARSER = 1.5

# What is drawn around the worst piece of a finding, as a share of the piece, and at least, ns.
_MARGIN, _LEAST_MARGIN = 0.4, 20_000

_NAME_LIMIT = 24

_STEPS = {"typical": "the typical one", "longest": "the longest"}

_SIDES: dict[Side, int] = {"ledger": 0, "gpu": 1, "host": 2}


def step_timelines(connection: duckdb.DuckDBPyConnection, trace_id: int, device: int | None) -> Iterator[Timeline]:
    """The typical step and, if it is another one, the longest."""
    steps = rows(connection, "timeline_step", trace_id=trace_id)
    for row in steps:
        name = "The window" if row["is_window"] else f"Step {row['step']}"
        title = name if len(steps) == 1 else f"{name}, {_STEPS[row['what']]}"
        window = (row["ts"], row["ts_end"])
        yield _timeline(connection, trace_id, device, window, f"step-{row['what']}", title, size=_STEP)


def close_ups(
    connection: duckdb.DuckDBPyConnection, trace_id: int, captured: tuple[int, int], findings: Iterable[Finding]
) -> Iterator[tuple[str, Timeline]]:
    """Per finding its id and the surroundings of its worst piece; none where the piece has no place in time.

    `captured` is when the trace begins and ends, ns: what lies outside is not drawn.
    """
    for number, finding in enumerate(findings, 1):
        pieces = finding.instances
        worst = dict(zip(pieces.columns, pieces.rows[0], strict=True)) if pieces.rows else {}
        ts, dur, slice_id = worst.get("ts"), worst.get("dur"), worst.get("slice_id")
        if not isinstance(ts, int) or not isinstance(dur, int):
            continue
        margin = max(round(dur * _MARGIN), _LEAST_MARGIN)
        window = (max(ts - margin, min(ts, captured[0])), min(ts + dur + margin, max(ts + dur, captured[1])))
        timeline = _timeline(
            connection,
            trace_id,
            finding.where.device,
            window,
            f"finding-{number}",
            f"The piece that costs most: {duration(dur)} in step {worst.get('step')}",
            size=_CLOSE_UP,
            culprit=slice_id if isinstance(slice_id, int) else None,
            marks=(Mark(ts - window[0], dur, f"F{number}, {duration(dur)}"),),
        )
        yield finding.finding_id, timeline


def _timeline(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    device: int | None,
    window: tuple[int, int],
    name: str,
    title: str,
    *,
    size: Mapping[str, int],
    culprit: int | None = None,
    marks: tuple[Mark, ...] = (),
) -> Timeline:
    ts, ts_end = window
    pixel = max(1, (ts_end - ts) // size["pixels"])
    while True:
        found = rows(
            connection,
            "timeline",
            trace_id=trace_id,
            device=-2 if device is None else device,
            ts=ts,
            ts_end=ts_end,
            pixel=pixel,
            culprit=-1 if culprit is None else culprit,
            **size,
        )
        if len(found) <= size["spans"] or pixel >= ts_end - ts:
            return Timeline(name, title, ts, ts_end - ts, _lanes(found), pixel, marks)
        pixel = max(pixel + 1, round(pixel * _COARSER))


def _lanes(found: Sequence[dict[str, Any]]) -> tuple[Lane, ...]:
    ordered = sorted(found, key=lambda row: (_SIDES[row["side"]], row["place"]))
    return tuple(
        Lane(_label(side, lane, thread), side, tuple(map(_span, spans)))
        for (side, lane, thread), spans in groupby(
            ordered, key=lambda row: (row["side"], row["lane"], row["thread_name"])
        )
    )


def _label(side: Side, lane: int, thread: str | None) -> str:
    if side == "ledger":
        return "ledger"
    if side == "gpu":
        return "stream not said" if lane < 0 else f"stream {lane}"
    return f"thread {lane} {shortened(thread or '', _NAME_LIMIT)}".rstrip()


def _span(row: dict[str, Any]) -> Span:
    named = ("ts", "dur", "name", "kind", "depth", "slices", "is_culprit")
    return Span(**{name: row[name] for name in named})
