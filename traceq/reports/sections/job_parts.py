"""The words about a job that falls into parts, sets of ranks that no process group connects: who is late in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from traceq.common.ranks import list_ranks
from traceq.common.units import some
from traceq.reports.document import Block, Paragraph, make_table
from traceq.reports.model import Job, LatePart
from traceq.reports.sections.job_ranks import per_step

_MOST_LINES = 16


def list_late_parts(job: Job) -> Iterator[Block]:
    """Yield a table of the parts of a job that have late ranks, at most 16; nothing of a job in one part, or without any."""
    if not job.late_parts:
        return
    yield Paragraph(
        ("No process group connects these parts of the job: what the late ranks of each cost it together.",)
    )
    columns: dict[str, Callable[[LatePart], str]] = {
        "part": lambda part: list_ranks(part.ranks),
        "late": lambda part: list_ranks(part.late),
        "save together": lambda part: per_step(part.saved_ns, job),
        "one after the other": lambda part: _add_up(part, job),
    }
    yield make_table(job.late_parts[:_MOST_LINES], columns, text=(0, 1, 3))
    if len(job.late_parts) > _MOST_LINES:
        yield Paragraph((f"{some(len(job.late_parts) - _MOST_LINES, 'more part')} with late ranks.",))


def _add_up(part: LatePart, job: Job) -> str:
    """Return as text what each late rank adds, in the order in which they are to be fixed; at most 4."""
    shown = [f"{rank}: {per_step(added, job)}" for rank, added in zip(part.late[:4], part.adds_ns, strict=False)]
    return ", ".join(shown) + (", ..." if len(part.late) > len(shown) else "")
