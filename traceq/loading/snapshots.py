"""Memory snapshots of PyTorch beside a trace (--with): what they hold, on the clock of the trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.errors import UnusableTrace
from traceq.importers import memory_snapshot
from traceq.importers.rows import batches_of
from traceq.loading.sources import distinct

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


def read_snapshots(
    connection: duckdb.DuckDBPyConnection, beside: Iterable[Path], offset: float | None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch) of those files beside the staged trace that are snapshots; `offset` is added to their times (s).

    Raises UnusableTrace where nothing says where they lie.
    """
    paths, twice = distinct([*filter(memory_snapshot.sniff, beside)])
    for path, first in twice:
        text = f"{path.name} holds the same as {first.name}, and is taken once"
        yield from batches_of("import_note", [{"severity": "info", "code": "given_twice", "count": 1, "text": text}])
    for path in paths:
        ((origin,),) = connection.execute("select max(utc_origin_ns) from staging.trace").fetchall()
        if origin is None and offset is None:
            raise UnusableTrace(
                f"{path}: the trace does not say when it was recorded, so a snapshot cannot be placed on its clock; give --offset"
                " (what to add to the snapshot's times, in seconds), or read the snapshot alone"
            )
        yield from memory_snapshot.beside(path, (origin or 0) - round((offset or 0) * 1e9))
