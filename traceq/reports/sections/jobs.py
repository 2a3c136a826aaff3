"""Ranks as one job: who is there, who holds up the others, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.ranks import list_ranks
from traceq.common.units import duration, share, some
from traceq.diagnosis.job.finding import JobFinding
from traceq.reports.document import Block, Ledger, LedgerRow, Literal, Name, Paragraph, Spans, Verdict, split_code
from traceq.reports.model import Job, Straggler, TraceReport

# What a change of less is worth no sentence.
_SAME = 1.05
# A call that took less than so many times what it takes elsewhere explains nothing.
_FAR_LONGER = 3

_MOST_IN_A_SENTENCE = 2

_RECORD_RANKS: Spans = (
    "Record all ranks over the same steps, with what matches their collectives: ",
    Literal("traceq doctor --plan communication"),
)

# A recording that is shorter than this share of the longest is called short.
_SHORT = 0.95

_PATTERNS = {
    "alternating": "They take turns: fix them together, because single savings do not add up",
    "transient": "At most a tenth of the steps account for half of it: look at those",
    "wandering": "A different rank is late each time: check input lengths, data loading, garbage collection",
}


def find_job(jobs: Sequence[Job]) -> Job | None:
    """Return the job of several ranks in the database; None if there is none or more than one."""
    several = [job for job in jobs if job.ranks > 1]
    return several[-1] if len({job.job for job in several}) == 1 else None


# Of the time of a job: what it waits for before its first collective is more than a border of the window.
_MUCH = 0.05

# Of the time of a job: where transfers take more, and more than late ranks do, they come first.
_MOSTLY_TRANSFER = 0.5

# A collective that takes so many times the median of its kind is told with it.
_OUTLIER = 2


def holds_up(job: Job) -> bool:
    """Return whether late ranks make the job much slower, so that no rank can be judged by itself."""
    return bool(job.stragglers) or (job.slowdown or 0) >= _SAME


def summarize_job(job: Job) -> str:
    """Return a sentence on the rank that holds up the job and the cost per step; empty if none does."""
    if not job.stragglers or job.dur_ns is None or job.ideal_ns is None:
        return ""
    if (slow := _slow_stage(job, job.dur_ns - job.ideal_ns)) is not None:
        step, spread = (duration(ns / job.steps) for ns in (job.dur_ns, job.dur_ns - slow.adds_ns))
        return f"{_begin_sentence(slow.name)} has more work: {step} -> {spread} per step with equal stages."
    return (
        f"Late ranks: {duration(job.dur_ns / job.steps)} -> {duration(job.ideal_ns / job.steps)} per step with "
        f"all ranks equal; the others wait most for {job.stragglers[0].name}."
    )


def describe_rank_in_job(job: Job, report: TraceReport) -> str:
    """Return sentences on the rank that the job waits for, and on this trace's rank; empty if none holds it up."""
    told = summarize_job(job)
    mine = [each for each in job.members if each.trace_id == report.trace.trace_id]
    if not told or len(mine) != 1 or mine[0].win_ns is None:
        return told
    rank = mine[0]
    part = f" Rank {rank.rank} waits {duration((rank.wait_ns or 0) / job.steps)} for others"
    if (rank.win_ns or 0) < (job.claim_limit_ns or 0):
        return f"{told}{part}, and no other rank waits for it alone."
    alone = duration((rank.win_ns or 0) / job.steps)
    return f"{told}{part}; if it alone were like a typical one, that would save {alone}."


def list_present_ranks(job: Job) -> Paragraph:
    """Return which ranks of the job are present, and how exactly their times compare."""
    return Paragraph((_list_present(job),))


def split_path_of_job(job: Job) -> Iterator[Block]:
    """Yield the critical path of the job by kind of work; nothing if no time of it is known."""
    if job.dur_ns:
        yield _split_critical_path(job, job.dur_ns)


def win_of_job(job: Job, win_of_communication: float) -> float:
    """Return the share (0..1) of a step of the job that fixing what its verdict names is likely to win, 0 if that is unknown.

    Late ranks win what a replay without them saves, transfers what findings on communication do: `win_of_communication`, a
    share (0..1) of a step. Nobody knows how much of a late start the program itself loses.
    """
    if not job.dur_ns or job.ideal_ns is None:
        return 0.0
    slow = _slow_stage(job, job.dur_ns - job.ideal_ns)
    saved = job.dur_ns - job.ideal_ns if slow is None else slow.adds_ns
    late = saved / job.dur_ns if holds_up(job) else 0.0
    return max(late, win_of_communication) if _is_mostly_transfer(job, job.dur_ns) else late


