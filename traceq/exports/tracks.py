"""Tracks: every thread, stream and derived timeline of a trace gets a process, a thread and a name in the exported file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.exports.window import TimeWindow

if TYPE_CHECKING:
    import duckdb


# Perfetto reads ids as 32-bit numbers and takes 0 for none.
_MOST = (1 << 32) - 1

# The tracks that traceq adds, in a process of their own.
_OWN = {"step": "steps", "path": "critical path", "ledger": "GPU {a} ledger"}


def _to_microseconds(nanoseconds: int) -> str:
    """Write nanoseconds as microseconds with exactly three decimals."""
    whole, rest = divmod(abs(nanoseconds), 1000)
    return f"{'-' if nanoseconds < 0 else ''}{whole}.{rest:03}"


def encode(value: object) -> str:
    """Encode a value as JSON on one line, text as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _encode_metadata(kind: str, pid: int, tid: int, **args: object) -> str:
    """Encode the name of a process or thread, or where it is shown."""
    return encode({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args})


def encode_slice(name: str, pid: int, tid: int, ts: int, dur: int, args: object) -> str:
    """Encode a slice; ts and dur in ns."""
    return (
        f'{{"ph":"X","cat":"traceq","name":{encode(name)},"pid":{pid},"tid":{tid}'
        f',"ts":{_to_microseconds(ts)},"dur":{_to_microseconds(dur)},"args":{encode(args)}}}'
    )


@dataclass
class Numbers:
    """Hands out ids of processes (or threads), each once in the file; `real` are those of the traced machines."""

    real: frozenset[int]
    _given: set[int] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def give(self, wanted: int | None = None) -> int:
        """Give `wanted` if it is free, else the next free number."""
        number = wanted
        if number is None or not 0 < number <= _MOST or number in self._given:
            number = next(number for number in self._numbers if number not in self._given and number not in self.real)
        self._given.add(number)
        return number


@dataclass
class Ids:
    """The ids of a whole file."""

    processes: Numbers
    threads: Numbers
    places: Iterator[int] = field(default_factory=count)
    """The places of processes, in the order in which they are shown."""


def new_ids(connection: duckdb.DuckDBPyConnection) -> Ids:
    """Make ids for a file with traces of this database."""
    real = frozenset(row["number"] for row in ask(connection, statement("exports/sql/numbers.sql")))
    return Ids(Numbers(real), Numbers(real))


@dataclass
class TrackProcess:
    """A process of the exported file; `add` names its threads, in the order in which they are shown."""

    pid: int
    ids: Ids
    most: int
    events: list[str]
    _places: Iterator[int] = field(default_factory=count)

    def add(self, name: str | None, wanted: int | None = None) -> int:
        """Return the id of a new thread."""
        tid = self.ids.threads.give(wanted)
        if name is not None:
            self.events.append(_encode_metadata("thread_name", self.pid, tid, name=name[: self.most]))
        self.events.append(_encode_metadata("thread_sort_index", self.pid, tid, sort_index=next(self._places)))
        return tid


def new_process(ids_: Ids, name: str, most: int, events: list[str], wanted: int | None = None) -> TrackProcess:
    """Make a process after the others; names are cut after `most` characters."""
    pid = ids_.processes.give(wanted)
    events.append(_encode_metadata("process_name", pid, pid, name=name[:most]))
    events.append(_encode_metadata("process_sort_index", pid, pid, sort_index=next(ids_.places)))
    return TrackProcess(pid, ids_, most, events)


@dataclass(frozen=True)
class ExportTracks:
    """The metadata events of a trace, and its process for what traceq adds."""

    events: list[str]
    own: TrackProcess


def lay_out(
    connection: duckdb.DuckDBPyConnection, trace_id: int, prefix: str, window: TimeWindow, ids_: Ids, most: int
) -> ExportTracks:
    """Give every track with anything in the window its ids, in _track too. `prefix` separates traces of one file."""
    rows = ask(connection, statement("exports/sql/tracks.sql"), **window.as_parameters(trace_id))
    events: list[str] = []
    own = new_process(ids_, f"{prefix}traceq", most, events)
    processes: dict[Any, TrackProcess] = {}
    placed = []
    for row in rows:
        process = own if row["place"] in _OWN else _find_process(row, prefix, processes, ids_, most, events)
        tid = process.pid if row["place"] == "counter" else process.add(*_name_track(row))
        placed.append((row["place"], row["a"], row["b"], row["lane"], process.pid, tid))
    if placed:
        connection.executemany("insert into _track values (?, ?, ?, ?, ?, ?)", placed)
    return ExportTracks(events, own)


def _find_process(
    row: dict[str, Any], prefix: str, processes: dict[Any, TrackProcess], ids_: Ids, most: int, events: list[str]
) -> TrackProcess:
    if row["place"] == "host" or row["a"] is None:
        # What counts the host's memory belongs to the first of its processes.
        hosts = [key for key in processes if key[0] == "host"]
        key = ("host", row["pid"], row["process_name"]) if row["place"] == "host" or not hosts else hosts[0]
        name, wanted = row["process_name"] or "host", row["pid"]
    else:
        key = ("GPU", row["a"], None)
        device = "GPU" if row["a"] < 0 else f"GPU {row['a']}"
        name, wanted = device + (f" ({row['device_name']})" if row["device_name"] else ""), None
    if key not in processes:
        processes[key] = new_process(ids_, prefix + name, most, events, wanted)
    return processes[key]


def _name_track(row: dict[str, Any]) -> tuple[str | None, int | None]:
    """Return the name of a track, None if the viewer names it, and the thread id that it had."""
    lane = f" ({row['lane'] + 1})" if row["lane"] else ""
    if row["place"] in _OWN:
        return _OWN[row["place"]].format(a=row["a"]), None
    if row["place"] == "host":
        if not row["b"]:
            return (f"{row['thread_name'] or 'thread'}{lane}", None) if lane else (row["thread_name"], row["tid"])
        return f"{row['thread_name'] or 'thread'}: ranges{lane}", None
    stream = "stream" if row["b"] < 0 else f"stream {row['b']}"
    if row["place"] == "stream":
        return stream + lane, None if lane else row["b"]
    what = {"annotation": "annotations", "synchronization": "synchronization", "event": "events"}[row["place"]]
    return f"{stream}: {what}{lane}", None
