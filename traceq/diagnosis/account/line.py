"""A line of the account, its verdicts, and whether one that cannot be told stands before the findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from traceq.diagnosis.finding import Finding

Judgement = Literal["avoidable", "at its limit", "cannot tell", "small"]

# A line of less of the step needs no verdict.
LEAST_SHARE = 0.05
# Where the first finding saves less than this share of a step, what cannot be told and takes more than a quarter stands first.
_LITTLE = 0.05
_MUCH_UNKNOWN = 0.25


@dataclass(frozen=True)
class Line:
    """Time of a category of the ledger, in whole or in part, with the verdict on it. Times are ns per counted step.

    `part` is the kernel family, operator, call or range that holds most of what findings leave of the category; None for the
    category itself, or the rest of it. `finding_id`: the finding that owns the time of an avoidable line; its savings are the
    finding's in proportion to what the line is of all that it owns. Without one it is time above what a limit takes, of which
    the replay says what can be won. `limit` and `limit_share` (0..1): which limit was measured, and how much of it is
    reached; of the critical path, the share beside which other work takes as long. `kernel`: what tools find the kernel with
    most of the time by. `reason` is a sentence, `remedy` what to change or what would tell. `is_critical`: whether the device
    is the one that findings are about. `query` is the SQL behind the line: empty for a finding's, whose finding has it.
    """

    device: int | None
    category: str
    part: str | None
    dur_ns: float
    step_share: float
    verdict: Judgement
    finding_id: str | None = None
    saving_low_ns: float | None = None
    saving_ns: float | None = None
    saving_high_ns: float | None = None
    limit: str | None = None
    limit_share: float | None = None
    kernel: str | None = None
    reason: str = ""
    remedy: str = ""
    query: str = ""
    is_critical: bool = True


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
