"""The words about a what-if of another GPU or more ranks: the predicted step, what becomes the bottleneck, what is assumed."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.analysis.categories import BY_NAME
from traceq.common.units import UNKNOWN, duration, rate, share, short, some
from traceq.reports.document import Block, Facts, Heading, Items, Name, Spans, Verdict, make_table
from traceq.reports.whatif.answer import TimePart
from traceq.reports.whatif.platform import PlatformAnswer, PlatformCost, PlatformGroup, PlatformPart

PARTS = {
    "matrix": "kernels limited by arithmetic",
    "memory": "kernels limited by memory",
    "unknown": "kernels limited by either",
    "start": "kernels too short to scale",
    "host_copy": "copies from and to the host",
    "peer_copy": "copies between GPUs",
    "communication": "collectives",
    "kept": "work with unknown limits, kept",
}

# Rows of the table of the critical path.
_LIMITS = 4
# A step that changes by less than this share does not change.
_NOTHING = 0.01


def compose_platform(found: PlatformAnswer) -> Iterator[Block]:
    """Yield the whole answer: verdict, facts, work of the GPU by what limits it, critical path then, and what is assumed."""
    yield Heading(1, ("traceq whatif",))
    yield Verdict(_say_verdict(found), "cannot tell" if found.after_low_ns is None else "problem")
    yield Facts(tuple(_list_facts(found)))
    if found.parts:
        yield make_table(
            found.parts,
            {
                "work of the GPU": lambda part: PARTS.get(part.part, part.part),
                "slices": lambda part: short(part.slices),
                "per step": lambda part: duration(round(part.dur_ns)),
                "then": lambda part: duration(round(part.likely_ns)),
                "possible": lambda part: f"{duration(round(part.low_ns))} to {duration(round(part.high_ns))}",
            },
        )
    if found.groups:
        yield make_table(
            found.groups,
            {
                "group": lambda group: Name(group.group or "-"),
                "axis": lambda group: group.axis or UNKNOWN,
                "ranks": _format_ranks,
                "collectives": lambda group: str(group.collectives),
            },
            text=(0, 1),
        )
    if found.limits:
        yield from _tabulate_limits(found)
    if found.assumed:
        yield Heading(3, ("What is assumed",))
        yield Items(tuple((text,) for text in found.assumed))


def name_platform(found: PlatformAnswer) -> str:
    """Return the changes in words: "64 ranks of B200"."""
    named = []
    if found.ranks_then is not None:
        named.append(some(found.ranks_then, "rank"))
    if found.gpu_then is not None and (found.gpu_then != found.gpu or not named):
        named.append(found.gpu_then)
    return " of ".join(named)


def _say_verdict(found: PlatformAnswer) -> Spans:
    if found.after_ns is None or not found.recorded_ns or found.after_low_ns is None or found.after_high_ns is None:
        if found.after_low_ns is None or found.after_high_ns is None:
            return (f"Cannot tell: {found.reason}.",)
        possible = f"{duration(round(found.after_low_ns))} to {duration(round(found.after_high_ns))}"
        return (f"On {name_platform(found)} the step would take {possible}; only bounds: {found.reason}.",)
    now, then = found.recorded_ns, found.after_ns
    possible = f"{duration(round(found.after_low_ns))} to {duration(round(found.after_high_ns))} possible"
    if abs(then / now - 1) < _NOTHING:
        return (
            f"On {name_platform(found)} the step would take about as long as now, {duration(round(now))}; {possible}.",
        )
    by = f"{rate(now / then)} times as fast" if then < now else f"{rate(then / now)} times as long"
    times = f"{duration(round(then))} instead of {duration(round(now))}"
    return (f"On {name_platform(found)} the step would take {times} ({by}); {possible}.",)


def _list_facts(found: PlatformAnswer) -> Iterator[tuple[str, Spans]]:
    rank = "" if found.rank is None else f", rank {found.rank}"
    yield "trace", (f"{found.trace_id}{rank}: ", Name(found.file))
    might_be = f" (also: {', '.join(found.gpu_might_be)})" if found.gpu_might_be else ""
    if found.gpu_then != found.gpu:
        yield "GPU", (f"{found.gpu}, then {found.gpu_then}{might_be}",)
    elif found.gpu is not None:
        yield "GPU", (found.gpu,)
    if found.ranks_then is not None:
        yield "ranks", (f"{found.ranks}, then {found.ranks_then}",)
    if found.recorded_ns is not None:
        replayed = "" if found.replayed_ns is None else f", {duration(round(found.replayed_ns))} replayed"
        yield (
            "step now",
            (f"{duration(round(found.recorded_ns))} recorded{replayed}; mean of {some(found.steps, 'step')}",),
        )
    if found.after_low_ns is not None and found.after_high_ns is not None:
        likely = "" if found.after_ns is None else f"{duration(round(found.after_ns))}, "
        yield (
            "step then",
            (f"{likely}{duration(round(found.after_low_ns))} to {duration(round(found.after_high_ns))} possible",),
        )
    for cost in found.costs:
        yield f"time per {cost.what}", (_format_cost(cost),)
    if found.host_share is not None and found.host_share_before is not None:
        yield (
            "GPU waits for host",
            (f"{share(found.host_share_before)} of the step now, {share(found.host_share)} then",),
        )
    if found.error_share is not None:
        unexplained = (
            ""
            if found.unexplained_share is None
            else f"; nothing known explains {share(found.unexplained_share)} of it"
        )
        yield "replay error", (f"{share(found.error_share)} of the step{unexplained}",)


def _format_cost(cost: PlatformCost) -> str:
    low, high = duration(round(cost.low_ns)), duration(round(cost.high_ns))
    return f"{duration(round(cost.now_ns))} now, {duration(round(cost.likely_ns))} then, {low} to {high} possible"


def _format_ranks(group: PlatformGroup) -> str:
    if group.ranks is None or group.ranks_then in (None, group.ranks):
        return UNKNOWN if group.ranks is None else f"{group.ranks}, as now"
    return f"{group.ranks} -> {group.ranks_then}"


def _tabulate_limits(found: PlatformAnswer) -> Iterator[Block]:
    """Yield the table of the critical path now and then, its largest parts then first."""
    before = {part.name: part.dur_ns for part in found.limits_before}
    whole = sum(part.dur_ns for part in found.limits)
    yield make_table(
        sorted(found.limits, key=lambda part: -part.dur_ns)[:_LIMITS],
        {
            "critical path then": _name_limit,
            "now": lambda part: duration(round(before.get(part.name, 0.0))),
            "then": lambda part: duration(round(part.dur_ns)),
            "share": lambda part: share(part.dur_ns / whole) if whole else UNKNOWN,
        },
    )


def _name_limit(part: TimePart) -> str:
    return BY_NAME[part.name].words if part.name in BY_NAME else part.name


def order_parts(parts: list[PlatformPart]) -> tuple[PlatformPart, ...]:
    """Return the parts, longest first."""
    return tuple(sorted(parts, key=lambda part: -part.dur_ns))
