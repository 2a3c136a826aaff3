"""The sentence that a comparison begins with."""

from __future__ import annotations

from traceq.common.units import duration, share, some
from traceq.reports.comparison.named import mostly
from traceq.reports.comparison.sides import said
from traceq.reports.comparison.words import confidence, interval
from traceq.reports.document import Spans
from traceq.runs.compare.comparison import Change, Comparison

_BEGINNINGS = {
    "regression": "Regression: ",
    "improvement": "Improvement: ",
    "no change": "No change: ",
    "cannot tell": "Cannot tell: ",
}


def verdict(comparison: Comparison) -> Spans:
    """The verdict in a sentence: the step before and now, the interval, and the cause most of it is put down to."""
    total = comparison.change
    begins = _BEGINNINGS[comparison.verdict]
    if comparison.verdict == "cannot tell":
        return (begins, *said(comparison.reasons[0] if comparison.reasons else "nothing to compare"), ".")
    if total is None:
        raise ValueError(f"a verdict without a change: {comparison.verdict}")
    if total.delta_ns == 0:
        sentence = f"a step takes {duration(total.base_ns)} on both sides"
    else:
        way = "longer" if total.delta_ns > 0 else "shorter"
        by = "" if total.share is None else f" ({share(abs(total.share))})"
        sentence = (
            f"a step takes {duration(abs(total.delta_ns))}{by} {way}, "
            f"{duration(total.base_ns)} before and {duration(total.new_ns)} now"
        )
    if comparison.job is not None:
        sentence += f" over {some(len(comparison.job.new.ranks), 'rank')}"
    of_kind = f"steps of kind {comparison.kind}: " if comparison.kind else ""
    return (f"{begins}{of_kind}{sentence}; {how_sure(comparison, total)}", *mostly(comparison), ".")


def how_sure(comparison: Comparison, total: Change) -> str:
    """The interval of a change, with its confidence."""
    if total.interval_ns is None:
        return "how sure that is is unknown"
    return f"{confidence(comparison.level)} interval {interval(total)}"