def write_verdict_of_job(job: Job, deed: str = "", faults: Sequence[str] = ()) -> Verdict:
    """Return the verdict on the job: who holds it up, that nobody does, or that the traces cannot tell.

    `deed` is what to do about the rank that is waited for most; `faults` say which ranks' files are incomplete.
    """
    if job.dur_ns is None or job.ideal_ns is None or job.slowdown is None:
        why = job.cannot_tell or "its collectives have no usable times"
        reason: Spans = (f"{why[0].upper()}{why[1:]}",)
        return Verdict(("Cannot tell which rank is late.",), "cannot tell", lines=(reason, _RECORD_RANKS))
    step, ideal = duration(job.dur_ns / job.steps), duration(job.ideal_ns / job.steps)
    if not holds_up(job) and faults:
        return Verdict((f"Cannot tell which rank is late: {faults[0]}.",), "cannot tell", lines=(_RECORD_RANKS,))
    if _is_mostly_transfer(job, job.dur_ns):
        return _transfer_verdict(job, job.dur_ns, job.ideal_ns)
    if not holds_up(job) and (late := _late_start(job, job.dur_ns)):
        waited = f"The first collective waits {duration(job.late_start_ns)} of {duration(job.dur_ns)}"
        return Verdict((f"Late start: {late.unit} {late.because}",), "problem", lines=((waited,), split_code(late.fix)))
    if not holds_up(job):
        return Verdict((f"No rank holds up the others: {step} per step, {ideal} with all ranks equal",), "healthy")
    slow = _slow_stage(job, job.dur_ns - job.ideal_ns)
    return _late_verdict(job, deed, step, ideal) if slow is None else _slow_stage_verdict(job, slow, job.dur_ns)


def _late_verdict(job: Job, deed: str, step: str, ideal: str) -> Verdict:
    """Return the verdict that ranks are late; `step` and `ideal` are the time per step, and with usual ranks."""
    lines: list[Spans] = [
        (f"{step} -> {ideal} per step if every rank were like a typical one, {job.slowdown or 1:.2f}x as fast",)
    ]
    if job.pattern in _PATTERNS:
        lines.append((_PATTERNS[job.pattern],))
    if job.stragglers and deed and job.pattern != "wandering":
        lines.append((f"On {job.stragglers[0].name}: ", *split_code(deed)))
    named = job.stragglers if job.pattern != "wandering" else ()
    nobody = (
        "Ranks are late in turn" if job.pattern == "wandering" else "Ranks are late, but none by enough to be named"
    )
    said = f"Late ranks: the others wait for {_join_names(named)}" if named else nobody
    return Verdict((said,), "problem", lines=tuple(lines))


def _slow_stage(job: Job, saved: int) -> Straggler | None:
    """Return the stage that saves more, if all stages share what it has more, than usual ranks do (`saved`, ns); else None."""
    first = job.stragglers[0] if job.stragglers else None
    return first if first is not None and first.kind == "stage" and first.adds_ns > max(saved, 0) else None


def _slow_stage_verdict(job: Job, slow: Straggler, dur: int) -> Verdict:
    """Return the verdict that a stage has more work than the others, and what the job of `dur` ns gains at best if all share."""
    step, spread = (duration(ns / job.steps) for ns in (dur, dur - slow.adds_ns))
    shared: Spans = (f"{step} -> {spread} per step at best if all stages shared what it has more",)
    told = f"{_begin_sentence(slow.name)} of the pipeline has more work than the others"
    return Verdict((told,), "problem", lines=(shared,))


def _begin_sentence(words: str) -> str:
    """Return the words with a capital first letter."""
    return words[:1].upper() + words[1:]


def _is_mostly_transfer(job: Job, dur: int) -> bool:
    """Return whether transfers take most of the job's time of `dur` ns, and more than late ranks do."""
    # what waits for ranks that are not here looks like a transfer
    is_whole = not job.absent and not job.wait_absent_ns
    return is_whole and _moving_ns(job) > max(_MOSTLY_TRANSFER * dur, job.late_ns or 0, job.late_start_ns or 0)


