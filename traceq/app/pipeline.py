"""From traces to a judged database: its entry in the cache, else load, analyse, judge and publish; then a report reads it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from traceq.app import cache
from traceq.app.read_options import ReadOptions
from traceq.common.cache_folder import cache_path, is_cache_wanted
from traceq.common.limits import limits
from traceq.database.user_sql import run_interruptibly
from traceq.diagnosis.cache import fill
from traceq.errors import StoreError

if TYPE_CHECKING:
    import duckdb

    from traceq.loading.ingest import IngestResult
    from traceq.loading.monitors import MonitorLogs
    from traceq.loading.options import Paths, TraceOptions


def ensure_cached(source: str | Path, read: ReadOptions) -> Path | None:
    """Return the path of the cached database of the traces `source`, making it if missing; None if the cache is off.

    Also None, after a note to the user, when the cache cannot be used.
    """
    if not (read.cache and is_cache_wanted()):
        return None
    try:
        entry = cache.entry_of(source, read)
        if not entry.exists():
            with cache.new_entry(entry, source, read) as part:
                make_database(source, part, read)
    except OSError as error:
        limits().note(
            f"{cache_path()} cannot be used as a cache ({error.strerror or error}); the trace is read again by each command"
        )
        return None
    return entry


def make_database(
    sources: Paths,
    database: str | Path | None,
    options: TraceOptions,
    *,
    run: str | None = None,
    force: bool = False,
    beside: MonitorLogs | None = None,
    judged: bool = True,
) -> IngestResult:
    """Read and analyse traces, run the rules (unless `judged` is False), and add the result to the database.

    `beside` are logs beside the traces, by default those of the options. When a source fails, raises a TraceqError and
    leaves the database unchanged; when rules cannot run, the result's `not_judged` says why.
    """
    # What reads and analyses traces takes 0.15 s to import, which a report on a database should not have to wait for.
    from traceq.loading.ingest import new_database
    from traceq.loading.monitors import NOTHING

    if beside is None:
        beside = options.logs_beside if isinstance(options, ReadOptions) else NOTHING
    made = new_database(sources, database, options=options, run=run, force=force, beside=beside)
    reason = None
    with made as (result, connection):  # loaded and analysed
        if connection is not None and judged:
            limits().progress.judge()
            reason = judge_traces(connection)
    return replace(result, not_judged=reason)  # published


def judge_traces(connection: duckdb.DuckDBPyConnection) -> str | None:
    """Run the rules on the open database and store their findings; return why that failed, None on success."""
    try:
        run_interruptibly(connection, partial(fill, connection))
    except (StoreError, OSError) as error:
        return str(error)
    return None
