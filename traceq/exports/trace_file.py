"""Writes a Chrome trace: the slices of the database, and steps, ledgers and findings as tracks of their own.

DuckDB makes the text of the events (exports/sql/), and they pass through one by one: no trace is ever held in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from traceq.analysis.categories import CATEGORIES, PATH_KINDS, on_path
from traceq.common.text import quiet_json
from traceq.common.version import __version__
from traceq.database.query import ask
from traceq.database.sql import run, statement
from traceq.diagnosis.choose import Chosen
from traceq.diagnosis.finding import Finding
from traceq.exports.fit import Weight, cut_to_fit
from traceq.exports.lanes import assign_lanes, fetch_rows
from traceq.exports.pieces import piece_events
from traceq.exports.tracks import Ids, encode, lay_out, new_ids
from traceq.exports.window import EVERYTHING, TimeWindow, find_window

if TYPE_CHECKING:
    import duckdb


# In the order of the file. Perfetto wants an arrow's start before its end.
_SECTIONS = ("step", "path", "ledger", "host", "stream", "annotation", "synchronization", "event", "memory", "counter")
# Of a whole trace only: what they lead to must be in the file, and stand before them.
_ARROWS = ("path_arrow",)

# Longer names and arguments are cut: everywhere beyond what viewers can show, around a finding so that it can be attached.
_MOST_CHARACTERS = 1 << 30
_MOST_CHARACTERS_OF_FINDING = 500

# Bytes of a file around a finding.
MOST_OF_FINDING = 1_000_000

_Findings = Mapping[int, Sequence[Finding]]


class ExportedTrace(msgspec.Struct, frozen=True):
    """A trace to export: its row of exports/sql/traces.sql, the prefix of its process names, and its zero time (ns)."""

    row: Mapping[str, Any]
    prefix: str
    origin: int

    @property
    def trace_id(self) -> int:
        """The trace's number in the database."""
        return int(self.row["trace_id"])

    @property
    def short_name(self) -> str:
        """The trace's name among others of a file: "rank 3"; empty for a single trace."""
        return self.prefix.removesuffix(": ")


def prepare_traces(rows: Sequence[Mapping[str, Any]]) -> list[ExportedTrace]:
    """Return the traces of a file, each with the prefix of its process names and its zero time.

    Traces recorded at one time (the ranks of a job) keep their distances; others all begin at 0. Ranks whose clock
    offsets are known from their collectives are on one clock.
    """
    bases = [_clock_base(row) for row in rows]
    starts = [row["ts"] + (base or 0) for row, base in zip(rows, bases, strict=True)]
    ends = [row["ts_end"] + (base or 0) for row, base in zip(rows, bases, strict=True)]
    is_one_time = None not in bases and max(starts, default=0) < min(ends, default=0)
    origins = [min(starts) - base if is_one_time else row["ts"] for row, base in zip(rows, bases, strict=True)]
    return [
        ExportedTrace(row, prefix, origin)
        for row, prefix, origin in zip(rows, _choose_prefixes(rows), origins, strict=True)
    ]


def _clock_base(row: Mapping[str, Any]) -> int | None:
    """Return the ns that convert the trace's times to the clock of its job; None when its absolute time is unknown."""
    utc: int | None = row["utc_origin_ns"]
    return None if utc is None else utc - (row["clock_offset"] or 0)


def _choose_prefixes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the prefix of each trace's process names: "" for a single trace, the rank if ranks differ, else trace_id."""
    if len(rows) == 1:
        return [""]
    ranks = [row["rank"] for row in rows]
    if None not in ranks and len(set(ranks)) == len(ranks):
        return [f"rank {rank}: " for rank in ranks]
    return [f"trace {row['trace_id']}: " for row in rows]


