"""Runs of simulated jobs (tests/analysis/simulated_job.py): what reading a database with the traces of all ranks gives."""

from __future__ import annotations

from contextlib import closing

import handmade_runs
from msgspec.structs import replace
from simulated_job import fill_tables

from traceq.runs.read_job import read_jobs


def runs_of_job(made, name="job"):
    """One run per rank with the job that it is part of; a quarter of each step is communication, the rest compute."""
    with closing(fill_tables(made)) as connection:
        rows = connection.execute(
            "select trace_id, list(dur order by step) from step group by trace_id order by trace_id"
        ).fetchall()
        runs = {
            trace_id: handmade_runs.run(
                *durations,
                ledger=[{"communication": dur // 4} for dur in durations],
                name=f"{name}{trace_id - 1}.json",
                source=name,
                rank=trace_id - 1,
                world_size=len(rows),
            )
            for trace_id, durations in rows
        }
        jobs = read_jobs(connection, runs)
    ranks = tuple(range(len(rows)))
    return [replace(each, job=jobs[trace_id], ranks=ranks) for trace_id, each in runs.items()]
