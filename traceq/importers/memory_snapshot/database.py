"""Snapshots as SQLite, as torch.cuda.memory._dump_snapshot_sqlite() writes them: the dicts of the pickle as rows of three tables.

The table device_traces has the events, segments and blocks the state; stacks are texts of JSON.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec

from traceq.importers.memory_snapshot.parts import SnapshotParts, Stack, get_device
from traceq.importers.pickled import Malformed, Pairs, PickledItems
from traceq.importers.sqlite import fetch_batches, read_columns

# What there must be, by table.
_NEEDED = {
    "device_traces": ("id", "device", "action", "addr", "size"),
    "segments": ("id", "device", "address", "total_size"),
    "blocks": ("id", "segment_id", "address", "size", "state"),
}
# What there may be, as well.
_OPTIONAL = {
    "device_traces": ("stream", "time_us", "frames", "device_free", "compile_context"),
    "segments": (
        "allocated_size", "active_size", "requested_size", "stream", "segment_type", "is_expandable", "frames",
    ),
    "blocks": ("requested_size", "frames"),
}  # fmt: skip
# Texts of stacks that are not read again: most events have one that an event shortly before had.
_STACKS_AT_HAND = 1 << 12


def read_tables(connection: sqlite3.Connection, parts: SnapshotParts) -> Iterator[int]:
    """Pass the rows of a snapshot's tables to `parts` as dicts, some thousand at a time.

    Yields 0 after each portion, so that the caller can take what was made of it, and last the number of blocks whose
    segment is not in the file. Raises Malformed where columns lack or hold what no snapshot does.
    """
    columns = _choose_columns(read_columns(connection))
    find_stack = _make_stack_reader(parts)

    def read_rows(table: str) -> Iterator[list[Pairs]]:
        found = columns[table]
        for rows in fetch_batches(connection, f"select {', '.join(found)} from {table} order by id"):  # noqa: S608 - names of ours
            yield [_make_pairs(dict(zip(found, row, strict=True)), find_stack) for row in rows]

    for rows in read_rows("device_traces"):
        for pairs in rows:
            parts.emit_event(pairs, get_device(pairs))
        yield 0
    blocks: dict[Any, PickledItems] = {}
    for pairs in chain.from_iterable(read_rows("blocks")):
        blocks.setdefault(pairs.get("segment_id"), PickledItems()).append(parts.build_block(pairs))
    for rows in read_rows("segments"):
        for pairs in rows:
            pairs["blocks"] = blocks.pop(pairs.get("id"), PickledItems())
            pairs["blocks"].sort(key=lambda block: block.address or 0)
            parts.emit_segment(pairs)
        yield 0
    yield sum(map(len, blocks.values()))


def _choose_columns(found: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """Return the columns to read, by table, from `found`, the columns there are by table.

    Raises Malformed where a needed one lacks.
    """
    lacking = [
        f"{table}.{column}"
        for table, needed in _NEEDED.items()
        for column in needed
        if column not in found.get(table, ())
    ]
    if lacking:
        raise Malformed(f"it lacks {', '.join(lacking)}")
    return {
        table: [*needed, *(column for column in _OPTIONAL[table] if column in found[table])]
        for table, needed in _NEEDED.items()
    }


def _make_pairs(row: Mapping[str, Any], find_stack: Callable[[Any], Stack | None]) -> Pairs:
    """Return a table's row as the dict that a pickled snapshot has in its place, without columns that are NULL.

    `find_stack` gives the stack of the JSON text in the column `frames`.
    """
    pairs = Pairs()
    pairs.update((column, value) for column, value in row.items() if value is not None)
    if "frames" in pairs:
        pairs["frames"] = find_stack(pairs["frames"])
    if "is_expandable" in pairs:
        pairs["is_expandable"] = pairs["is_expandable"] == 1
    return pairs


def _make_stack_reader(parts: SnapshotParts) -> Callable[[Any], Stack | None]:
    """Return a function from the JSON text of a stack to the Stack, None for one without frames.

    The function raises Malformed for other text.
    """

    @lru_cache(_STACKS_AT_HAND)
    def find_stack(text: Any) -> Stack | None:
        try:
            listed = msgspec.json.decode(text, type=list[dict[str, Any]]) if text else []
        except (TypeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Malformed("its stacks are not lists of frames in JSON") from None
        frames = PickledItems()
        for frame in listed:
            pairs = Pairs()
            pairs.update(frame)
            frames.append(parts.intern_frame(pairs))
        stack = parts.list_of(frames)
        return stack if isinstance(stack, Stack) else None

    return find_stack
