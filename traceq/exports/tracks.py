"""Tracks: every thread, stream and derived timeline of a trace gets a process, a thread and a name in the exported file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.exports.event import metadata

if TYPE_CHECKING:
    import duckdb

    from traceq.exports.window import Window

# Perfetto reads ids as 32-bit numbers and takes 0 for none.
_MOST = (1 << 32) - 1

# The tracks that traceq adds, in a process of their own.
_OWN = {"step": "steps", "path": "critical path", "ledger": "GPU {a} ledger"}


@dataclass
class Numbers:
    """Hands out ids of processes (or threads), each once in the file; `real` are those of the traced machines."""

    real: frozenset[int]
    _given: set[int] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def give(self, wanted: int | None = None) -> int:
        """`wanted` if it can be had, else the next number that is nobody's."""
        number = wanted
        if number is None or not 0 < number <= _MOST or number in self._given:
            number = next(each for each in self._numbers if each not in self._given and each not in self.real)
        self._given.add(number)
        return number


@dataclass
class Ids:
    """The ids of a whole file."""

    processes: Numbers
    threads: Numbers
    places: Iterator[int] = field(default_factory=count)
    """The places of processes, in the order in which they are shown."""


def ids(connection: duckdb.DuckDBPyConnection) -> Ids:
    """Ids for a file with traces of this database."""
    real = frozenset(row["number"] for row in ask(connection, statement("exports/sql/numbers.sql")))
    return Ids(Numbers(real), Numbers(real))


@dataclass
class Process:
    """A process of the exported file; `add` names its threads, in the order in which they are shown."""

    pid: int
    ids: Ids
    most: int
    events: list[str]
    _places: Iterator[int] = field(default_factory=count)

    def add(self, name: str | None, wanted: int | None = None) -> int:
        """The id of a new thread."""
        tid = self.ids.threads.give(wanted)
        if name is not None:
            self.events.append(metadata("thread_name", self.pid, tid, name=name[: self.most]))
        self.events.append(metadata("thread_sort_index", self.pid, tid, sort_index=next(self._places)))
        return tid


def new_process(ids_: Ids, name: str, most: int, events: list[str], wanted: int | None = None) -> Process:
    """A process, after those that there are; names are cut after `most` characters."""
    pid = ids_.processes.give(wanted)
    events.append(metadata("process_name", pid, pid, name=name[:most]))
    events.append(metadata("process_sort_index", pid, pid, sort_index=next(ids_.places)))
    return Process(pid, ids_, most, events)


@dataclass(frozen=True)
class Tracks:
    """The metadata events of a trace, and its process for what traceq adds."""

    events: list[str]
    own: Process


def lay_out(
    connection: duckdb.DuckDBPyConnection, trace_id: int, prefix: str, window: Window, ids_: Ids, most: int
) -> Tracks:
    """Give every track with anything in the window its ids, in _track too. `prefix` separates traces of one file."""
    rows = ask(connection, statement("exports/sql/tracks.sql"), **window.of(trace_id))
    events: list[str] = []
    own = new_process(ids_, f"{prefix}traceq", most, events)
    processes: dict[Any, Process] = {}
    placed = []
    for row in rows:
        process = own if row["place"] in _OWN else _process(row, prefix, processes, ids_, most, events)
        tid = process.pid if row["place"] == "counter" else process.add(*_name(row))
        placed.append((row["place"], row["a"], row["b"], row["lane"], process.pid, tid))
    if placed:
        connection.executemany("insert into _track values (?, ?, ?, ?, ?, ?)", placed)
    return Tracks(events, own)


def _process(
    row: dict[str, Any], prefix: str, processes: dict[Any, Process], ids_: Ids, most: int, events: list[str]
) -> Process:
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


def _name(row: dict[str, Any]) -> tuple[str | None, int | None]:
    """What a track is called, None for what the viewer calls it, and the thread id that it had."""
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
