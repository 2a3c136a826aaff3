"""The words about what changed in a job: the step over all ranks, who changed, and whose change moved it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.analysis.categories import in_words
from traceq.common.units import change, count, duration, maybe, some
from traceq.reports.comparison.words import format_confidence
from traceq.reports.document import Block, Heading, Items, Name, Paragraph, Spans, Table
from traceq.runs.compare.comparison import Comparison
from traceq.runs.job.change import JobChange, JobSide, UnitChange
from traceq.runs.job.job import JobOfRun, JobStraggler

_MOST_TOLD = 3
_LISTED = 5


def describe_moved(job: JobChange) -> Spans:
    """Return the end of a job's verdict: up to 3 ranks, hosts or stages that moved the step, or that none did."""
    if not job.moved:
        return (f". {explain_nobody(job)}",)
    told = [span for unit in job.moved[:_MOST_TOLD] for span in (*_describe_unit(unit), "; ")]
    more = len(job.moved) - _MOST_TOLD
    return (". The change comes from ", *told[:-1], *((f"; and {some(more, 'other')}",) if more > 0 else ()))


def explain_nobody(job: JobChange) -> str:
    """Return the sentence, without a period, that no single rank moved the step, with the usual rank's change of own time."""
    return f"No rank contributed more than the others: own time of the typical rank {change(job.usual_delta_ns)}"


def _describe_unit(unit: UnitChange) -> Spans:
    """Return a rank, host or stage in words: what it costs the job per step before and now, and its change of own time."""
    costs = f"it costs the job {maybe(duration, unit.base_cost_ns)} per step before, {maybe(duration, unit.new_cost_ns)} now"
    own = f"own time {change(unit.own_delta_ns)}"
    return (Name(unit.name), f" ({costs}; {own})")


def compose_job(comparison: Comparison, job: JobChange, top: int) -> Iterator[Block]:
    """Yield the section on a job: both sides, its ranks, hosts and stages (at most `top`), and stragglers that come or go."""
    if comparison.verdict == "cannot tell" and job.moved:
        yield Paragraph((_introduce_moved(job), *describe_moved(job)[1:], "."))
    yield Heading(3, ("The job",), anchor="job")
    yield Table(("", "base", "new", "change"), tuple(_list_rows(job)))
    yield from _compose_units(comparison, job, top)
    yield from _compose_stragglers(job)


def _compose_stragglers(job: JobChange) -> Iterator[Block]:
    """Yield a list of the stragglers that only one side has, at most 5 of each side; nothing if there are none."""
    found = (
        *(("no longer: ", *_describe_straggler(straggler)) for straggler in job.stragglers_gone[:_LISTED]),
        *(("now: ", *_describe_straggler(straggler)) for straggler in job.stragglers_new[:_LISTED]),
    )
    if found:
        yield Paragraph(("Ranks that now delay the job, and ranks that no longer do:",))
        yield Items(found)


def _introduce_moved(job: JobChange) -> str:
    """Return the words before the list of ranks that moved the step, for a comparison without a verdict."""
    known = any(unit.interval_ns is not None for unit in job.moved)
    return (
        "By measurement, these moved the step: "
        if known
        else "By measurement, these moved the step, though it may be chance: "
    )


def _list_rows(job: JobChange) -> Iterator[tuple[str, ...]]:
    """Yield the table rows on both sides of a job: ranks, step without late ranks, slowdown by late ranks, who is late."""
    base, new = job.base, job.new
    yield "ranks", _describe_ranks(base), _describe_ranks(new), ""
    yield "if all ranks were typical", *_make_cells(base.ideal_ns, new.ideal_ns)
    factor = "-"
    if base.slowdown is not None and new.slowdown is not None:
        factor = f"{new.slowdown - base.slowdown:+.2f}"
    yield "slowdown by late ranks", *(maybe(_format_factor, each.slowdown) for each in (base, new)), factor
    if base.patterns or new.patterns:
        yield "who is late", *(", ".join(each.patterns) or "-" for each in (base, new)), ""


def _format_factor(value: float) -> str:
    return f"{value:.2f}x"


def _describe_ranks(side: JobSide) -> str:
    """Return how many ranks of how many a side has, on how many hosts and in how many jobs, as "8 of 16, 2 hosts"."""
    of = f" of {count(side.world_size)}" if side.world_size is not None else ""
    hosts = f", {some(side.hosts, 'host')}" if side.hosts else ""
    jobs = f", {some(side.jobs, 'job')}" if side.jobs > 1 else ""
    return f"{count(len(side.ranks))}{of}{hosts}{jobs}"


