"""The words about a what-if of a trace or a job: the predicted step, how sure it is, and what limits it then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.analysis.categories import BY_NAME, HOST_LABELS
from traceq.common.ranks import list_ranks
from traceq.common.units import UNKNOWN, duration, share, some
from traceq.diagnosis.finding import Finding
from traceq.reports.document import Block, Facts, Heading, Literal, Name, Paragraph, Spans, Verdict, Warn, make_table
from traceq.reports.savings import speed_up_text
from traceq.reports.whatif.answer import Asked, Choices, JobAnswer, Saved, TimePart, WhatIfAnswer, WhatIfChoice

_WORDS = {
    "remove": "remove {what}",
    "scale": "scale {what} by {factor:g}",
    "overlap": "overlap {what} with kernels",
    "move": "move {what} to other threads ({factor:g})",
    "graph": "launch kernels as CUDA graphs",
    "transfer": "let collectives wait for no other rank",
}

# Rows of the tables, so that the answer fits a terminal of 25 lines.
_LIMITS = 3
_AMDAHL = 3
# A saving below this share of the step is none.
_NOTHING = 0.001


def compose_answer(found: WhatIfAnswer) -> Iterator[Block]:
    """Yield the whole answer to a what-if of one trace: verdict, facts, critical path then, and Amdahl's bounds."""
    yield Heading(1, ("traceq whatif",))
    yield Verdict(_say_verdict(found))
    if found.reason is not None and found.saved is not None:
        yield Warn((f"Only bounds: {found.reason}.",))
    yield Facts(tuple(_list_facts(found)))
    if found.limits:
        yield make_table(
            _choose_largest(found.limits, _LIMITS),
            {
                "critical path then" if found.error_share is not None else "training thread then": lambda part: (
                    _name_part(part.name)
                ),
                "per step": lambda part: duration(round(part.dur_ns)),
                "share": lambda part: share(part.dur_ns / found.after_ns) if found.after_ns else UNKNOWN,
            },
        )
    if found.ledger and found.recorded_ns:
        yield from _tabulate_amdahl(found.ledger, found.recorded_ns)


def compose_choices(found: Choices) -> Iterator[Block]:
    """Yield a table of the changes that are possible in one trace, or a verdict that there are none."""
    yield Heading(1, ("traceq whatif: what can be changed",))
    yield Facts((_name_trace(found),))
    if not found.choices:
        yield Verdict(("Nothing can be changed: the trace has no steps that can be replayed.",))
        return
    yield make_table(
        found.choices,
        {
            "what": lambda each: each.what,
            "per step": _format_time,
            "options": lambda each: " ".join(each.options),
            "meaning": lambda each: each.meaning,
        },
        text=(0, 2, 3),
    )
    yield Paragraph(
        (
            "GLOB is a name with * and ?, as in ",
            Literal("--scale 'kernel:*flash*' 0.5"),
            ". Options can be repeated and combined.",
        )
    )


def describe_changes(changes: Sequence[Asked]) -> str:
    """Return the changes as text: "remove idle_data; scale kernel:*flash* by 0.5"."""
    return "; ".join(_WORDS[change.kind].format(what=change.what, factor=change.factor) for change in changes)


def _name_trace(found: WhatIfAnswer | Choices) -> tuple[str, Spans]:
    rank = "" if found.rank is None else f", rank {found.rank}"
    return "trace", (f"{found.trace_id}{rank}: ", Name(found.file))


def _say_verdict(found: WhatIfAnswer) -> Spans:
    if found.saved is None or not found.replayed_ns:
        return (f"Cannot tell: {found.reason}.",)
    saved, step = found.saved, found.replayed_ns
    if max(abs(saved.low_ns), abs(saved.high_ns)) < _NOTHING * step:
        return ("The step would last as long as it does.",)
    if saved.likely_ns is None:
        by = f"at most {duration(round(saved.high_ns))}" if saved.low_ns <= 0 < saved.high_ns else _format_range(saved)
        return (f"The step would be {by} shorter.",)
    if abs(saved.likely_ns) < _NOTHING * step:
        return (f"The step would hardly change; at most it would be {duration(round(saved.high_ns))} shorter.",)
    more = "shorter" if saved.likely_ns > 0 else "longer"
    by = f"{duration(round(abs(saved.likely_ns)))} ({share(abs(saved.likely_ns) / step)})"
    return (
        f"The step would be {by} {more}: {duration(_round_ns(found.after_ns))} instead of {duration(round(step))}.",
    )


