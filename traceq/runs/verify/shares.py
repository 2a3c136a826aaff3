"""Shares of rules fitted to what fixes really won, and whether they are better than what the rules assume.

Each program has one vote, the median of its lines: ten settings of one program show no more than one. What is fitted is tried on
each program by a fit to the others (leave one program out), and taken only where that is better than the assumption.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import NamedTuple

import msgspec

from traceq.diagnosis.calibrated import Hardware
from traceq.diagnosis.query import rule_query
from traceq.diagnosis.rules.registry import RULES, has_shares
from traceq.runs.verify.accuracy import group_by_hardware, group_by_rule
from traceq.runs.verify.calibration import Calibrated

# The median of all programs lies between the least and the most of n with a chance of 1 - 2 ** (1 - n): 94 % from 5 on. Where the
# assumption is right, 5 take a fit in one of five cases at the most, and err by 2 to 4 % more; where it is 0.2 off, they do in 9
# to 33 % of the cases and err by 2 to 16 % less (tests/benchmarks/fit_shares.py).
LEAST_PROGRAMS = 5
# What the bounds are to hold, and from how many programs on order statistics can say so: a further one lies below the least of n,
# or above the most, with a chance of 1 / (n + 1) each.
COVERED = 0.9
PROGRAMS_FOR_BOUNDS = 19
# Where the fixes of more programs won more than was claimed, the rule claims too little, or other things go as well: a share of
# the claim would hide that.
MOST_BEYOND = 0.2


class Shares(NamedTuple):
    """The share of a finding's claimed time that its fix takes away (0..1): low, likely and high."""

    low: float
    likely: float
    high: float

    def hold(self, share: float) -> bool:
        """Return whether `share` is from low to high, both included."""
        return self.low <= round(share, 9) <= self.high


class ProgramGains(NamedTuple):
    """The median share that fixes took away in a program, and whether most gains were inside the assumed bounds."""

    share: float
    is_inside: bool


class Score(NamedTuple):
    """The mean error of the likely share over programs, and the share of programs whose gain is between the bounds."""

    error: float
    coverage: float


class ShareFit(msgspec.Struct, frozen=True):
    """Shares of a rule fitted to the gains of `programs` programs, beside the assumed ones.

    `beyond` counts programs that gained more than was claimed (something else went, too); `fitted` leaves them out, and
    is None without others. `score` is the score of fits to all other programs, None with a single one. `taken` is what
    the rule is to use; None to keep what it assumes.
    """

    programs: int
    lines: int
    beyond: int
    assumed: Shares
    fitted: Shares | None
    score: Score | None
    score_assumed: Score
    taken: Shares | None


def share_won(line: Calibrated) -> float | None:
    """Return the share of the finding's claimed time that its fix took away; None if the line does not tell.

    It is computed in proportion to the saving, which is exact without a GPU. A gain whose interval is wider than the
    saving of the whole claim does not tell.
    """
    if line.only_bounds or not line.assumed or line.likely_share <= 0:
        return None
    whole = line.likely_share / line.assumed
    width = (line.won_high_ns - line.won_low_ns) / line.base_ns
    return None if width > whole else round(line.won_share / whole, 9)  # 1 is all, and no more


def group_by_program(lines: Sequence[Calibrated], assumed: Shares) -> list[ProgramGains]:
    """Return one entry for each program: the median share of its lines, and whether most gains were inside the assumed bounds.

    Lines that tell no share are left out; lines without a program count as one program.
    """
    found: dict[str | None, list[ProgramGains]] = {}
    for line in lines:
        if (share := share_won(line)) is not None:
            is_inside = line.is_inside and line.assumed == assumed.likely
            found.setdefault(line.program, []).append(ProgramGains(share, is_inside))
    return [
        ProgramGains(median(each.share for each in group), 2 * sum(each.is_inside for each in group) > len(group))
        for group in found.values()
    ]


