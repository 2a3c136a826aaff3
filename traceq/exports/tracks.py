"""Tracks: every thread, stream and derived timeline of a trace gets a process, a thread and a name in the exported file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.exports.window import TimeWindow

if TYPE_CHECKING:
    import duckdb


# Perfetto reads ids as 32-bit numbers and takes 0 for none.
_MOST = (1 << 32) - 1

# The tracks that traceq adds, in a process of their own.
_OWN = {"step": "steps", "path": "critical path", "ledger": "GPU {a} ledger"}

# Work of graphs on many streams, by the numbers of graph_role.sql.
_ROLES = {-4: "compute", -3: "communication", -2: "copies"}


def _to_microseconds(nanoseconds: int) -> str:
    """Return nanoseconds as the text of microseconds with exactly three decimals."""
    whole, rest = divmod(abs(nanoseconds), 1000)
    return f"{'-' if nanoseconds < 0 else ''}{whole}.{rest:03}"


def encode(value: object) -> str:
    """Return the value as JSON on one line, with characters beyond ASCII as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _encode_metadata(kind: str, pid: int, tid: int, **args: object) -> str:
    """Return the JSON text of a metadata event: the name, or the place in the viewer, of a process or thread."""
    return encode({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args})


def encode_slice(name: str, pid: int, tid: int, ts: int, dur: int, args: object) -> str:
    """Return the JSON text of a slice's event; `ts` and `dur` in ns."""
    return (
        f'{{"ph":"X","cat":"traceq","name":{encode(name)},"pid":{pid},"tid":{tid}'
        f',"ts":{_to_microseconds(ts)},"dur":{_to_microseconds(dur)},"args":{encode(args)}}}'
    )


class Numbers(msgspec.Struct):
    """Unique numbers for processes (or threads) of a file; those in `real`, the traced machines' ids, are never invented."""

    real: frozenset[int]
    _given: set[int] = msgspec.field(default_factory=set)
    _numbers: Iterator[int] = msgspec.field(default_factory=lambda: count(1))

    def give(self, wanted: int | None = None) -> int:
        """Return `wanted` if no track has this number yet, else the next free number."""
        number = wanted
        if number is None or not 0 < number <= _MOST or number in self._given:
            number = next(number for number in self._numbers if number not in self._given and number not in self.real)
        self._given.add(number)
        return number


class Ids(msgspec.Struct):
    """Sources of unique process and thread ids for a whole file."""

    processes: Numbers
    threads: Numbers
    places: Iterator[int] = msgspec.field(default_factory=count)
    """The places of processes, in the order in which they are shown."""


def new_ids(connection: duckdb.DuckDBPyConnection) -> Ids:
    """Return sources of process and thread ids for a file with traces of this database."""
    real = frozenset(row["number"] for row in ask(connection, statement("exports/sql/numbers.sql")))
    return Ids(Numbers(real), Numbers(real))


class TrackProcess(msgspec.Struct):
    """A process of the exported file; `add` adds a named thread, shown in the order of the calls."""

    pid: int
    ids: Ids
    most: int
    events: list[str]
    _places: Iterator[int] = msgspec.field(default_factory=count)

    def add(self, name: str | None, wanted: int | None = None) -> int:
        """Add a thread (without a name if that is None) and return its id, which is `wanted` if that is free."""
        tid = self.ids.threads.give(wanted)
        if name is not None:
            self.events.append(_encode_metadata("thread_name", self.pid, tid, name=name[: self.most]))
        self.events.append(_encode_metadata("thread_sort_index", self.pid, tid, sort_index=next(self._places)))
        return tid


def new_process(ids_: Ids, name: str, most: int, events: list[str], wanted: int | None = None) -> TrackProcess:
    """Return a new process that is shown after the others, and append the events that name it to `events`.

    Names in it are cut after `most` characters; its id is `wanted` if that is free.
    """
    pid = ids_.processes.give(wanted)
    events.append(_encode_metadata("process_name", pid, pid, name=name[:most]))
    events.append(_encode_metadata("process_sort_index", pid, pid, sort_index=next(ids_.places)))
    return TrackProcess(pid, ids_, most, events)


class ExportTracks(msgspec.Struct, frozen=True):
    """The metadata events of a trace's tracks (JSON texts), and the process that holds the tracks added by traceq."""

    events: list[str]
    own: TrackProcess


def lay_out(
    connection: duckdb.DuckDBPyConnection, trace_id: int, prefix: str, window: TimeWindow, ids_: Ids, most: int
) -> ExportTracks:
    """Assign a process and thread id to every track with slices in the window; return the events that name them.

    The tracks are added to the table _track. `prefix` stands before the names of processes, to tell the traces of one
    file apart; names are cut after `most` characters.
    """
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
    """Return the process of the track `row`: a host process or a GPU; made, and added to `processes`, if missing."""
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
    """Return the name of a track (None if the viewer names it) and the thread id it had in the trace, if any."""
    lane = f" ({row['lane'] + 1})" if row["lane"] else ""
    if row["place"] in _OWN:
        return _OWN[row["place"]].format(a=row["a"]), None
    if row["place"] == "host":
        if not row["b"]:
            return (f"{row['thread_name'] or 'thread'}{lane}", None) if lane else (row["thread_name"], row["tid"])
        return f"{row['thread_name'] or 'thread'}: ranges{lane}", None
    if row["b"] in _ROLES:
        return f"graphs: {_ROLES[row['b']]}{lane}", None
    stream = "stream" if row["b"] < 0 else f"stream {row['b']}"
    if row["place"] == "stream":
        return stream + lane, None if lane else row["b"]
    what = {"annotation": "annotations", "synchronization": "synchronization", "event": "events"}[row["place"]]
    return f"{stream}: {what}{lane}", None
