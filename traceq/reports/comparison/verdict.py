"""The sentence that a comparison begins with."""

from __future__ import annotations

from traceq.common.units import duration, share, some
from traceq.reports.comparison.named import mostly
from traceq.reports.comparison.sides import said
from traceq.reports.comparison.words import confidence, interval
from traceq.reports.document import Spans
from traceq.runs.compare.comparison import LIKELY, Change, Comparison

_BEGINNINGS = {
    "regression": "Regression: ",
    "improvement": "Improvement: ",
    "likely regression": "Likely regression: ",
    "likely improvement": "Likely improvement: ",
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
    what = f"{'a' if unit(comparison) == 'step' else 'the'} {unit(comparison)}"
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
    sure = "" if comparison.verdict in LIKELY else f"; {how_sure(comparison, total)}"
    return (f"{begins}{of_kind}{sentence}{sure}", *mostly(comparison), ".")


def unit(comparison: Comparison) -> str:
    """Name what is compared: a step, or where none were found the whole window."""
    sides = (comparison.base, comparison.new)
    return "whole window" if all(side.windows == len(side.runs) for side in sides) else "step"


def how_sure(comparison: Comparison, total: Change) -> str:
    """The interval of a change, with its confidence."""
    if total.interval_ns is None:
        return "how sure that is is unknown"
    return f"{confidence(comparison.level)} interval {interval(total)}"