def _make_cells(base: int | None, new: int | None) -> tuple[str, str, str]:
    """Return the table cells of two times in ns: base, new and difference; a dash where one is None."""
    delta = None if base is None or new is None else new - base
    return maybe(duration, base), maybe(duration, new), maybe(change, delta)


def _compose_units(comparison: Comparison, job: JobChange, top: int) -> Iterator[Block]:
    """Yield a table of the first `top` ranks, hosts and stages with own, waiting and cost time per step; nothing without any."""
    if not job.units:
        return
    yield Heading(4, ("Ranks, hosts and stages, largest contribution first",))
    yield Paragraph(
        (
            (
                "Per step. Own time excludes waiting for other ranks. Cost is what the job would save if this rank, host or "
                "stage were typical."
            ),
        )
    )
    rows = [_make_row(unit) for unit in job.units[:top]]
    title = f"{format_confidence(comparison.level)} interval"
    yield Table(("who", "own", "new", "change", title, "waits", "new", "costs", "new"), tuple(rows), text_columns=(0,))
    left = job.units[top:]
    if left:
        yield Paragraph((f"... and {count(len(left))} more{_describe_spread(left)}.",))


def _describe_spread(units: Sequence[UnitChange]) -> str:
    """Return the range of the changes of own time of the units that the table leaves out, as a relative clause."""
    deltas = [unit.own_delta_ns for unit in units]
    return f", whose own time changed by {change(min(deltas))} to {change(max(deltas))}"


def _make_row(unit: UnitChange) -> tuple[str, ...]:
    """Return the table cells of a rank, host or stage: name, change of own time, its interval, waiting time and cost."""
    sure = "-" if unit.interval_ns is None else " to ".join(map(change, unit.interval_ns))
    return (
        Name(f"{unit.name}{' (moved it)' if unit.moved else ''}"),
        duration(unit.base_own_ns),
        duration(unit.new_own_ns),
        change(unit.own_delta_ns),
        sure,
        duration(unit.base_wait_ns),
        duration(unit.new_wait_ns),
        maybe(duration, unit.base_cost_ns),
        maybe(duration, unit.new_cost_ns),
    )


def _describe_straggler(each: JobStraggler) -> Spans:
    """Return a straggler in words: its name, what it adds to a step, and its cause if known."""
    cause = f", {in_words(each.cause)}" if each.cause else ""
    return (Name(each.name), f", {duration(each.adds_ns)} a step{cause}")


def list_facts(job: JobChange) -> Iterator[tuple[str, Spans]]:
    """Yield (label, text) of a job's change for a fact list: the ranks, the slowdown by late ranks, who moved the step."""
    yield "ranks", (f"{_describe_ranks(job.base)} before, {_describe_ranks(job.new)} now",)
    if job.base.slowdown is not None and job.new.slowdown is not None:
        yield (
            "slowdown by late ranks",
            (f"{_format_factor(job.base.slowdown)} before, {_format_factor(job.new.slowdown)} now",),
        )
    if job.moved:
        yield "moved by", describe_moved(job)[1:]


def compose_for_ticket(job: JobChange) -> Iterator[Block]:
    """Yield a job's change for a ticket: a table of both sides, up to 5 units that moved the step, and stragglers."""
    yield Table(("over all ranks", "base", "new", "change"), tuple(_list_rows(job)))
    if job.moved:
        yield Items(tuple(_describe_unit(unit) for unit in job.moved[:_LISTED]))
    else:
        yield Paragraph((f"{explain_nobody(job)}.",))
    yield from _compose_stragglers(job)


def summarize_job(job: JobOfRun) -> str:
    """Return a line on a baseline's job: its ranks and steps, and its slowdown by late ranks or why that is unknown."""
    steps = sum(step.excluded is None for step in job.steps)
    slow = (
        f"cannot tell: {job.cannot_tell}" if job.slowdown is None else f"{_format_factor(job.slowdown)} by late ranks"
    )
    return f"{some(len(job.ranks), 'rank')}, {some(steps, 'step')} over all ranks, slowdown {slow}"


def rank_title(job: JobChange) -> str:
    """Return the heading of the section on the one rank that is shown in detail, and whether its change moved the step."""
    is_moving = any(job.shown in unit.ranks for unit in job.moved)
    return f"Rank {job.shown}, {'whose change moved the step' if is_moving else 'as one of them'}"


def name_moved(job: JobChange) -> str:
    """Return up to 3 ranks, hosts or stages that moved the step as one text, for a failed budget; empty if none did."""
    return "; ".join("".join(map(str, _describe_unit(unit))) for unit in job.moved[:_MOST_TOLD])
