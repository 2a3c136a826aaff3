"""A part of a Chrome trace: events of the file, character for character, that slices of the part were made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from traceq.importers.chrome.records import EventHead, EventRecords, decode_head, pair_half_ranges, start_of
from traceq.sharing.part import TracePart

if TYPE_CHECKING:
    import duckdb


_TIMES = """
    select distinct ts
    from (
        select ts from cpu_slice where trace_id = $trace_id and slice_id in (from _kept)
        union all
        select ts from gpu_slice where trace_id = $trace_id and slice_id in (from _kept)
    )
    order by ts
"""


class _KeptEvents:
    """Selects the events of a Chrome trace that stay in a part: slices by number, arrows by their ends, others by time."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path, part: TracePart, trace_id: int) -> None:
        ids = connection.execute("select slice_id from _kept order by slice_id").fetchnumpy()["slice_id"]
        of_halves = pair_half_ranges(path)
        ends = [of_halves[number] for number in ids.tolist() if number in of_halves] if of_halves else []
        self._ids: npt.NDArray[np.int64] = np.union1d(ids, np.array(ends, np.int64))
        self._times = connection.execute(_TIMES, {"trace_id": trace_id}).fetchnumpy()["ts"]
        self._part = part
        self._open: dict[tuple[str, str], bytes] = {}

    def select(self, first: int, events: Sequence[bytes | msgspec.Raw]) -> Iterator[bytes | msgspec.Raw]:
        """Yield the events of a block that stay, unchanged; `first` is the number of its first event in the file."""
        start, stop = np.searchsorted(self._ids, [first, first + len(events)])
        mine = set((self._ids[start:stop] - first).tolist())
        for place, event in enumerate(events):
            if place in mine:
                yield event
            else:
                yield from self._select_other(event)

    def _select_other(self, event: bytes | msgspec.Raw) -> Iterator[bytes | msgspec.Raw]:
        """Yield the event, which is no slice that stays, if it is metadata, or a counter or the like in the time of the part."""
        head = decode_head(event)
        if head.ph == "M":
            yield event
        elif head.ph in ("s", "t", "f"):
            yield from self._select_arrow(event, head)
        elif isinstance(head.ph, str) and head.ph not in ("X", "B", "E", "i", "I"):
            ts = start_of(event, head)
            if ts is not None and self._part.ts <= ts < self._part.ts_end:
                yield event

    def _select_arrow(self, event: bytes | msgspec.Raw, head: EventHead) -> Iterator[bytes | msgspec.Raw]:
        """Yield the events of an arrow whose ends both lie at the start of slices that stay.

        The first end is kept until the second end comes, and is yielded with it; a step between them is yielded at once.
        """
        ts = start_of(event, head)
        at = np.searchsorted(self._times, ts) if ts is not None else len(self._times)
        if at == len(self._times) or self._times[at] != ts:
            return
        key = str(head.cat), str(head.id)
        if head.ph == "t":
            yield event
        elif (other := self._open.pop(key, None)) is not None:
            yield other
            yield event
        else:
            self._open[key] = bytes(event)


def write_part(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    trace_id: int,
    part: TracePart,
    file: BinaryIO,
    progress: Callable[[int], None] = lambda _bytes: None,
) -> int:
    """Write the selected part of the Chrome trace at `path` to `file`; return its number of events.

    The table _kept (sql/selection.sql) lists the slices that stay. `progress` is called with the number of bytes read.
    """
    chosen = _KeptEvents(connection, path, part, trace_id)
    written = 0
    with EventRecords(path, progress) as records:
        file.write(_encode_begin(records))
        for first, events in records.read_blocks():
            for event in chosen.select(first, events):
                file.write(b",\n" if written else b"\n")
                file.write(event)
                written += 1
        file.write(_encode_end(records, part))
    return written


def _encode_begin(records: EventRecords) -> bytes:
    """Return the file's text up to its first event; a bare list becomes an object, which can hold the part's description."""
    text = records.before.strip().rstrip(b",")
    members = records.members_before()
    if members is not None and "traceq" in members:
        text = msgspec.json.encode({key: value for key, value in members.items() if key != "traceq"}).removesuffix(b"}")
    return (text + b",\n" if text.removeprefix(b"{").strip() else b"{\n") + b'"traceEvents": ['


def _encode_end(records: EventRecords, part: TracePart) -> bytes:
    """Return the file's text after its last event, with the description of the part for traceq added."""
    after = records.members_after()
    ours = (records.members_before() or {}).get("traceq") or after.get("traceq") or b"{}"
    try:
        said = msgspec.json.decode(bytes(ours), type=dict[str, Any])
    except msgspec.DecodeError:
        said = {}
    members = {**after, "traceq": said | {"trim": part.said}}
    return b"\n],\n" + msgspec.json.encode(members).removeprefix(b"{") + b"\n"
