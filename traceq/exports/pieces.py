"""Findings as tracks: a slice for each piece of time that a finding claims, with its fix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from traceq.common.units import duration
from traceq.database.query import ask
from traceq.diagnosis.choose import number_findings
from traceq.diagnosis.finding import Finding
from traceq.exports.fit import GPU
from traceq.exports.lanes import nest_slices
from traceq.exports.tracks import TrackProcess, encode_slice
from traceq.exports.window import TimeWindow

if TYPE_CHECKING:
    import duckdb


# Of a finding with more pieces the worst are shown.
_MOST_PIECES = 50


def piece_events(
    connection: duckdb.DuckDBPyConnection,
    findings: Sequence[Finding],
    window: TimeWindow,
    process: TrackProcess,
    origin: int,
    shown: str | None = None,
) -> Iterator[tuple[str, int, int]]:
    """Yield (event as JSON text, level, duration in ns) for each piece of time that the findings claim in the window.

    Each finding gets threads of its own in `process`, by rank; `origin` (ns) is subtracted from times. The finding at
    the place `shown` (F1) has level 0, which is never left out (see traceq.exports.fit).
    """
    for place, finding in number_findings(findings):
        pieces = _find_pieces(connection, finding, window)
        in_lanes = list(nest_slices((piece, piece["ts"], piece["ts"] + piece["dur"]) for piece in pieces))
        title = f"{place} {finding.title}: {_describe_saving(finding)} per step"
        tids = [
            process.add(title if lane == 0 else f"{place} ({lane + 1})")
            for lane in range(max((lane for _, lane in in_lanes), default=-1) + 1)
        ]
        for piece, lane in in_lanes:
            name = str(piece["name"] or finding.title)[: process.most]
            args = _make_args(place, finding, piece, process.most)
            event = encode_slice(name, process.pid, tids[lane], piece["ts"] - origin, piece["dur"], args)
            yield event, 0 if place == shown else GPU, piece["dur"]


def _describe_saving(finding: Finding) -> str:
    """Return the finding's saving per step as text with its unit; "at most X" where only bounds are known."""
    return f"at most {duration(finding.saving_high_ns)}" if finding.only_bounds else duration(finding.saving_ns)


def _find_pieces(connection: duckdb.DuckDBPyConnection, finding: Finding, window: TimeWindow) -> list[dict[str, Any]]:
    """Return the finding's 50 worst pieces, of these the ones that touch the window, by start."""
    more = re.sub(r"limit \d+\s*$", f"limit {_MOST_PIECES}", finding.instances.query)
    rows = [{**row, "ts": int(row["ts"]), "dur": max(0, int(row["dur"] or 0))} for row in ask(connection, more)]
    touching = [row for row in rows if row["ts"] <= window.until and row["ts"] + row["dur"] >= window.since]
    return sorted(touching, key=lambda row: (row["ts"], -row["dur"]))


def _make_args(place: str, finding: Finding, piece: dict[str, Any], most: int) -> dict[str, object]:
    """Return the arguments of a piece's event: the finding's facts, and the other columns of the piece; texts are cut."""
    columns = {name: value for name, value in piece.items() if name not in ("ts", "dur", "name")}
    return {
        "finding": place,
        "rule": finding.rule,
        "id": finding.finding_id,
        "title": finding.title[:most],
        "saving": f"{_describe_saving(finding)} per step, {finding.confidence} confidence",
        "fix": finding.fix[:most],
        **{name: _make_plain(value, most) for name, value in columns.items() if value is not None},
    }


def _make_plain(value: object, most: int) -> object:
    """Return the value as it is if it is a truth value or a finite number, else as text of at most `most` characters."""
    if isinstance(value, bool | int) or (isinstance(value, float) and abs(value) < float("inf")):
        return value
    return str(value)[:most]
