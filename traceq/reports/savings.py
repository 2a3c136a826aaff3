"""How savings are put into words: per what, of what, how much faster."""

from __future__ import annotations

from traceq.common.units import duration, share, short
from traceq.diagnosis.finding import Finding


def step_ns(finding: Finding) -> float:
    """The step as it is, ns."""
    return finding.expected_step_ns + finding.saving_ns


def step_share(finding: Finding) -> str:
    """The likely saving as a share of the step."""
    step = step_ns(finding)
    return share(finding.saving_ns / step if step else None)


def saves(finding: Finding) -> str:
    """The likely saving; where only bounds are known, the bound that is not passed."""
    return f"<= {duration(finding.saving_high_ns)}" if finding.only_bounds else duration(finding.saving_ns)


def speed_up(before: float, after: float) -> str:
    """How many times as fast; a dash where nothing would be left."""
    return f"{short(before / after)}x" if after > 0 else "-"
