"""What a job suffers from beside late ranks, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import duration, share
from traceq.database.query import literal
from traceq.database.sql import statement
from traceq.reports.document import Block, Paragraph, Query
from traceq.reports.model import Job
from traceq.reports.sections.jobs import numbers

# Waiting for ranks that are not here is told from this share of the time of the ranks on.
_ABSENT = 0.03
# Of fewer matched collectives nothing is said.
_MATCHED = 0.9


def findings_of_job(job: Job) -> Iterator[Block]:
    """That ranks which are not here hold the job up, with which to capture; or why that cannot be told."""
    if (job.absent or job.wait_absent) and (job.matched_share or 0) < _MATCHED:
        matched = "an unknown share" if job.matched_share is None else share(job.matched_share)
        yield Paragraph((f"absent-late-rank: not applicable, {matched} of the collectives is matched.",))
        return
    counted = sum(each.counted or 0 for each in job.members)
    if not job.wait_absent or not counted or job.wait_absent < _ABSENT * counted:
        return
    per_rank = duration(job.wait_absent / len(job.members) / job.steps)
    said = (
        f"absent-late-rank: {per_rank} per step and rank ({share(job.wait_absent / counted)}) is waiting for ranks"
        f" that are not here. Capture {_missing(job)} too: what makes them late is only seen there."
    )
    yield Paragraph((said,))
    yield Query(literal(statement("reports/sql/job_absent.sql"), job=job.job, time_window=job.time_window))


def _missing(job: Job) -> str:
    present = {each.rank for each in job.members}
    missing = [rank for rank in range(job.world_size or 0) if rank not in present]
    return numbers(missing) if missing else "the other ranks of their groups"