def _moving_ns(job: Job) -> float:
    """Return the time of transfers on the critical path, ns, without the share of barriers, which move no data."""
    whole = sum(each.transfer_ns for each in job.collectives) or 1
    return (job.transfer_ns or 0) * sum(each.transfer_ns for each in job.collectives if each.op != "barrier") / whole


def _transfer_verdict(job: Job, dur: int, ideal: int) -> Verdict:
    """Return the verdict that transfers take most of the job, with late ranks second.

    `dur` is the job's time and `ideal` its time with all ranks usual, ns.
    """
    transfer, step = duration(_moving_ns(job) / job.steps), duration(dur / job.steps)
    lines: list[Spans] = []
    moving = [each for each in job.collectives if each.op != "barrier"]
    longest = max(moving, key=lambda each: each.longest_ns)
    if longest.longest_ns > _OUTLIER * longest.typical_ns:
        usual = f"the median of {some(longest.count, 'such collective')} is {duration(longest.typical_ns)}"
        lines.append((f"Longest: {longest.op.replace('_', '-')}, {duration(longest.longest_ns)}; {usual}",))
    if job.stragglers:
        alike = f"{step} -> {duration(ideal / job.steps)} per step if every rank were like a typical one"
        lines.append((f"Also late: {_join_names(job.stragglers)}; {alike}",))
    said = f"Communication holds up the job: transfers take {transfer} of {step} per step, in addition to waiting"
    return Verdict((said,), "problem", lines=tuple(lines))


def _late_start(job: Job, dur: int) -> JobFinding | None:
    """Pick the job's finding on the rank its first collective waits for; None without one, or if it is little of `dur` ns."""
    if (job.late_start_ns or 0) < _MUCH * dur:
        return None
    return next((each for each in job.findings if each.rule == "late-start"), None)


def _join_names(every: Sequence[Straggler]) -> str:
    """Return the first two names of the stragglers and the number of the others, as "rank 3, rank 5 and 2 others"."""
    shown = [each.name for each in every[:_MOST_IN_A_SENTENCE]]
    left = len(every) - len(shown)
    words = [*shown, some(left, "other")] if left else shown
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _split_critical_path(job: Job, dur: int) -> Ledger:
    """Return the job's critical path as a ledger: usual work, late ranks, transfers, late start.

    `dur` is its length, ns.
    """
    late, transfer, start = (job.late_ns or 0, job.transfer_ns or 0, job.late_start_ns or 0)
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


def _list_present(job: Job) -> str:
    """Return sentences on the job: its ranks, hosts, steps and windows, absent ranks, short recordings, clocks, replay error."""
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
        text += f" Absent: {list_ranks(missing)}; waiting for them looks like slow transfers."
    short = _find_short(job)
    if short:
        text += f" Recorded for less than 95 % of the longest: {list_ranks(short)}."
    if job.clock_residual_ns is not None and job.claim_limit_ns is not None:
        text += f" Clocks agree within {duration(job.clock_residual_ns)};"
        text += f" less than {duration(job.claim_limit_ns)} is not called late."
    if job.replay_error is not None:
        text += f" Replay error {share(job.replay_error)}."
    return text


def _find_short(job: Job) -> list[int]:
    """Return the ranks whose recording is shorter than 95 % of the longest one."""
    longest = max((each.recorded_ns or 0 for each in job.members), default=0)
    return [each.rank for each in job.members if (each.recorded_ns or longest) < _SHORT * longest]


def show_example(job: Job) -> Iterator[Block]:
    """Yield a sentence on a call that takes far longer on a late rank than on the usual one; nothing without one."""
    shown = [
        each
        for each in job.stragglers
        if (each.operator_dur_ns or 0) > _FAR_LONGER * (each.usual_operator_dur_ns or 0) > 0
    ]
    if shown:
        each = shown[0]
        where = "on the average of all ranks" if each.usual_rank is None else f"on rank {each.usual_rank}"
        usual = f"the same call {duration(each.usual_operator_dur_ns)} {where}."
        yield Paragraph(
            (
                f"For example {each.name}: ",
                Name(each.operator or ""),
                f" took {duration(each.operator_dur_ns)}, {usual}",
            )
        )
