"""Summary of a window's job for reports, and which ranks these read: made once, by the cross-rank stage."""

from __future__ import annotations

import duckdb
import msgspec

from traceq.common.code_hash import code_hash
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.dataset.catalogue import open_catalogue
from traceq.dataset.manifest import Manifest, Window
from traceq.dataset.place import Place
from traceq.reports.build import read_jobs
from traceq.reports.model import Job

# In the folder of a window's job.
NAME = "told.json"

# Rooms that it depends on: a change of any file in them makes it void.
_ROOMS = ("analysis", "common", "database", "diagnosis", "errors.py", "formats")
_REACHED = (*_ROOMS, "reports/build.py", "reports/model.py", "reports/sql")


class JobSummary(msgspec.Struct, frozen=True):
    """Of a window: its jobs as reports have them, the traces that need not be read, and whether ranks were judged together.

    Where all were, nothing that is asked of a rank needs the pieces of others.
    """

    stamp: str
    jobs: tuple[Job, ...]
    spared: tuple[int, ...]
    is_judged: bool


def summarize_jobs(connection: duckdb.DuckDBPyConnection) -> JobSummary:
    """Summarize the jobs of the window that the database holds."""
    jobs = tuple(read_jobs(connection))
    spared = tuple(row["trace_id"] for row in ask(connection, statement("diagnosis/sql/spared.sql")))
    of_ranks = {row["trace_id"] for row in ask(connection, "select trace_id from job_rank")}
    alone = ask(
        connection, "select count(*) as traces from trace where trace_id not in (select trace_id from job_rank)"
    )
    are_judged = all(job.ranks > 1 and job.dur_ns is not None and job.cannot_tell is None for job in jobs)
    is_judged = bool(of_ranks) and not alone[0]["traces"] and are_judged
    return JobSummary(_code_stamp(), jobs, spared, is_judged)


def _code_stamp() -> str:
    return code_hash(*_REACHED)


def read_summary(place: Place, manifest: Manifest, window: Window) -> JobSummary:
    """Read the summary of a window as the cross-rank stage wrote it; make it anew if that was another version of traceq."""
    content = place.read(window.folder, NAME)
    try:
        told = None if content is None else msgspec.json.decode(content, type=JobSummary)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        told = None
    if told is not None and told.stamp == _code_stamp():
        return told
    with open_catalogue(place, manifest, manifest.pieces_of(window.run, window.window), [window]) as connection:
        return summarize_jobs(connection)
