"""Blocks of events, as text, become rows: DuckDB parses many at once, and Python looks at the few events that are odd."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.chrome import gpu, uncategorized
from traceq.importers.chrome.args import loads_pairs
from traceq.importers.chrome.loose import FAMILY_OF_CATEGORY, add_loosely
from traceq.importers.chrome.rows import BlockRows, Track

_QUERIES = {name: (Path(__file__).parent / f"{name}.sql").read_text() for name in ("event", "gpu_work", "memory")}
_SETUP = (Path(__file__).parent / "setup.sql").read_text()


class _AnyEvent(msgspec.Struct, gc=False):
    """Any JSON object."""


# Only to count events and to check that it is JSON, which DuckDB does not do: it takes NaN and commas too many.
_any_events = msgspec.json.Decoder(list[_AnyEvent])
_raw_events = msgspec.json.Decoder(list[msgspec.Raw])


_BLOCK = pa.schema([("first", pa.int64()), ("text", pa.string())])
_TEXT, _INT = pa.string(), pa.int64()
_WORK = pa.schema([("slice_id", _INT), ("kind", _TEXT), ("name", _TEXT), ("ts", _INT), ("dur", _INT), ("args", _TEXT)])


class EventBlock(NamedTuple):
    """A block as a list of events: its JSON text with brackets, the number of events, the separators cut off around."""

    text: bytes
    events: int
    before: bytes
    after: bytes

    @property
    def as_read(self) -> bytes:
        """The block's text as it stands in the file, without brackets."""
        return self.before + self.text[1:-1] + self.after


_BETWEEN = b" \t\r\n,"


_MOST_DIGITS = 40


def split(text: bytes) -> EventBlock | None:
    """Return the block of comma-separated events as a list; None when the text is not exactly that, in UTF-8 JSON."""
    inside = text.strip(_BETWEEN)
    array = b"[" + inside + b"]"
    try:
        if not array.isascii():
            array.decode()
        events = len(_any_events.decode(array))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    before = text[: len(text) - len(text.lstrip(_BETWEEN))]
    return EventBlock(array, events, before, text[len(before) + len(inside) :])


class BlockDecoder:
    """Decoder of blocks of events into rows, which parses them with DuckDB in one thread."""

    def __init__(self) -> None:
        """Open a DuckDB database in memory, and prepare the queries."""
        self._duckdb = duckdb.connect(config={"threads": 1})
        self._duckdb.execute(_SETUP)
        self._duckdb.execute(uncategorized.MACRO)
        self._tables = {"_block": _QueryTable(_BLOCK), "_work": _QueryTable(_WORK)}
        for name, table in self._tables.items():
            self._duckdb.register(name, table)
        families = {"category": list(FAMILY_OF_CATEGORY), "family": list(FAMILY_OF_CATEGORY.values())}
        self._duckdb.register("_family", pa.table(families))
        # Planning takes as long as running them on a megabyte.
        for query, text in _QUERIES.items():
            self._duckdb.execute(f"prepare {query} as {text}")
        # For each list of argument names that was met, as a hash, whether one stands in it twice.
        self._is_twice: dict[int, bool] = {}

    def close(self) -> None:
        """Close the DuckDB connection and free its memory."""
        self._duckdb.close()

    def decode(self, text: bytes) -> BlockRows | None:
        """Return the rows of a block of comma-separated events; None for other text, or what DuckDB cannot take."""
        block = split(text)
        return None if block is None else self.decode_blocks([block])

    def decode_blocks(self, blocks: Sequence[EventBlock]) -> BlockRows | None:
        """Return the rows of consecutive blocks, events numbered from 0; None when DuckDB cannot take one of them."""
        try:
            return self._decode_blocks(blocks)
        except (duckdb.InvalidInputException, RecursionError):
            # Half of a surrogate pair; nested too deep for what is left of the stack here, if not where it was split.
            return None

    def _decode_blocks(self, blocks: Sequence[EventBlock]) -> BlockRows:
        """Return the rows of consecutive blocks. Raises duckdb.InvalidInputException or RecursionError for odd text."""
        firsts = np.cumsum([0, *(block.events for block in blocks)])
        rows = BlockRows(int(firsts[-1]))
        batches = [
            pa.record_batch([pa.array([int(first)]), _to_arrow(block.text)], _BLOCK)
            for first, block in zip(firsts, blocks, strict=False)
        ]
        events = self._run_query("event", "_block", pa.Table.from_batches(batches))
        rows.notes["flow_not_stored"] += rows.events - len(events)
        texts = _EventTexts(blocks, firsts)
        ways = self._choose_ways(events, texts)
        rows.notes["empty_event"] += pc.sum(pc.equal(ways, "empty")).as_py() or 0
        odd = [events["slice_id"].filter(pc.equal(ways, "odd"))]
        if len(work := events.filter(pc.equal(ways, "gpu"))):
            work = self._run_query("gpu_work", "_work", work.select(_WORK.names))
            odd.append(work["slice_id"].filter(pc.invert(work["is_plain"])))
            rows.batches += gpu.build_work_batches(work.filter(work["is_plain"]))
        if len(memory := events.filter(pc.equal(ways, "memory"))):
            counters = self._run_query("memory", "_work", memory.select(_WORK.names))
            rows.batches += [("counter", to_batch) for to_batch in counters.to_batches()]
        _add_host(events.filter(pc.is_in(ways, pa.array(["host", "memory"]))), rows)
        numbers = np.sort(np.concatenate(odd)).tolist()
        add_loosely(rows, [texts[number] for number in numbers], numbers)
        return rows

    def _choose_ways(self, events: pa.Table, texts: _EventTexts) -> pa.Array:
        """Return how each event is decoded further: "gpu", "host", "memory", "odd" (one by one in Python), "empty".

        An event with a duplicate key is "odd"; of all others the query has decided.
        """
        ways = events["way"].combine_chunks()
        keys, first = np.unique(events["keys"].to_numpy(), return_index=True)
        for key, row in zip(keys.tolist(), first.tolist(), strict=True):
            if key not in self._is_twice:
                self._is_twice[key] = _names_key_twice(texts[events["slice_id"][row].as_py()])
        twice = [key for key in keys.tolist() if self._is_twice[key]]
        return pc.if_else(pc.is_in(events["keys"], pa.array(twice, pa.uint64())), "odd", ways) if twice else ways

    def _run_query(self, query: str, name: str, table: pa.Table) -> pa.Table:
        """Return the result of the prepared query `query` (event, gpu_work, memory); it reads `table` under `name`."""
        self._tables[name].table = table
        return self._duckdb.sql(f"execute {query}").to_arrow_table()


