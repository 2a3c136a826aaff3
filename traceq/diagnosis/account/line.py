"""A line of the account, and the verdicts it can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Judgement = Literal["avoidable", "at its limit", "cannot tell", "small"]

# A line of less of the step needs no verdict.
LEAST_SHARE = 0.05


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
