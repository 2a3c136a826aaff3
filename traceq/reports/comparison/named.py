"""The words about what a change is put down to."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.analysis.categories import OF_HOST, in_words
from traceq.common.text import shortened
from traceq.common.units import change, change_share, rate, share
from traceq.reports.comparison.job import moved
from traceq.reports.comparison.words import describe_same_copy, interval
from traceq.reports.document import Name, Spans
from traceq.runs.compare.comparison import CHANGED, AcrossTheBoard, Comparison, NamedCause
from traceq.runs.compare.kernel_name import canonical

_NAME_WIDTH = 60
_GRAPHED = {True: "now in CUDA graphs", False: "no longer in CUDA graphs"}
_OTHERWISE = {
    "new": "new",
    "vanished": "gone",
    "renamed": "another kernel of that name",
    "re-tuned": "another kernel for the same operator",
    "same role": "another kernel of the same role",
    "resized": "another launch shape or size",
}
_SAME = {"compute": " at the same shape", "communication": " at the same size"}


def mostly(comparison: Comparison) -> Spans:
    """The first cause, to end the verdict with; nothing where there is no verdict on a change."""
    if not _is_change(comparison) or comparison.change is None:
        return ()
    if comparison.job is not None:
        return moved(comparison.job)
    if not comparison.named:
        sign = 1 if comparison.change.delta_ns > 0 else -1
        largest = max(comparison.causes, key=lambda cause: sign * cause.delta_ns)
        said = f"{in_words(largest.category)} ({largest.category}, {change(largest.delta_ns)}; {interval(largest)})"
        return (f". No part of it is sure on its own; the largest is {said}",)
    first = comparison.named[0]
    words = "Most of it" if abs(first.delta_ns) * 2 >= abs(comparison.change.delta_ns) else "The largest part"
    return (f". {words}: ", *told(first))


def told(cause: NamedCause) -> Spans:
    """The category in words, its change, and the part that stands for it."""
    begins = f"{in_words(cause.category)} ({cause.category}, {change(cause.delta_ns)})"
    if cause.part is None:
        return (f"{begins}, no single part for sure",)
    name = cause.part.name or ""
    is_kernel = cause.category in _SAME and ("(" in name or "<" in name)
    first = shortened(canonical(name) if is_kernel else name, _NAME_WIDTH)
    return (f"{begins}, mostly ", Name(first), f": {did(cause)}, {change(cause.part.delta_ns)}")


def did(cause: NamedCause) -> str:
    """What the part did: 1.20x slower at the same shape, 12 % more often (8 -> 9 a step)."""
    part = cause.part
    if part is None or cause.how is None:
        raise ValueError(f"{cause.category}: no part stands for it")
    if cause.how == "graphed":
        return _GRAPHED[any("graph" in name.lower() for name in part.new_names)]
    if cause.how in _OTHERWISE or cause.per_call is None or cause.calls is None:
        return describe_same_copy(part) if cause.how == "other memory" else _OTHERWISE.get(cause.how, cause.how)
    often = f"{rate(part.base_count)} -> {rate(part.new_count)} a step"
    if cause.how in ("more", "fewer"):
        return f"{share(abs(cause.calls - 1))} {'more' if cause.how == 'more' else 'less'} often ({often})"
    if cause.how == "both":
        return f"{often}, each {rate(cause.per_call)}x as long"
    if cause.category.startswith("idle_"):
        return f"each wait {rate(cause.per_call)}x as long"
    factor = cause.per_call if cause.how == "slower" else 1 / cause.per_call
    size = "" if cause.category.startswith(OF_HOST) else _SAME.get(cause.category, " at the same size")
    return f"{rate(factor)}x {cause.how}{size}"


def others(comparison: Comparison) -> Iterator[Spans]:
    """The causes after the first, or what changed for sure where the step did not, and what is so of all kernels."""
    if _is_change(comparison):
        yield from (("Also ", *told(cause), ".") for cause in comparison.named[1:])
    else:
        yield from (("Sure all the same: ", *told(cause), ".") for cause in comparison.named)
    if comparison.across is not None:
        yield (_across(comparison.across),)


def _is_change(comparison: Comparison) -> bool:
    return comparison.verdict in CHANGED


def _across(across: AcrossTheBoard) -> str:
    return (
        f"Kernels are {rate(across.factor if across.factor > 1 else 1 / across.factor)}x "
        f"{'slower' if across.factor > 1 else 'faster'} across the board: {across.kernels} of {across.of} at the same shape, "
        f"{share(across.share)} of their time, by about {change_share(across.factor - 1)}. Clocks (power, temperature), "
        "another GPU or a neighbour on it do that; one kernel's code does not."
    )