class _QueryTable:
    """Stand-in for a table in prepared DuckDB queries; its content can be exchanged between runs."""

    def __init__(self, schema: pa.Schema) -> None:
        self.table = schema.empty_table()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class _EventTexts:
    """JSON texts of events by number; a block is split only when one of its events is asked for."""

    def __init__(self, blocks: Sequence[EventBlock], firsts: npt.NDArray[np.int64]) -> None:
        """Take the blocks and the numbers of their first events, followed by the number of all events."""
        self._blocks = blocks
        self._firsts = firsts
        self._parts: dict[int, list[msgspec.Raw]] = {}

    def __getitem__(self, number: int) -> msgspec.Raw:
        place = int(np.searchsorted(self._firsts, number, side="right")) - 1
        if place not in self._parts:
            self._parts[place] = _raw_events.decode(self._blocks[place].text)
        return self._parts[place][number - int(self._firsts[place])]


def _to_arrow(text: bytes) -> pa.StringArray:
    """Return the text as an Arrow string column of one row, without copying it."""
    return pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, len(text)], dtype=np.int32)), pa.py_buffer(text))


def _names_key_twice(event: msgspec.Raw) -> bool:
    """Return whether an object in the event's JSON, the event itself or its args, has two members with the same key."""
    notes: Counter[str] = Counter()
    loads_pairs(bytes(event), notes)
    return notes["duplicate_key"] > 0


def _add_host(slices: pa.Table, rows: BlockRows) -> None:
    """Add rows of cpu_slice to `rows`, with the track of each (process and thread as JSON) replaced by its number."""
    if not slices:
        return
    slices = slices.drop_columns(["way", "keys"]).combine_chunks()
    encoded = slices["track"].combine_chunks().dictionary_encode()
    tracks, first = np.unique(encoded.indices.to_numpy(), return_index=True)
    ids = slices["slice_id"].to_numpy()
    numbers = np.zeros(len(encoded.dictionary), dtype=np.int32)
    for track, row in zip(tracks.tolist(), first.tolist(), strict=True):
        numbers[track] = rows.number(_parse_track(encoded.dictionary[track].as_py()), int(ids[row]))
    threads = pa.array(numbers[encoded.indices.to_numpy()])
    position = slices.schema.get_field_index("track")
    slices = slices.set_column(position, "thread_id", threads)
    rows.batches += [("cpu_slice", to_batch) for to_batch in slices.to_batches()]


def _parse_track(text: str) -> Track:
    """Return (pid, tid) of an event, given as two JSON texts with a line break between."""
    pid, tid = (json.loads(part, parse_int=_parse_integer) for part in text.split("\n"))
    return _text_if_nested(pid), _text_if_nested(tid)


def _parse_integer(digits: str) -> int | str:
    """Return the number; more digits than any id has are returned as text."""
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def _text_if_nested(value: Any) -> Any:
    """Return lists and dicts as Python prints them, other values unchanged."""
    return str(value) if isinstance(value, (list, dict)) else value
