"""Savings in words: per step, as a share, as a speed-up."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.common.units import duration, money, share, short
from traceq.diagnosis.finding import Finding
from traceq.runs.run import FindingKept, PartKept


def step_ns(finding: Finding) -> float:
    """Return the duration of the recorded step that the finding's saving is from, ns."""
    return finding.expected_step_ns + finding.saving_ns


def saving_share_text(finding: Finding) -> str:
    """Return the finding's likely saving as a share of the step, as "12.3 %"."""
    step = step_ns(finding)
    return share(finding.saving_ns / step if step else None)


def saving_text(finding: Finding | FindingKept | PartKept) -> str:
    """Return the likely saving as text, as "1.2 ms"; if only bounds are known, "<= " and the upper bound."""
    if isinstance(finding, PartKept) or not finding.only_bounds:
        return duration(finding.saving_ns)
    return f"<= {duration(finding.saving_high_ns)}"


def bounded_share_text(finding: Finding) -> str:
    """Return the finding's likely saving as a share of the step; if only bounds are known, "<= " and the upper bound's share."""
    if not finding.only_bounds:
        return saving_share_text(finding)
    step = step_ns(finding)
    return f"<= {share(finding.saving_high_ns / step)}" if step else share(None)


def cumulative_text(found: Sequence[Finding]) -> str:
    """Return how many times as fast a step is with all the findings fixed, as text; a dash if one has only bounds."""
    step = step_ns(found[0])
    if any(each.only_bounds for each in found):
        return "-"
    return speed_up_text(step, step - sum(each.saving_ns for each in found))


def saving_cost_text(finding: Finding, price: float | None) -> str:
    """Return what the likely saving is worth in an hour of a GPU, as " = $0.78 per GPU hour".

    "" where the price is not known (None), or only bounds are.
    """
    step = step_ns(finding)
    if price is None or finding.only_bounds or not step:
        return ""
    return f" = ${money(finding.saving_ns / step * price)} per GPU hour"


def saving_bounds(finding: Finding) -> str:
    """Return the least and the most that a fix saves, as "1 ms to 2 ms"."""
    return f"{duration(finding.saving_low_ns)} to {duration(finding.saving_high_ns)}"


def speed_up_text(before: float, after: float) -> str:
    """Return the speed-up from time `before` to `after`, as "1.25x"; a dash if no time would be left."""
    return f"{short(before / after)}x" if after > 0 else "-"