def make_header(
    connection: duckdb.DuckDBPyConnection, traces: Sequence[ExportedTrace], told: Mapping[str, object]
) -> dict[str, object]:
    """Return the members of the exported JSON beside its events; `told` are additional members of otherData.

    A file of one trace can be read as a profiler's own: GPUs, rank and clock are where Kineto has them.
    """
    members: dict[str, object] = {"schemaVersion": 1, "displayTimeUnit": "ns"}
    if len(traces) == 1:
        members |= _as_kineto(connection, traces[0])
    members["otherData"] = {
        "producer": f"traceq {__version__}",
        "traces": [_collect_facts(trace) for trace in traces],
        **told,
    }
    return members


def _collect_facts(trace: ExportedTrace) -> dict[str, object]:
    """Return the trace's known facts for the header; the zero time is text because readers' numbers may end at 2**53."""
    facts = {
        "trace_id": trace.trace_id,
        "run": trace.row["run"],
        "rank": trace.row["rank"],
        "sha256": trace.row["sha256"],
        "ts_zero_ns": str(trace.origin),
        "clock_offset_ns": trace.row["clock_offset"],
    }
    return {name: value for name, value in facts.items() if value is not None}


def _as_kineto(connection: duckdb.DuckDBPyConnection, trace: ExportedTrace) -> dict[str, object]:
    """Return the members of the header that PyTorch's Kineto writes, as far as known: clock base, rank and GPUs."""
    members: dict[str, object] = {}
    if trace.row["utc_origin_ns"] is not None:
        members["baseTimeNanoseconds"] = trace.row["utc_origin_ns"] + trace.origin
    if trace.row["rank"] is not None:
        members["distributedInfo"] = {"rank": trace.row["rank"], "world_size": trace.row["world_size"]}
    devices = ask(connection, statement("exports/sql/devices.sql"), trace_id=trace.trace_id)
    if devices:
        members["deviceProperties"] = [
            {name: value for name, value in device.items() if value is not None} for device in devices
        ]
    return members


class Written(msgspec.Struct, frozen=True):
    """The number of events written to a file, and a phrase on what was left out to keep it small, None if nothing was.

    In a file of call paths or nodes these are the events; `unit` says which. `remark` is what a reader of the file has to know.
    """

    events: int
    left_out: str | None = None
    unit: str = "events"
    remark: str | None = None


class _Trace(msgspec.Struct):
    """A trace that is being exported: the JSON texts that name its tracks, and the events of its findings' pieces."""

    connection: duckdb.DuckDBPyConnection
    exported: ExportedTrace
    window: TimeWindow
    most: int
    tracks: list[str]
    pieces: list[tuple[str, int, int]]

    def slices(self) -> Iterator[tuple[str, int, int]]:
        """Yield (event as JSON text, level, duration in ns) for slices and findings; traceq.exports.fit explains levels."""
        values = {
            **self.window.as_parameters(self.exported.trace_id),
            "origin": self.exported.origin,
            "flow": self.exported.trace_id * 10**12,
            "most": self.most,
            "kinds": encode(PATH_KINDS),
            "causes": encode({category: on_path(category) for category in CATEGORIES}),
        }
        yield from self.pieces
        for section in (*_SECTIONS, *(_ARROWS if self.window == EVERYTHING else ())):
            query = statement(f"exports/sql/{section}.sql")
            given = {name: value for name, value in values.items() if f"${name}" in query}
            yield from fetch_rows(self.connection.execute(query, given))


def write_trace(
    connection: duckdb.DuckDBPyConnection, trace_ids: Sequence[int], findings: _Findings, file: BinaryIO
) -> Written:
    """Write the traces as a Chrome trace to `file`, with the ranked findings of each; return how many events it has."""
    traces = read_traces(connection, trace_ids)
    numbers = new_ids(connection)
    out = _Out(file)
    out.begin(make_header(connection, traces, {}))
    for exported in traces:
        trace = _begin_trace(connection, exported, EVERYTHING, findings, numbers, _MOST_CHARACTERS)
        out.write(trace.tracks)
        out.write(event for event, _, _ in trace.slices())
    out.end()
    return Written(out.events)


