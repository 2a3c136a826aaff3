"""Why a quantity fails against its history: by how much it is worse, since when, and what else changed then."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.common.units import share, some
from traceq.reports.history.words import describe_since, format_change, format_slope, list_facts
from traceq.runs.history.gate import JudgedHistory
from traceq.runs.history.history import ExplainedChange

_MOST_FACTS = 3


def explain_failure(judged: JudgedHistory, explained: Sequence[ExplainedChange], *, is_timed: bool) -> str:
    """Return the reason for a quantity that fails, in one sentence without a period; the given reason otherwise."""
    trend = judged.trend
    if judged.budget.state != "fail" or trend is None:
        return judged.budget.reason
    if trend.kind == "creep":
        return f"it creeps: {format_slope(trend)}, {format_change(trend)} over {some(trend.reports, 'report')}"
    worse = [change for change in explained if _is_worse(trend.level_medians, change)]
    change = (worse or explained)[-1]
    facts = f"what else changed then: {list_facts(change.facts, _MOST_FACTS)}"
    if judged.is_alone:
        return (
            f"this report is {share(float(judged.budget.measured or 0))} worse than the level of the"
            f" {some(change.change.end - change.change.begin - 1, 'report')} before, more than they differ by chance; {facts}"
        )
    return f"it is worse since {describe_since(change, is_timed=is_timed)}; {facts}"


def _is_worse(levels: Sequence[float], explained: ExplainedChange) -> bool:
    """Return whether a change goes the way that the levels went from the best to the last."""
    rises = levels[-1] > min(levels)
    return (explained.change.after > explained.change.before) == rises
