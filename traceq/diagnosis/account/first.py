"""Choose what stands first: the finding that wins most or, if that is little, the time that cannot be explained."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.diagnosis.account.line import Line
from traceq.diagnosis.finding import Finding

# Where the first finding saves less than this share of a step, what cannot be told and takes more than a quarter stands first.
_LITTLE = 0.05
_MUCH_UNKNOWN = 0.25


def largest_unknown(account: Sequence[Line]) -> Line | None:
    """Return the longest line of which nothing can be told, if it takes more than a quarter of the step."""
    lines = [
        line
        for line in account
        if line.is_critical and line.verdict == "cannot tell" and line.step_share > _MUCH_UNKNOWN
    ]
    return max(lines, key=lambda each: each.dur_ns, default=None)


def saves_little(first: Finding) -> bool:
    """Return whether a finding saves so little of the step that what cannot be told stands before it."""
    return first.saving_ns < _LITTLE * (first.expected_step_ns + first.saving_ns)
