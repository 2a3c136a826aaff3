"""The words about axes of parallelism: the time of collectives along each, what of it is waiting, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.ranks import list_ranks
from traceq.common.units import count, duration, format_bandwidth, maybe, share
from traceq.reports.document import Block, Paragraph, Table, make_table
from traceq.reports.model import Job, JobAxis, TraceReport
from traceq.reports.topics.communication import AxisTotal

# Of a group of more ranks the first and the last are named.
_MOST_NAMED = 4
_MOST_LINES = 6
_MOST_STAGES = 8

NAMES = {
    "tp": "tensor (tp)",
    "cp": "context (cp)",
    "ep": "expert (ep)",
    "dp": "data (dp)",
    "pp": "pipeline (pp)",
    "world": "all ranks",
    None: "cannot tell",
}

_GUESSED = "inferred"


def list_axes_of_job(job: Job, most: int = _MOST_LINES, *, is_in_full: bool = True) -> Iterator[Block]:
    """Yield a table of the job's axes of parallelism, a line each, at most `most`; nothing where no axis is known.

    If not `is_in_full`, also nothing for a single one: what goes along it is then all communication.
    """
    known = [axis for axis in job.axes if axis.axis is not None]
    if not known or (len(job.axes) == 1 and not is_in_full):
        return
    columns: dict[str, Callable[[JobAxis], str]] = {
        "axis": lambda axis: name_axis(axis.axis, axis.source),
        "groups": _size_of_groups,
        "time": lambda axis: _per_rank(axis.dur_ns, axis, job),
        "waits": lambda axis: maybe(lambda wait: _per_rank(wait, axis, job), axis.wait_ns),
        "exposed": lambda axis: _per_rank(axis.exposed_ns, axis, job),
        "bandwidth": lambda axis: maybe(format_bandwidth, axis.bus_gb_per_s),
        "slowest group": _name_slowest,
        "comes last": lambda axis: _name_late(axis, job),
    }
    if not is_in_full:
        columns.pop("bandwidth")
    yield make_table(job.axes[:most], columns, text=(0, len(columns) - 2, len(columns) - 1))
    if is_in_full:
        yield Paragraph((_explain_sources(job.axes) + " Times are means of its ranks, per step.",))
        yield from _describe_bubble(job)


def _describe_bubble(job: Job) -> Iterator[Block]:
    """Yield a sentence on how long each stage of the pipeline waits for others; nothing without a pipeline of known stages."""
    if len(job.bubble) <= 1:
        return
    shares = ", ".join(share(stage.share) for stage in job.bubble[:_MOST_STAGES])
    more = f" and {len(job.bubble) - _MOST_STAGES} more" if len(job.bubble) > _MOST_STAGES else ""
    equal = job.bubble[0].share_of_equal
    batches = job.bubble[0].micro_batches
    usual = "" if equal is None else f"; equal stages and {count(batches or 0)} micro-batches: {share(equal)}"
    yield Paragraph(
        (f"Pipeline bubble by stage: {shares}{more} of the time{usual}. The stage that waits least is the slowest.",)
    )


def name_axis(axis: str | None, source: str | None) -> str:
    """Return the axis in words, with a question mark where only what goes through it tells."""
    name = NAMES.get(axis) or str(axis)
    return f"{name}?" if source == _GUESSED else name


def _size_of_groups(axis: JobAxis) -> str:
    """Return the number of groups and of their ranks: 16 of 8."""
    if not axis.groups:
        return "-"
    if axis.most is None:
        return count(axis.groups)
    return f"{count(axis.groups)} of {axis.most if axis.fewest == axis.most else f'{axis.fewest}-{axis.most}'}"


def _per_rank(value: int, axis: JobAxis, job: Job) -> str:
    return duration(value / axis.ranks / job.steps)


def _name_slowest(axis: JobAxis) -> str:
    """Return the ranks of the group that takes longest; a dash for a single group."""
    if not axis.slowest:
        return "-"
    ranks = axis.slowest
    return list_ranks(ranks) if len(ranks) <= _MOST_NAMED else f"ranks {ranks[0]}..{ranks[-1]}"


def _name_late(axis: JobAxis, job: Job) -> str:
    """Return the rank that comes late most, and how much in a step; a dash where none clearly does."""
    if not axis.late:
        return "-"
    first = axis.late[0]
    more = f", {', '.join(str(late.rank) for late in axis.late[1:])}" if len(axis.late) > 1 else ""
    return f"{first.rank} by {duration(first.late_by_ns / job.steps)}{more}"


_TOLD_BY = {
    "given": "what --axes says",
    "description": "the groups' descriptions",
    "coordinates": "the ranks' coordinates",
    "mesh": "their ranks and what goes through them",
    "inferred": "what goes through them alone (?)",
}


def _explain_sources(axes: Sequence[JobAxis] | Sequence[AxisTotal]) -> str:
    """Return a sentence on what told the axes."""
    sources = {source for axis in axes for source in (axis.source or "").split(", ") if source}
    words = [words for source, words in _TOLD_BY.items() if source in sources]
    unknown = any(axis.axis is None for axis in axes)
    return f"Axes by {', '.join(words)}{'; some groups tell none' if unknown else ''}."


def list_axes_of_trace(report: TraceReport) -> Iterator[Block]:
    """Yield a table of the trace's communication by axis of parallelism, and what told it; nothing where no axis is known."""
    axes = report.topics.communication.axes
    if any(axis.axis is not None for axis in axes):
        yield _table_of_trace(axes, report.steps.counted or 1)
        yield Paragraph((f"{_explain_sources(axes)} Per step; waits as far as they are known (docs/axes.md).",))


def _table_of_trace(axes: Sequence[AxisTotal], steps: int) -> Table:
    whole = sum(axis.dur_ns for axis in axes) or 1
    return make_table(
        axes[:_MOST_LINES],
        {
            "axis": lambda axis: name_axis(axis.axis, axis.source),
            "groups": lambda axis: count(axis.groups) if axis.groups else "-",
            "count": lambda axis: count(axis.collectives),
            "time": lambda axis: duration(axis.dur_ns / steps),
            "share": lambda axis: share(axis.dur_ns / whole),
            "exposed": lambda axis: duration(axis.exposed_ns / steps),
            "waits": lambda axis: maybe(lambda wait: duration(wait / steps), axis.wait_ns),
        },
    )