def fit(lines: Sequence[Calibrated], assumed: Shares, *, is_on_gpu: bool) -> ShareFit | None:
    """Fit shares to the lines of one rule on one kind of hardware; None if no line tells a share."""
    programs = group_by_program(lines, assumed)
    if not programs:
        return None
    shares = [program.share for program in programs]
    fitted = _fit_bounds(shares, assumed, is_on_gpu=is_on_gpu)
    others = [shares[:place] + shares[place + 1 :] for place in range(len(shares))]
    left_out = [made for other in others if (made := _fit_bounds(other, assumed, is_on_gpu=is_on_gpu))]
    score = _score_fits(left_out, programs, assumed) if len(left_out) == len(programs) else None
    score_assumed = _score_fits([assumed] * len(shares), programs, assumed)
    beyond = sum(share > 1 for share in shares)
    is_enough = len(shares) - beyond >= LEAST_PROGRAMS and beyond <= MOST_BEYOND * len(shares)
    return ShareFit(
        programs=len(shares),
        lines=sum(share_won(line) is not None for line in lines),
        beyond=beyond,
        assumed=assumed,
        fitted=fitted,
        score=score,
        score_assumed=score_assumed,
        taken=_choose_shares(fitted, assumed, score, score_assumed) if is_enough and fitted and score else None,
    )


def _fit_bounds(shares: Sequence[float], assumed: Shares, *, is_on_gpu: bool) -> Shares | None:
    """Return the median of shares up to 1, and bounds that contain nine of ten further programs; None if all are above 1.

    With fewer programs than PROGRAMS_FOR_BOUNDS, and on a GPU (where the replay has bounds of its own), the bounds
    contain all that was seen and assumed.
    """
    ordered = sorted(min(max(share, 0.0), assumed.high) for share in shares if share <= 1)
    if not ordered:
        return None
    likely = median(ordered)
    if is_on_gpu or len(ordered) < PROGRAMS_FOR_BOUNDS:
        return Shares(min(ordered[0], assumed.low), likely, assumed.high)
    outside = (len(ordered) + 1) // (PROGRAMS_FOR_BOUNDS + 1)
    return Shares(ordered[outside - 1], likely, ordered[-outside])


def _score_fits(shares: Sequence[Shares], programs: Sequence[ProgramGains], assumed: Shares) -> Score:
    """Return the score of shares (one for each program) against the programs' gains."""
    pairs = list(zip(shares, programs, strict=True))
    return Score(
        error=fmean(abs(each.likely - program.share) for each, program in pairs),
        coverage=fmean(_holds_program(each, program, assumed) for each, program in pairs),
    )


def _holds_program(shares: Shares, program: ProgramGains, assumed: Shares) -> bool:
    """Return whether the shares' bounds contain the program's gain, by the share itself or by bounds of its findings."""
    is_wider = shares.low <= assumed.low and shares.high >= assumed.high
    return shares.hold(program.share) or (is_wider and program.is_inside)


def _choose_shares(fitted: Shares, assumed: Shares, score: Score, score_assumed: Score) -> Shares | None:
    """Return the fitted likely share and bounds, each only if better than the assumed one; None if neither is.

    Also None where bounds fitted to other programs miss too many programs.
    """
    is_nearer = score.error < score_assumed.error
    holds_more = score.coverage > score_assumed.coverage
    if score.coverage < COVERED or not (is_nearer or holds_more):
        return None
    likely = fitted.likely if is_nearer else assumed.likely
    return Shares(*(round(each, 2) for each in (min(fitted.low, likely), likely, max(fitted.high, likely))))


def shares_in_header(rule: str) -> Shares | None:
    """Return the shares that the rule's SQL header assumes; None for rules without shares or of other packages."""
    name = rule.replace("-", "_")
    return Shares(**rule_query(name).shares) if name in RULES and has_shares(name) else None


def fit_all(lines: Iterable[Calibrated]) -> dict[str, dict[Hardware, ShareFit]]:
    """Return the fits by rule and kind of hardware; none for rules without shares and where no line tells a share."""
    found: dict[str, dict[Hardware, ShareFit]] = {}
    for rule, of_rule in group_by_rule(lines).items():
        shares = shares_in_header(rule)
        for kind, group in group_by_hardware(of_rule).items():
            if shares and kind and (made := fit(group, shares, is_on_gpu=kind == "gpu")):
                found.setdefault(rule, {})[kind] = made
    return found
