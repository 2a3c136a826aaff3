"""The words about loads: bytes and tokens that all-to-alls bring to each rank, and tokens of each expert of a mixture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.units import count, duration, maybe, short_size
from traceq.reports.document import Block, Name, Paragraph, Query, Table, make_table
from traceq.reports.model import Job, RankLoad, TraceReport
from traceq.reports.sections.axes import name_axis
from traceq.reports.topics.kernels import ExpertWork, GroupedProduct

_MOST_LINES = 8


def list_loads_of_job(job: Job) -> Iterator[Block]:
    """Yield a table of the ranks that get most in all-to-alls of the job's experts; nothing where no sizes are known."""
    if not job.loads:
        return
    columns: dict[str, Callable[[RankLoad], str]] = {
        "rank": lambda load: str(load.rank),
        "all-to-alls": lambda load: count(round(load.exchanges / job.steps)),
        "gets": lambda load: short_size(round(load.received_bytes / job.steps)),
        "tokens": lambda load: maybe(lambda rows: count(round(rows / job.steps)), load.rows),
        "of the mean": lambda load: f"{load.load:.2f}x",
        "most at once": lambda load: f"{load.most:.2f}x",
    }
    if all(load.rows is None for load in job.loads):
        columns.pop("tokens")
    yield make_table(job.loads[:_MOST_LINES], columns)
    axis = job.loads[0].axis
    which = f"along {name_axis(axis, None)}" if axis else "whose axis nothing tells"
    lines = "ranks" if len(job.loads) <= _MOST_LINES else "most loaded ranks"
    words = f"What all-to-alls {which} bring to the {lines}, per step, against the mean of their group; what comes back"
    yield Paragraph((f"{words} is not counted.",))


def describe_experts(report: TraceReport) -> Iterator[Block]:
    """Yield a table of the most loaded experts, and a sentence on experts that are computed together; nothing without any."""
    facts = report.topics.kernels
    if facts.experts:
        first = facts.experts[0]
        layers = f" of {count(first.layers)} layers" if first.layers > 1 else ""
        yield Paragraph((f"{count(first.experts)} experts{layers} run one by one; the most loaded:",))
        yield _expert_table(facts.experts)
        yield Query(report.queries["experts"])
    if facts.grouped:
        yield Paragraph((_describe_grouped(facts.grouped),))
        yield Query(report.queries["grouped_products"])


def _expert_table(experts: Sequence[ExpertWork]) -> Table:
    return make_table(
        experts,
        {
            "expert": lambda expert: str(expert.expert),
            "layer": lambda expert: maybe(Name, expert.place and expert.place.rpartition("/")[2]),
            "calls": lambda expert: count(expert.calls),
            "tokens": lambda expert: maybe(count, expert.tokens),
            "time": lambda expert: duration(expert.dur_ns),
            "of the mean": lambda expert: maybe(lambda load: f"{load:.2f}x", expert.load),
        },
        text=(1,),
    )


def _describe_grouped(products: Sequence[GroupedProduct]) -> str:
    """Return a sentence on operators that compute experts together: their calls, and the rows of all experts where known."""
    told = ", ".join(
        f"{product.name} ({count(product.calls)} calls{_tell_rows(product.rows)})" for product in products[:_MOST_LINES]
    )
    return f"Experts that are computed together: {told}. Cannot tell how many tokens each of them gets: shapes have the sum."


def _tell_rows(rows: int | None) -> str:
    return "" if rows is None else f", {count(rows)} rows"
