"""Reading one file of a profiler of ROCm, whichever of the four it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.rocm import rocpd, rocprofv3, rpd, rpd_json
from traceq.importers.rocm.dispatches import Job, Rows
from traceq.importers.rocm.source import DAMAGED_DATABASE, columns_of, kind_of, opened, views_for_tables

_KERNELS_ALONE = (
    "info",
    "host_not_recorded",
    "work of GPUs alone was recorded: what the host did is not in the file; rocprofv3 --sys-trace records calls and ranges",
)


def read(path: Path, progress: Callable[[int], None]) -> Rows:
    """Yield (table, batch) for the whole file; raises UnusableTrace where it is damaged or holds nothing."""
    job = Job()
    kind = kind_of(path)
    found = host = 0
    if kind in ("rocpd", "rpd"):
        rows = _database(path, job, kind)
    else:
        rows = rpd_json.read(path, job) if kind == "rpd_json" else rocprofv3.read(path, job)
    for table, batch in rows:
        found += table in ("gpu_slice", "cpu_slice")
        host += table == "cpu_slice"
        yield table, batch
    if not found:
        raise UnusableTrace(
            f"{path}: holds no kernels, copies, calls or ranges; record some: rocprofv3 --sys-trace -- PROGRAM"
        )
    job.notes[_KERNELS_ALONE] += not host
    yield from job.end()
    progress(path.stat().st_size)


def _database(path: Path, job: Job, kind: str | None) -> Rows:
    try:
        with opened(path) as connection:
            tables = columns_of(connection)
            for view in views_for_tables(connection):
                job.notes[
                    "data_loss", "view_not_read", f"{view} is no table but a view, which runs what the file says"
                ] += 1
            yield from (rpd.read if kind == "rpd" else rocpd.read)(connection, tables, job)
    except DAMAGED_DATABASE as error:
        why = " ".join(str(error).split())
        raise UnusableTrace(f"{path}: the SQLite file is damaged ({why}); copy it again") from error
