"""Reading one file of a profiler of ROCm, whichever of the four it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.rocm import rocpd, rocprofv3, rpd, rpd_json
from traceq.importers.rocm.dispatches import RowBuilder, Rows
from traceq.importers.rocm.source import kind_of, views_for_tables
from traceq.importers.sqlite import DAMAGED_DATABASE, open_database, read_columns

_KERNELS_ALONE = (
    "info",
    "host_not_recorded",
    "only GPU work was recorded, nothing of the host; rocprofv3 --sys-trace records calls and ranges, too",
)


def read(path: Path, progress: Callable[[int], None]) -> Rows:
    """Yield (table, batch) for the whole file, of any of the four formats of kind_of().

    Raises UnusableTrace where it is damaged, or has no kernels, copies, calls or ranges.
    """
    builder = RowBuilder()
    kind = kind_of(path)
    found = host = 0
    if kind in ("rocpd", "rpd"):
        rows = _read_database(path, builder, kind)
    else:
        rows = rpd_json.read(path, builder) if kind == "rpd_json" else rocprofv3.read(path, builder)
    for table, batch in rows:
        found += table in ("gpu_slice", "cpu_slice")
        host += table == "cpu_slice"
        yield table, batch
    if not found:
        raise UnusableTrace(
            f"{path}: holds no kernels, copies, calls or ranges; record some: rocprofv3 --sys-trace -- PROGRAM"
        )
    builder.notes[_KERNELS_ALONE] += not host
    yield from builder.finish()
    progress(path.stat().st_size)


def _read_database(path: Path, builder: RowBuilder, kind: str | None) -> Rows:
    try:
        with open_database(path) as connection:
            tables = read_columns(connection)
            for view in views_for_tables(connection):
                builder.notes[
                    "data_loss", "view_not_read", f"{view} is a view, not a table, and a view runs SQL from the file"
                ] += 1
            yield from (rpd.read if kind == "rpd" else rocpd.read)(connection, tables, builder)
    except DAMAGED_DATABASE as error:
        why = " ".join(str(error).split())
        raise UnusableTrace(f"{path}: the SQLite file is damaged ({why}); copy it again") from error
