"""Ranks as one job: who is there, who holds up the others, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.analysis.categories import label
from traceq.common.units import duration, share, some
from traceq.reports.document import Block, Heading, Name, Paragraph, Reference, Verdict, table
from traceq.reports.model import Job, JobRank, Straggler

# What a change of less is worth no sentence.
_SAME = 1.05
_MOST_NAMED = 4

# A call that took less than so many times what it takes elsewhere explains nothing.
_FAR_LONGER = 3

_MOST_IN_A_SENTENCE = 2

# A start that takes more of the time is told.
_LONG_START = 0.05
_MOST_ABSENT = 8

_PATTERNS = {
    "alternating": "They take turns: fix them together, single savings do not add up",
    "transient": "At most a tenth of the steps hold half of it: look at those",
    "wandering": "A different rank is late each time: lengths of inputs, data loading, garbage collection",
}


def judged(jobs: Sequence[Job]) -> Job | None:
    """The job of all the traces, where there is one only and it has several ranks here."""
    several = [job for job in jobs if job.ranks > 1]
    return several[-1] if len({job.job for job in several}) == 1 else None


def in_a_line(job: Job) -> str:
    """Who holds up the job, and what that costs; empty where nobody does."""
    if not job.stragglers or job.dur is None or job.ideal is None:
        return ""
    return (
        f"Late ranks: {duration(job.dur / job.steps)} -> {duration(job.ideal / job.steps)} per step with all ranks alike;"
        f" the others wait most for {job.stragglers[0].name}."
    )


def verdict_of_job(job: Job) -> Iterator[Block]:
    """Who is there, how long a step takes and would take, and who makes the difference."""
    yield Paragraph((_present(job),))
    yield _verdict(job)
    if job.stragglers:
        yield from _stragglers(job)


def _verdict(job: Job) -> Verdict:
    """Who holds up the job, that nobody does, or that the traces cannot tell."""
    if job.dur is None or job.ideal is None or job.slowdown is None:
        why = job.cannot_tell or "its collectives tell no time"
        return Verdict(("Cannot tell which rank is late.",), "cannot tell", lines=((f"{why[0].upper()}{why[1:]}",),))
    step, ideal = duration(job.dur / job.steps), duration(job.ideal / job.steps)
    if job.slowdown < _SAME and not job.stragglers:
        return Verdict((f"No rank holds up the others: {step} per step, {ideal} with all ranks alike",), "healthy")
    lines = [(f"{step} -> {ideal} per step if every rank were like the usual one, {job.slowdown:.2f}x as fast",)]
    if job.pattern in _PATTERNS:
        lines.append((_PATTERNS[job.pattern],))
    if job.late_start is not None and job.late_start > _LONG_START * job.dur:
        early = duration(job.late_start / job.steps)
        lines.append((f"{early} pass before the first collective: ranks began apart, which no fix is promised for",))
    said = f"Late ranks: the others wait for {_names(job.stragglers)}" if job.stragglers else "Ranks are late in turn"
    return Verdict((said,), "problem", lines=tuple(lines))


def _names(every: Sequence[Straggler]) -> str:
    shown = [each.name for each in every[:_MOST_IN_A_SENTENCE]]
    left = len(every) - len(shown)
    words = [*shown, some(left, "other")] if left else shown
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _present(job: Job) -> str:
    of = f" of {job.world_size}" if job.world_size is not None and job.absent else ""
    parts = [f"Job {job.name or ''}".strip() + f": {job.ranks}{of} ranks"]
    if job.hosts and job.hosts > 1:
        parts.append(some(job.hosts, "host"))
    parts.append(some(job.steps, "step"))
    if job.windows > 1:
        parts.append(f"window {job.time_window + 1} of {job.windows}")
    text = ", ".join(parts) + "."
    if job.absent and job.absent > 0:
        text += f" {_absent(job)}"
    if job.short_ranks:
        text += f" {some(job.short_ranks, 'rank')} recorded less than 95 % of the longest."
    if job.clock_residual is not None and job.claim_limit is not None:
        text += f" Clocks agree within {duration(job.clock_residual)}; less than {duration(job.claim_limit)} is not called late."
    return text


def _absent(job: Job) -> str:
    present = {each.rank for each in job.members}
    missing = [rank for rank in range(job.world_size or 0) if rank not in present]
    shown = ", ".join(map(str, missing[:_MOST_ABSENT]))
    more = f" and {len(missing) - _MOST_ABSENT} more" if len(missing) > _MOST_ABSENT else ""
    return f"Absent: {shown}{more}; waiting for them looks like slow transfers."


def _stragglers(job: Job) -> Iterator[Block]:
    step = (job.dur or 0) / job.steps
    columns: dict[str, Callable[[Straggler], str]] = {
        "held up by": lambda each: Name(each.name),
        "saves": lambda each: duration(each.adds / job.steps),
        "share": lambda each: share(each.adds / job.steps / step) if step else "-",
        "alone": lambda each: duration(each.win / job.steps),
        "trace": lambda each: Reference(f"t{each.trace_id}"),
        "because": _because,
    }
    named = job.stragglers[:_MOST_NAMED]
    yield table(named, columns, text=(0, 4, 5))
    shown = [each for each in named if (each.operator_dur or 0) > _FAR_LONGER * (each.usual_operator_dur or 0) > 0]
    if shown:
        each = shown[0]
        usual = f"the same call {duration(each.usual_operator_dur)} on rank {each.usual_rank}."
        yield Paragraph(
            (f"For example {each.name}: ", Name(each.operator or ""), f" took {duration(each.operator_dur)}, {usual}")
        )


def _because(each: Straggler) -> str:
    if each.cause is None or each.cause_ns is None:
        return "-"
    return f"{label(each.cause)} +{duration(each.cause_ns)}"


def ranks_of_job(job: Job) -> Iterator[Block]:
    """A line for each rank: what it does by itself, and what it waits for others."""
    if job.dur is None:
        return
    yield Heading(3, ("Ranks of the job",))
    columns: dict[str, Callable[[JobRank], str]] = {
        "rank": lambda each: str(each.rank),
        "own": lambda each: per_step(each.own, job),
        "transfer": lambda each: per_step(each.transfer, job),
        "wait": lambda each: per_step(each.wait, job),
        "last in": lambda each: "-" if each.late_count is None else str(each.late_count),
        "saves alone": lambda each: per_step(each.win, job),
    }
    yield table(job.members, columns)


def per_step(value: int | None, job: Job) -> str:
    """A time of all steps as it is in one; a dash where it is not known."""
    return "-" if value is None else duration(value / job.steps)