def _list_facts(found: WhatIfAnswer) -> Iterator[tuple[str, Spans]]:
    yield _name_trace(found)
    yield "asked", (Name(describe_changes(found.asked)),)
    if found.finding is not None:
        yield "finding", (_describe_finding(found.finding),)
    now = f"{duration(_round_ns(found.recorded_ns))} recorded"
    if found.replayed_ns is not None and found.error_share is not None:
        now += f", {duration(round(found.replayed_ns))} replayed"
    yield "step now", (f"{now}; mean of {some(found.steps, 'step')}",)
    if found.saved is not None:
        yield "step then", (_describe_step(found, found.saved),)
        likely = "" if found.saved.likely_ns is None else f"{duration(round(found.saved.likely_ns))}, "
        yield "saved", (f"{likely}{_format_range(found.saved)} possible",)
    if found.error_share is not None:
        unexplained = ""
        if found.unexplained_share is not None:
            unexplained = f"; nothing known explains {share(found.unexplained_share)} of the critical path"
        yield "replay error", (f"{share(found.error_share)} of the step{unexplained}",)


def _describe_finding(finding: Finding) -> str:
    """Return text on the finding whose time is taken away: its title and its saving."""
    low, high = duration(finding.saving_low_ns), duration(finding.saving_high_ns)
    likely = "" if finding.only_bounds else f"{duration(finding.saving_ns)}, "
    return f"{finding.title}: saves {likely}{low} to {high}, and no more than the time that the finding owns"


def _describe_step(found: WhatIfAnswer, saved: Saved) -> str:
    if saved.likely_ns is not None:
        return duration(_round_ns(found.after_ns))
    step = found.replayed_ns or 0.0
    return f"{duration(round(step - saved.high_ns))} to {duration(round(step - saved.low_ns))}"


def _tabulate_amdahl(ledger: Sequence[TimePart], step: float) -> Iterator[Block]:
    yield make_table(
        _choose_largest(ledger, _AMDAHL),
        {
            "step now": lambda part: _name_part(part.name),
            "per step": lambda part: duration(round(part.dur_ns)),
            "without it at least": lambda part: duration(round(max(step - part.dur_ns, 0.0))),
            "times as fast (Amdahl)": lambda part: speed_up_text(step, step - part.dur_ns),
        },
    )


def _choose_largest(parts: Sequence[TimePart], most: int) -> list[TimePart]:
    return sorted(parts, key=lambda part: (-part.dur_ns, part.name))[:most]


def _name_part(name: str) -> str:
    words = BY_NAME[name].words if name in BY_NAME else HOST_LABELS.get(name, name)
    return f"{name} ({words})" if words != name else name


def _format_time(each: WhatIfChoice) -> str:
    return "" if each.dur_ns is None else duration(round(each.dur_ns))


def _format_range(saved: Saved) -> str:
    return f"{duration(round(saved.low_ns))} to {duration(round(saved.high_ns))}"


def _round_ns(nanoseconds: float | None) -> int | None:
    return None if nanoseconds is None else round(nanoseconds)


def compose_job_answer(found: JobAnswer) -> Iterator[Block]:
    """Yield the whole answer to a what-if of a job: its verdict and facts."""
    yield Heading(1, ("traceq whatif",))
    yield Verdict((_say_job_verdict(found),))
    yield Facts(tuple(_list_job_facts(found)))


def _say_job_verdict(found: JobAnswer) -> str:
    who = list_ranks(found.ranks)
    like = f"With {who} like the usual rank"
    if found.recorded_ns - found.after_ns < _NOTHING * found.recorded_ns:
        return f"{like}, a step of the job still takes {duration(found.recorded_ns)}: no rank waits for that alone"
    saved = found.recorded_ns - found.after_ns
    faster = speed_up_text(found.recorded_ns, found.after_ns)
    return (
        f"{like}: {duration(found.recorded_ns)} -> {duration(found.after_ns)} per step, {faster} as fast"
        f" (saves {duration(saved)}, {share(saved / found.recorded_ns)})"
    )


def _list_job_facts(found: JobAnswer) -> Iterator[tuple[str, Spans]]:
    name = (", ", Name(found.name)) if found.name else ()
    yield "job", (some(found.of_ranks, "rank"), *name, f", {some(found.steps, 'step')}")
    yield (
        "changed",
        (f"own time of {list_ranks(found.ranks)} before collectives, to the median rank's at the same places",),
    )
    yield "all ranks alike", (f"{duration(found.ideal_ns)} per step",)
    if found.waited_for:
        yield "then late", (", ".join(found.waited_for),)
    yield "replay", (f"as recorded within {share(found.error_share)}",)
