"""Findings as tracks: a slice for each piece of time that a finding claims, with what would win it back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from traceq.common.units import duration
from traceq.database.query import ask
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
    shown: int | None = None,
) -> Iterator[tuple[str, int, int]]:
    """The pieces of `findings` in the window, as events on new threads of `process`, ranked; times less `origin` ns.

    Each comes with its level (see traceq.exports.fit) and duration; the file is about the finding with the number `shown`.
    """
    for number, finding in enumerate(findings, 1):
        pieces = [piece for piece in _pieces(connection, finding) if _touches(piece, window)]
        pieces.sort(key=lambda piece: (_ts(piece), -_dur(piece)))
        placed = list(lanes((piece, _ts(piece), _ts(piece) + _dur(piece)) for piece in pieces))
        title = f"F{number} {finding.title}: {duration(finding.saving_ns)} per step"
        tids = [
            process.add(title if lane == 0 else f"F{number} ({lane + 1})")
            for lane in range(max((lane for _, lane in placed), default=-1) + 1)
        ]
        for piece, lane in placed:
            name = str(piece["name"] or finding.title)[: process.most]
            args = _args(number, finding, piece, process.most)
            event = complete(name, process.pid, tids[lane], _ts(piece) - origin, _dur(piece), args)
            yield event, 0 if number == shown else GPU, _dur(piece)


def _pieces(connection: duckdb.DuckDBPyConnection, finding: Finding) -> list[dict[str, Any]]:
    """The worst pieces: more of them than the evidence of the finding lists."""
    more = re.sub(r"limit \d+\s*$", f"limit {_MOST_PIECES}", finding.instances.query)
    return ask(connection, more)


def _args(number: int, finding: Finding, piece: dict[str, Any], most: int) -> dict[str, object]:
    columns = {name: value for name, value in piece.items() if name not in ("ts", "dur", "name")}
    return {
        "finding": f"F{number}",
        "rule": finding.rule,
        "id": finding.finding_id,
        "title": finding.title[:most],
        "saving": f"{duration(finding.saving_ns)} per step, {finding.confidence} confidence",
        "fix": finding.fix[:most],
        **{name: _plain(value, most) for name, value in columns.items() if value is not None},
    }


def _plain(value: object, most: int) -> object:
    """What JSON can hold: numbers and truth values as they are, the rest as text."""
    if isinstance(value, bool | int) or (isinstance(value, float) and abs(value) < float("inf")):
        return value
    return str(value)[:most]


def _touches(piece: dict[str, Any], window: Window) -> bool:
    return _ts(piece) <= window.until and _ts(piece) + _dur(piece) >= window.since


def _ts(piece: dict[str, Any]) -> int:
    return int(piece["ts"])


def _dur(piece: dict[str, Any]) -> int:
    return max(0, int(piece["dur"] or 0))
