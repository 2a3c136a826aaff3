"""Who is on the critical path of a job, and what they do there while all others wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from traceq.analysis.categories import label
from traceq.common.units import duration, share, some
from traceq.reports.document import Block, Literal, Paragraph, Query, make_table
from traceq.reports.model import Job, JobPathPart
from traceq.reports.queries import print_query

_MOST_PARTS = 8

_OTHER_KINDS = {"transfer": "transfer in collectives", "late_start": "before its first collective"}


def list_path_of_job(job: Job) -> Iterator[Block]:
    """Yield a table of who is on the job's critical path, by category of the ledger, longest first; nothing if unknown.

    It has at most 8 lines, and says how many are left out and what lists them.
    """
    if not job.path or not job.dur_ns:
        return
    whole = job.dur_ns
    shown = job.path[:_MOST_PARTS]
    columns: dict[str, Callable[[JobPathPart], str]] = {
        "critical path": lambda part: "all ranks" if part.rank is None else f"rank {part.rank}",
        "what it does": _name_deed,
        "share": lambda part: share(part.dur_ns / whole),
        "per step": lambda part: duration(part.dur_ns / job.steps),
    }
    yield make_table(shown, columns, text=(0, 1))
    if (left := job.path[0].parts - len(shown)) > 0:
        rest = share(1 - sum(part.dur_ns for part in shown) / whole)
        yield Paragraph((f"And {some(left, 'more part')}, {rest} of it: ", Literal("from job_path_ledger"), "."))
    yield Query(print_query("job_path", job=job.job, time_window=job.time_window))


def _name_deed(part: JobPathPart) -> str:
    """Return what the part is in words: a category of the ledger, transfer, or what comes before the first collective."""
    if part.kind != "own":
        return _OTHER_KINDS[part.kind]
    return "own work, cannot tell what" if part.category is None else label(part.category)
