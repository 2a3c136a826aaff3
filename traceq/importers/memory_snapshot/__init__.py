"""PyTorch's memory snapshots: pickles that torch.cuda.memory._dump_snapshot() writes, and the same as SQLite.

How the format maps: entries of `device_traces` become allocator_event rows, segments and their blocks allocator_segment and
allocator_block rows, each distinct stack the rows of allocator_stack; external annotations become annotations. The file is read
opcode by opcode, by a reader that knows none that could run anything, and memory does not grow with the history. `database.py`
reads the tables of _dump_snapshot_sqlite(), a row of which is a dict of the pickle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.errors import UnusableTrace
from traceq.importers.packed import read_head
from traceq.importers.sqlite import DAMAGED_DATABASE, SQLITE, open_read_only, table_names

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "memory_snapshot"

# A pickle (protocol 2 or later), perhaps a frame, then a dict or a list of dicts whose first keys are those of a snapshot.
_BEGIN = re.compile(rb"\x80[\x02-\x05](?:\x95.{8})?[\x5d\x7d]", re.DOTALL)
_KEYS = (b"segments", b"device_traces", b"total_size")
_HEAD = 1024
# Tables of a snapshot as SQLite, by which a file is told whatever their columns.
_TABLES = {"device_traces", "segments", "blocks"}
_CREATES = re.compile(rb"CREATE TABLE (\w+)", re.IGNORECASE)
_SCHEMA_BYTES = 1 << 16

# What of a snapshot stands beside a trace as it is; the trace has its own devices, annotations and clock.
_BESIDE = ("allocator_segment", "allocator_block", "allocator_stack")


def sniff(path: Path) -> bool:
    """Return whether the file begins like a pickled snapshot, or is SQLite with the tables of one; gzip'd or not.

    Raises nothing but OSError.
    """
    head = read_head(path, _HEAD)
    if head.startswith(SQLITE):
        return _has_tables(path)
    return _BEGIN.match(head) is not None and any(key in head for key in _KEYS)


def _has_tables(path: Path) -> bool:
    try:
        with closing(open_read_only(path)) as connection:
            return set(table_names(connection)) >= _TABLES
    except DAMAGED_DATABASE:
        # gzip'd, or damaged: the schema stands at the beginning all the same
        return {name.decode() for name in _CREATES.findall(read_head(path, _SCHEMA_BYTES))} >= _TABLES


def read(
    path: Path, progress: Callable[[int], None] = lambda _bytes: None, jobs: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch of rows) for a memory snapshot: allocator events, segments, blocks, stacks, annotations.

    See traceq.importers for the contract. `progress` is called with the bytes read so far; `jobs` is ignored, because
    one process reads the whole file.
    """
    from traceq.importers.memory_snapshot.reading import read as read_snapshot

    del jobs
    return read_snapshot(path, progress)


def beside(
    path: Path, utc_origin_ns: int, progress: Callable[[int], None] = lambda _bytes: None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch) of the allocator's events, segments, blocks and stacks, to add to the trace of the same process.

    `utc_origin_ns` is trace.utc_origin_ns of that trace: the events' times, which count from 1970, become times on the
    trace's clock. The snapshot's own devices, annotations and trace row are left out. Raises UnusableTrace for a
    snapshot without times.
    """
    import pyarrow.compute as pc

    for table, batch in read(path, progress):
        if table == "allocator_event":
            at = batch.schema.get_field_index("ts")
            if batch.column(at).null_count:
                raise UnusableTrace(
                    f"{path}: its events have no times (PyTorch 2.1 and later write them), so it has no place beside a trace;"
                    " read it alone"
                )
            yield table, batch.set_column(at, "ts", pc.subtract(batch.column(at), utc_origin_ns))
        elif table in _BESIDE:
            yield table, batch
