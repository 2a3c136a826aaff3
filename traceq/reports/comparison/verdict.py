"""The sentence that a comparison begins with, and what a change is put down to."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.analysis.categories import OF_HOST, in_words
from traceq.common.text import shortened
from traceq.common.units import change, change_share, duration, rate, share, some
from traceq.reports.comparison.job import describe_moved
from traceq.reports.comparison.sides import shorten_reason
from traceq.reports.comparison.words import describe_same_copy, format_confidence, format_interval
from traceq.reports.document import Name, Spans
from traceq.runs.compare.comparison import CHANGED, LIKELY, AcrossTheBoard, Change, Comparison, NamedCause
from traceq.runs.compare.names import canonical_name

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


def first_cause(comparison: Comparison) -> Spans:
    """Return the end of the verdict that names the main cause, starting with ". "; empty if the step did not surely change.

    For a job, it names the ranks, hosts or stages that moved the step.
    """
    if not _is_change(comparison) or comparison.change is None:
        return ()
    if comparison.job is not None:
        return describe_moved(comparison.job)
    if not comparison.named:
        sign = 1 if comparison.change.delta_ns > 0 else -1
        largest = max(comparison.causes, key=lambda cause: sign * cause.delta_ns)
        said = (
            f"{in_words(largest.category)} ({largest.category}, {change(largest.delta_ns)}; {format_interval(largest)})"
        )
        return (f". No single part of it is certain; the largest is {said}",)
    first = comparison.named[0]
    words = "Most of it" if abs(first.delta_ns) * 2 >= abs(comparison.change.delta_ns) else "The largest part"
    return (f". {words} is ", *describe_cause(first))


def describe_cause(cause: NamedCause) -> Spans:
    """Return a cause in words: the category with its change, and the kernel, copy or other part that changed most in it."""
    begins = f"{in_words(cause.category)} ({cause.category}, {change(cause.delta_ns)})"
    if cause.part is None:
        return (f"{begins}, without a single part that certainly changed",)
    name = cause.part.name or ""
    is_kernel = cause.category in _SAME and ("(" in name or "<" in name)
    first = shortened(canonical_name(name) if is_kernel else name, _NAME_WIDTH)
    return (f"{begins}, mostly ", Name(first), f": {describe_part(cause)}, {change(cause.part.delta_ns)}")


def describe_part(cause: NamedCause) -> str:
    """Return how the cause's part changed, as "1.20x slower at the same shape" or "12 % more often (8 -> 9 a step)".

    Raises ValueError where the cause has no part.
    """
    part = cause.part
    if part is None or cause.how is None:
        raise ValueError(f"{cause.category}: no part stands for it")
    if cause.how == "graphed":
        return _GRAPHED[any("graph" in name.lower() for name in part.new_names)]
    if cause.how in _OTHERWISE or cause.per_call is None or cause.calls is None:
        return describe_same_copy(part) if cause.how == "other memory" else _OTHERWISE.get(cause.how, cause.how)
    often = f"{rate(part.base_count)} -> {rate(part.new_count)} per step"
    if cause.how in ("more", "fewer"):
        return f"{share(abs(cause.calls - 1))} {'more' if cause.how == 'more' else 'less'} often ({often})"
    if cause.how == "both":
        return f"{often}, each {rate(cause.per_call)}x as long"
    if cause.category.startswith("idle_"):
        return f"each wait {rate(cause.per_call)}x as long"
    factor = cause.per_call if cause.how == "slower" else 1 / cause.per_call
    size = "" if cause.category.startswith(OF_HOST) else _SAME.get(cause.category, " at the same size")
    return f"{rate(factor)}x {cause.how}{size}"


def other_causes(comparison: Comparison) -> Iterator[Spans]:
    """Yield a sentence for each cause after the first; if the step did not change, for each part that surely did.

    A sentence on a factor that all kernels share (such as lower clocks) comes last.
    """
    if _is_change(comparison):
        yield from (("Also ", *describe_cause(cause), ".") for cause in comparison.named[1:])
    else:
        yield from (("Certain nevertheless: ", *describe_cause(cause), ".") for cause in comparison.named)
    if comparison.across is not None:
        yield (_describe_across(comparison.across),)


def _is_change(comparison: Comparison) -> bool:
    """Return whether the verdict is a regression or improvement, sure or likely."""
    return comparison.verdict in CHANGED


def _describe_across(across: AcrossTheBoard) -> str:
    """Return sentences on kernels that are all slower or faster by one factor, and what does that."""
    return (
        f"Kernels are {rate(across.factor if across.factor > 1 else 1 / across.factor)}x "
        f"{'slower' if across.factor > 1 else 'faster'} across the board: {across.kernels} of {across.of} at the same shape, "
        f"{share(across.share)} of their time, by about {change_share(across.factor - 1)}. Clocks (power, "
        "temperature), a different GPU or another user of it can cause that; a single kernel's code cannot."
    )


_BEGINNINGS = {
    "regression": "Regression: ",
    "improvement": "Improvement: ",
    "likely regression": "Likely regression: ",
    "likely improvement": "Likely improvement: ",
    "no change": "No change: ",
    "cannot tell": "Cannot tell: ",
}


def verdict_sentence(comparison: Comparison) -> Spans:
    """Return the verdict in a sentence: the step before and now, the interval, and the main cause; or why none can be told.

    Raises ValueError if the verdict needs a measured change and the comparison has none.
    """
    total = comparison.change
    begins = _BEGINNINGS[comparison.verdict]
    if comparison.verdict == "cannot tell":
        return (begins, *shorten_reason(comparison.reasons[0] if comparison.reasons else "nothing to compare"), ".")
    if total is None:
        raise ValueError(f"a verdict without a change: {comparison.verdict}")
    what = f"{'a' if unit_name(comparison) == 'step' else 'the'} {unit_name(comparison)}"
    if total.delta_ns == 0:
        sentence = f"{what} takes {duration(total.base_ns)} on both sides"
    else:
        way = "longer" if total.delta_ns > 0 else "shorter"
        by = "" if total.share is None else f" ({share(abs(total.share))})"
        sentence = (
            f"{what} takes {duration(abs(total.delta_ns))}{by} {way}, "
            f"{duration(total.base_ns)} before and {duration(total.new_ns)} now"
        )
    if comparison.job is not None:
        sentence += f" over {some(len(comparison.job.new.ranks), 'rank')}"
    of_kind = f"steps of kind {comparison.kind}: " if comparison.kind else ""
    # The steps themselves do not make a likely change sure.
    sure = "" if comparison.verdict in LIKELY else f"; {describe_interval(comparison, total)}"
    return (f"{begins}{of_kind}{sentence}{sure}", *first_cause(comparison), ".")


def unit_name(comparison: Comparison) -> str:
    """Return what is compared: "step", or "whole window" where neither side has steps."""
    sides = (comparison.base, comparison.new)
    return "whole window" if all(side.windows == len(side.runs) for side in sides) else "step"


def describe_interval(comparison: Comparison, total: Change) -> str:
    """Return the interval of `total` with its confidence, as "98 % interval -2 ms to -1 ms", or that this is unknown."""
    if total.interval_ns is None:
        return "its certainty is not known"
    return f"{format_confidence(comparison.level)} interval {format_interval(total)}"
