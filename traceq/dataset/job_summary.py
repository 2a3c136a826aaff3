"""Summary of a window's job for reports, and which ranks these read: made once, by the cross-rank stage."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import msgspec

from traceq.common.code_hash import code_hash
from traceq.database.connect import connect
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.dataset.catalogue import create_catalogue
from traceq.dataset.manifest import Manifest, Window
from traceq.dataset.place import Place
from traceq.reports.build import read_jobs
from traceq.reports.model import Job

# In the folder of a window's job.
NAME = "told.json"

# Rooms that it depends on: a change of any file in them makes it void.
_REACHED = (
    "analysis",
    "common",
    "database",
    "diagnosis",
    "errors.py",
    "formats",
    "reports/build.py",
    "reports/model.py",
    "reports/sql",
)


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
    is_judged = bool(of_ranks) and not alone[0]["traces"] and all(_is_judged(job) for job in jobs)
    return JobSummary(_code_stamp(), jobs, spared, is_judged)


def _is_judged(job: Job) -> bool:
    return job.ranks > 1 and job.dur_ns is not None and job.cannot_tell is None


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
    with TemporaryDirectory(prefix="traceq-told-") as name:
        catalogue = Path(name) / "catalogue.duckdb"
        alone = msgspec.structs.replace(manifest, windows=(window,))
        create_catalogue(catalogue, place, alone, manifest.of_window(window.run, window.window))
        with closing(connect(catalogue)) as connection:
            return summarize_jobs(connection)
