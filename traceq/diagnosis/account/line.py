"""A line of the account, its verdicts, and whether one that cannot be told stands before the findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from traceq.diagnosis.finding import Finding

Judgement = Literal["avoidable", "at its limit", "cannot tell", "small"]

# A line of less of the step needs no verdict.
LEAST_SHARE = 0.05
# Where the first finding saves less than this share of a step, what cannot be told and takes more than a quarter stands first.
_LITTLE = 0.05
_MUCH_UNKNOWN = 0.25


class Line(msgspec.Struct, frozen=True):
    """Time of a category of the ledger, in whole or in part, with the verdict on it; times in ns per counted step.

    `part` is the kernel family, operator, call or range that holds most of the time that findings leave of the
    category; None for the whole category, or the rest of it. `finding_id` is the finding that owns the time of an
    avoidable line; the line has the finding's savings in proportion to its share of the time that the finding owns. An
    avoidable line without a finding is time above a limit, and the replay tells its saving. `limit` is the limit that
    was measured, and `limit_share` (0..1) how much of it is reached; for the critical path, the share beside which
    other work takes as long. `kernel` is a word by which tools find the kernel with most of the time. `reason` is a
    sentence; `remedy` says what to change, or how to find out. `is_critical` is whether the device is the one that
    findings are about. `query` is the SQL behind the line; empty for a finding's line, since the finding has it.
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
    """Return the critical device's longest "cannot tell" line if it takes over a quarter of the step, else None."""
    longest = max(_list_unknown(account), key=lambda each: each.dur_ns, default=None)
    return longest if longest is not None and longest.step_share > _MUCH_UNKNOWN else None


def main_unknown(account: Sequence[Line]) -> Line | None:
    """Return the critical device's longest "cannot tell" line if all of them take over a quarter of the step, else None."""
    lines = _list_unknown(account)
    if sum(line.step_share for line in lines) <= _MUCH_UNKNOWN:
        return None
    return max(lines, key=lambda each: each.dur_ns)


def _list_unknown(account: Sequence[Line]) -> list[Line]:
    return [line for line in account if line.is_critical and line.verdict == "cannot tell"]


def saves_little(first: Finding) -> bool:
    """Return whether the finding saves under 5 % of the step.

    A large line that cannot be told then stands before it in the report.
    """
    return first.saving_ns < _LITTLE * (first.expected_step_ns + first.saving_ns)