def write_finding(
    connection: duckdb.DuckDBPyConnection, chosen: Chosen, findings: _Findings, file: BinaryIO, most: int
) -> Written:
    """Write a Chrome trace of the time around the worst piece of a finding to `file`, in at most `most` bytes.

    Returns the number of events and what was left out. The file is larger where the events that must stay need more.
    """
    (exported,) = read_traces(connection, [chosen.finding.where.trace_id])
    window = find_window(connection, chosen.finding, exported.row["step_ns"])
    trace = _begin_trace(
        connection, exported, window, findings, new_ids(connection), _MOST_CHARACTERS_OF_FINDING, chosen.place
    )
    told = _describe_finding(chosen, window, exported)
    header = make_header(connection, [exported], told)
    fixed = sum(len(event.encode()) + 2 for event in trace.tracks) + len(_encode_head(header)) + 1_000
    weights = (Weight(len(event.encode()) + 2, level, dur) for event, level, dur in trace.slices())
    cut, left_out = cut_to_fit(weights, most - fixed) or (None, None)
    out = _Out(file)
    out.begin(make_header(connection, [exported], told if left_out is None else {**told, "left_out": left_out}))
    out.write(trace.tracks)
    out.write(event for event, level, dur in trace.slices() if cut is None or cut.keeps(level, dur))
    out.end()
    return Written(out.events, left_out)


def _describe_finding(chosen: Chosen, window: TimeWindow, exported: ExportedTrace) -> dict[str, object]:
    finding = chosen.finding
    return {
        "finding": {
            "number": chosen.place,
            "id": finding.finding_id,
            "rule": finding.rule,
            "title": finding.title[:_MOST_CHARACTERS_OF_FINDING],
            "fix": finding.fix[:_MOST_CHARACTERS_OF_FINDING],
            "saving_ns_per_step": round(finding.saving_ns),
        },
        "window_ns": [window.since - exported.origin, window.until - exported.origin],
        "window": f"slices that touch the window are whole; texts are cut after {_MOST_CHARACTERS_OF_FINDING} characters",
    }


def read_traces(connection: duckdb.DuckDBPyConnection, trace_ids: Sequence[int]) -> list[ExportedTrace]:
    """Return the traces with these ids, each with the prefix of its names and its zero time."""
    rows = ask(connection, statement("exports/sql/traces.sql"))
    return prepare_traces([row for row in rows if row["trace_id"] in trace_ids])


def _begin_trace(
    connection: duckdb.DuckDBPyConnection,
    exported: ExportedTrace,
    window: TimeWindow,
    findings: _Findings,
    numbers: Ids,
    most: int,
    shown: str | None = None,
) -> _Trace:
    """Make the temp tables for the export of a trace and lay out its tracks; return the trace, ready to yield its events."""
    run(connection, "exports/sql/macros.sql")
    assign_lanes(connection, exported.trace_id)
    run(connection, "exports/sql/arrows.sql", **window.as_parameters(exported.trace_id))
    tracks = lay_out(connection, exported.trace_id, exported.prefix, window, numbers, most)
    ranked = findings.get(exported.trace_id, ())
    pieces = list(piece_events(connection, ranked, window, tracks.own, exported.origin, shown))
    return _Trace(connection, exported, window, most, tracks.events, pieces)


def _encode_head(members: Mapping[str, object]) -> bytes:
    """Return the file's beginning up to its first event as ASCII JSON; readers skip it where they expect events only."""
    return json.dumps(members, indent=1, allow_nan=False).encode().removesuffix(b"\n}") + b',\n "traceEvents": ['


class _Out:
    """Writer of the exported file, one event a line; counts the events."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.events = 0

    def begin(self, members: Mapping[str, object]) -> None:
        self._file.write(_encode_head(members))

    def write(self, events: Iterator[str] | Sequence[str]) -> None:
        for event in events:
            text = event if event.isascii() else quiet_json(event)
            self._file.write((",\n" if self.events else "\n").encode() + text.encode())
            self.events += 1

    def end(self) -> None:
        self._file.write(b"\n]\n}\n")
