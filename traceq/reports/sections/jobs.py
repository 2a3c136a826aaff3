"""Ranks as one job: who is there, who holds up the others, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from traceq.analysis.categories import label
from traceq.common.units import duration, share, some
from traceq.reports.document import Block, Ledger, LedgerRow, Name, Paragraph, Spans, Verdict, table, with_code
from traceq.reports.model import Job, Straggler, TraceReport

# What a change of less is worth no sentence.
_SAME = 1.05
_MOST_NAMED = 4

# A call that took less than so many times what it takes elsewhere explains nothing.
_FAR_LONGER = 3

_MOST_IN_A_SENTENCE = 2

# A recording that is shorter than this share of the longest is called short.
_SHORT = 0.95
_MOST_LISTED = 8

_PATTERNS = {
    "alternating": "They take turns: fix them together, single savings do not add up",
    "transient": "At most a tenth of the steps hold half of it: look at those",
    "wandering": "A different rank is late each time: lengths of inputs, data loading, garbage collection",
}


def judged(jobs: Sequence[Job]) -> Job | None:
    """The job of all the traces, where there is one only and it has several ranks here."""
    several = [job for job in jobs if job.ranks > 1]
    return several[-1] if len({job.job for job in several}) == 1 else None


def holds_up(job: Job) -> bool:
    """Whether ranks that are late make the job much slower, so that no rank can be judged by itself."""
    return bool(job.stragglers) or (job.slowdown or 0) >= _SAME


def in_a_line(job: Job) -> str:
    """Who holds up the job, and what that costs; empty where nobody does."""
    if not job.stragglers or job.dur is None or job.ideal is None:
        return ""
    return (
        f"Late ranks: {duration(job.dur / job.steps)} -> {duration(job.ideal / job.steps)} per step with all ranks alike;"
        f" the others wait most for {job.stragglers[0].name}."
    )


def of_rank(job: Job, report: TraceReport) -> str:
    """What the job waits for, and what this rank has to do with it; empty where nobody holds it up."""
    told = in_a_line(job)
    mine = [each for each in job.members if each.trace_id == report.trace.trace_id]
    if not told or len(mine) != 1 or mine[0].win is None:
        return told
    rank = mine[0]
    part = f" Rank {rank.rank} waits {duration((rank.wait or 0) / job.steps)} for others"
    if (rank.win or 0) < (job.claim_limit or 0):
        return f"{told}{part}, and no other waits for it alone."
    alone = duration((rank.win or 0) / job.steps)
    return f"{told}{part}; if it alone were like the usual one, that would save {alone}."


def verdict_of_job(job: Job, deed: str = "") -> Iterator[Block]:
    """Who is there, how long a step takes and would take, where it goes, and who makes the difference.

    `deed` is what to do about the rank that is waited for most.
    """
    yield Paragraph((_present(job),))
    yield _verdict(job, deed)
    if job.dur:
        yield _reasons(job, job.dur)
    if job.stragglers:
        yield from _stragglers(job)


def _verdict(job: Job, deed: str) -> Verdict:
    """Who holds up the job, that nobody does, or that the traces cannot tell."""
    if job.dur is None or job.ideal is None or job.slowdown is None:
        why = job.cannot_tell or "its collectives tell no time"
        return Verdict(("Cannot tell which rank is late.",), "cannot tell", lines=((f"{why[0].upper()}{why[1:]}",),))
    step, ideal = duration(job.dur / job.steps), duration(job.ideal / job.steps)
    if not holds_up(job):
        return Verdict((f"No rank holds up the others: {step} per step, {ideal} with all ranks alike",), "healthy")
    lines: list[Spans] = [
        (f"{step} -> {ideal} per step if every rank were like the usual one, {job.slowdown:.2f}x as fast",)
    ]
    if job.pattern in _PATTERNS:
        lines.append((_PATTERNS[job.pattern],))
    if job.stragglers and deed:
        lines.append((f"On {job.stragglers[0].name}: ", *with_code(deed)))
    said = f"Late ranks: the others wait for {_names(job.stragglers)}" if job.stragglers else "Ranks are late in turn"
    return Verdict((said,), "problem", lines=tuple(lines))


def _names(every: Sequence[Straggler]) -> str:
    shown = [each.name for each in every[:_MOST_IN_A_SENTENCE]]
    left = len(every) - len(shown)
    words = [*shown, some(left, "other")] if left else shown
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _reasons(job: Job, dur: int) -> Ledger:
    """The critical path of the job: what all ranks wait for, and what each would do anyway."""
    late, transfer, start = (job.late or 0, job.transfer or 0, job.late_start or 0)
    parts = {
        "usual work": max(dur - late - transfer - start, 0),
        "late ranks": late,
        "transfer": transfer,
        "late start": start,
    }
    labels = {
        "usual work": "usual work of the ranks",
        "late ranks": "waiting for late ranks",
        "transfer": "transfer in collectives",
        "late start": "before the first collective",
    }
    rows = [
        LedgerRow(labels[kind], kind, ns / dur, duration(ns / job.steps))
        for kind, ns in sorted(parts.items(), key=lambda each: -each[1])
        if ns
    ]
    return Ledger(("Where a step of the job goes",), f"{duration(dur / job.steps)} per step", tuple(rows))


def _present(job: Job) -> str:
    of = "" if job.world_size is None else f" of {job.world_size}"
    parts = [f"Job {job.name or ''}".strip() + f": {job.ranks}{of} ranks"]
    if job.hosts:
        parts.append(some(job.hosts, "host"))
    parts.append(some(job.steps, "step"))
    if job.windows > 1:
        parts.append(f"window {job.time_window + 1} of {job.windows}")
    text = ", ".join(parts) + "."
    if job.absent and job.absent > 0:
        present = {each.rank for each in job.members}
        missing = [rank for rank in range(job.world_size or 0) if rank not in present]
        text += f" Absent: {numbers(missing)}; waiting for them looks like slow transfers."
    short = _short(job)
    if short:
        text += f" Recorded less than 95 % of the longest: {numbers(short)}."
    if job.clock_residual is not None and job.claim_limit is not None:
        text += f" Clocks agree within {duration(job.clock_residual)}; less than {duration(job.claim_limit)} is not called late."
    if job.replay_error is not None:
        text += f" Replay error {share(job.replay_error)}."
    return text


def numbers(ranks: Collection[int]) -> str:
    """Some ranks in words: "ranks 0-3, 6 and 20 more"."""
    spans: list[list[int]] = []
    for rank in sorted(ranks):
        if spans and rank == spans[-1][-1] + 1:
            spans[-1].append(rank)
        else:
            spans.append([rank])
    words = [str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in spans]
    left = sum(map(len, spans[_MOST_LISTED:]))
    *most, last = [*words[:_MOST_LISTED], f"{left} more"] if left else words
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(most)}{' and ' if most else ''}{last}"


def _short(job: Job) -> list[int]:
    longest = max((each.recorded or 0 for each in job.members), default=0)
    return [each.rank for each in job.members if (each.recorded or longest) < _SHORT * longest]


def _stragglers(job: Job) -> Iterator[Block]:
    step = (job.dur or 0) / job.steps
    until = {each.name: sum(above.adds for above in job.stragglers[:at]) for at, each in enumerate(job.stragglers, 1)}
    columns: dict[str, Callable[[Straggler], str]] = {
        "held up by": _called,
        "saves alone": lambda each: duration(each.win / job.steps),
        "with those above": lambda each: duration(until[each.name] / job.steps),
        "share": lambda each: share(until[each.name] / job.steps / step) if step else "-",
        "because": lambda each: _because(each, job),
    }
    named = job.stragglers[:_MOST_NAMED]
    yield table(named, columns, text=(0, 4))
    if len(job.stragglers) > len(named):
        left = job.stragglers[_MOST_NAMED:]
        adds = duration(sum(each.adds for each in left) / job.steps)
        yield Paragraph((f"{some(len(left), 'more')}: {', '.join(each.name for each in left)} ({adds}).",))
    shown = [each for each in named if (each.operator_dur or 0) > _FAR_LONGER * (each.usual_operator_dur or 0) > 0]
    if shown:
        each = shown[0]
        where = "on the average of all ranks" if each.usual_rank is None else f"on rank {each.usual_rank}"
        usual = f"the same call {duration(each.usual_operator_dur)} {where}."
        yield Paragraph(
            (f"For example {each.name}: ", Name(each.operator or ""), f" took {duration(each.operator_dur)}, {usual}")
        )


def _called(each: Straggler) -> str:
    """A rank by its number, a host or a stage with its ranks."""
    return Name(each.name) if each.kind == "rank" else Name(f"{each.name}, {numbers(each.ranks)}")


def _because(each: Straggler, job: Job) -> str:
    if each.cause is None or each.cause_ns is None:
        return "-"
    return f"{label(each.cause)} +{duration(each.cause_ns / job.steps)}"
