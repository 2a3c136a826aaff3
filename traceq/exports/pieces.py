"""Findings as tracks: a slice for each piece of time that a finding claims, with its fix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from traceq.common.units import duration
from traceq.database.query import ask
from traceq.diagnosis.choose import placed
from traceq.diagnosis.finding import Finding
from traceq.exports.event import complete
from traceq.exports.fit import GPU
from traceq.exports.lanes import lanes
from traceq.exports.tracks import Process
from traceq.exports.window import Window

if TYPE_CHECKING:
    import duckdb

# Of a finding with more pieces the worst are shown.
_MOST_PIECES = 50


def piece_events(
    connection: duckdb.DuckDBPyConnection,
    findings: Sequence[Finding],
    window: Window,
    process: Process,
    origin: int,
    shown: str | None = None,
) -> Iterator[tuple[str, int, int]]:
    """The pieces of `findings` in the window, as events on new threads of `process`, ranked; times less `origin` ns.

    Each comes with its level (see traceq.exports.fit) and duration; the file is about the finding at the place `shown` (F1).
    """
    for place, finding in placed(findings):
        pieces = _pieces(connection, finding, window)
        in_lanes = list(lanes((piece, piece["ts"], piece["ts"] + piece["dur"]) for piece in pieces))
        title = f"{place} {finding.title}: {_saves(finding)} per step"
        tids = [
            process.add(title if lane == 0 else f"{place} ({lane + 1})")
            for lane in range(max((lane for _, lane in in_lanes), default=-1) + 1)
        ]
        for piece, lane in in_lanes:
            name = str(piece["name"] or finding.title)[: process.most]
            args = _args(place, finding, piece, process.most)
            event = complete(name, process.pid, tids[lane], piece["ts"] - origin, piece["dur"], args)
            yield event, 0 if place == shown else GPU, piece["dur"]


def _saves(finding: Finding) -> str:
    return f"at most {duration(finding.saving_high_ns)}" if finding.only_bounds else duration(finding.saving_ns)


def _pieces(connection: duckdb.DuckDBPyConnection, finding: Finding, window: Window) -> list[dict[str, Any]]:
    """The worst pieces in the window, by time: more of them than the evidence of the finding lists."""
    more = re.sub(r"limit \d+\s*$", f"limit {_MOST_PIECES}", finding.instances.query)
    rows = [{**row, "ts": int(row["ts"]), "dur": max(0, int(row["dur"] or 0))} for row in ask(connection, more)]
    touching = [row for row in rows if row["ts"] <= window.until and row["ts"] + row["dur"] >= window.since]
    return sorted(touching, key=lambda row: (row["ts"], -row["dur"]))


def _args(place: str, finding: Finding, piece: dict[str, Any], most: int) -> dict[str, object]:
    columns = {name: value for name, value in piece.items() if name not in ("ts", "dur", "name")}
    return {
        "finding": place,
        "rule": finding.rule,
        "id": finding.finding_id,
        "title": finding.title[:most],
        "saving": f"{_saves(finding)} per step, {finding.confidence} confidence",
        "fix": finding.fix[:most],
        **{name: _plain(value, most) for name, value in columns.items() if value is not None},
    }


def _plain(value: object, most: int) -> object:
    """What JSON can hold: numbers and truth values as they are, the rest as text."""
    if isinstance(value, bool | int) or (isinstance(value, float) and abs(value) < float("inf")):
        return value
    return str(value)[:most]
