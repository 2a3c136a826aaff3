"""From runs before and after a fix to whether the finding is gone, what was saved, and whether that was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal

import msgspec

from traceq.diagnosis.calibrated import Accuracy, Hardware, accuracy_of_rule
from traceq.diagnosis.choose import number_findings
from traceq.errors import NoSuchFinding
from traceq.runs.compare.compare import compare
from traceq.runs.compare.comparison import Comparison
from traceq.runs.compare.known_noise import KnownNoise
from traceq.runs.losses import OF_WORKERS, LossDifference, LossRecord, compare_losses
from traceq.runs.run import FindingKept, PartKept, Run

State = Literal["gone", "smaller", "still there", "cannot tell"]
Prediction = Literal["right", "too high", "too low", "cannot tell"]

_STILL = 0.8
"""A finding that would still win this share of what it would have won is still there."""


class Verification(msgspec.Struct, frozen=True):
    """The result of verifying a finding's fix. Times are ns per counted step.

    `won_ns` is the saving in the mean step, `won_interval_ns` the interval of the true saving; None when the sides
    cannot be compared. `after` is the finding in the runs after the fix, on its own or as part of another; None if it
    is gone. `reason` says why `state` or `prediction` cannot be told. `also_gone` are other findings that vanished,
    which share the saving. `earlier` is the accuracy of the rule's earlier predictions on such hardware, None without
    any. `losses` says whether the program still computes the same; None where neither side has recorded losses.
    """

    finding: FindingKept
    state: State
    after: FindingKept | PartKept | None
    won_ns: int | None
    won_interval_ns: tuple[int, int] | None
    prediction: Prediction
    reason: str | None
    also_gone: tuple[FindingKept, ...]
    comparison: Comparison
    earlier: Accuracy | None = None
    losses: LossDifference | None = None

    @property
    def is_saved(self) -> bool:
        """Whether steps surely became shorter, both by the verdict and in the mean."""
        least = None if self.won_interval_ns is None else self.won_interval_ns[0]
        return self.comparison.verdict == "improvement" and least is not None and least > 0


def verify(
    name: str, before: Sequence[Run], after: Sequence[Run], *, noise: KnownNoise | None = None, anyway: bool = False
) -> Verification:
    """Verify the fix of a finding of the runs `before`.

    `name` is its id, its rule, or its number in the report (F1, F2, ...). Raises NoSuchFinding if there is none.
    """
    finding = _find_finding(name, before)
    # The verdict is that of `traceq compare`; savings are shares of the mean step.
    comparison = compare(before, after, statistic="mean", judge_by="typical", noise=noise, anyway=anyway)
    now = find_again(finding, before, after)
    change = comparison.change
    is_comparable = change is not None and (comparison.comparable or anyway)
    interval = change.interval_ns if change is not None and is_comparable else None
    won = (-interval[1], -interval[0]) if interval else None
    silent = next((run.cannot_tell[finding.rule] for run in after if finding.rule in run.cannot_tell), None)
    state = state_of(finding, now, is_silent=silent is not None or not is_comparable)
    prediction = _judge_prediction(finding, won, comparison) if state == "gone" else "cannot tell"
    return Verification(
        finding=finding,
        state=state,
        after=now,
        won_ns=-change.delta_ns if change is not None and is_comparable else None,
        won_interval_ns=won,
        prediction=prediction,
        reason=_explain_state(comparison, state, silent, is_comparable=is_comparable),
        also_gone=tuple(each for each in comparison.findings_gone if each.rule != finding.rule),
        comparison=comparison,
        earlier=accuracy_of_rule(finding.rule).get(hardware_of(before)),
        losses=_compare_losses(before, after, frozenset(difference.name for difference in comparison.made_with)),
    )


def _compare_losses(before: Sequence[Run], after: Sequence[Run], turned: frozenset[str]) -> LossDifference | None:
    """Compare the losses of the first run of each side; two runs of a side with one seed show how far equal runs differ.

    `turned` are the names of the settings that differ. None if no losses were recorded.
    """
    if not any(run.losses for run in (before[0], after[0])):
        return None
    equals = next((pair for side in (before, after) if (pair := _find_equal_pair(side)) is not None), None)
    return compare_losses(
        before[0].losses,
        after[0].losses,
        equals,
        has_other_data=not OF_WORKERS.isdisjoint(turned),
        has_other_work=not _OF_WORK.isdisjoint(turned),
    )


_OF_WORK = frozenset(("batch_size", "world_size"))


def _find_equal_pair(runs: Sequence[Run]) -> tuple[LossRecord, LossRecord] | None:
    """Return the losses of the first two of the runs if they have the same seed, else None."""
    found = [run.losses for run in runs[:2] if run.losses is not None]
    return (found[0], found[1]) if len(found) > 1 and found[0].seed == found[1].seed else None


def hardware_of(runs: Sequence[Run]) -> Hardware:
    """Return "gpu" if the first run has a GPU ledger, else "cpu"."""
    return "cpu" if runs[0].device is None else "gpu"


def _find_finding(name: str, runs: Sequence[Run]) -> FindingKept:
    """Return the finding by id, rule (the largest) or number in the report. Raises NoSuchFinding, with a suggestion."""
    found = [finding for run in runs for finding in run.findings]
    places = {place.lower(): [each] for place, each in number_findings(_rank_findings(runs[0]))} if runs else {}
    matching = (
        [each for each in found if each.finding_id == name]
        or [each for each in found if each.rule == name]
        or places.get(name.lower(), [])
    )
    if matching:
        return max(matching, key=lambda each: each.saving_ns)
    names = [each.finding_id for each in found]
    close = get_close_matches(name, [*names, *(each.rule for each in found)], 1)
    there = (
        f"; did you mean {close[0]}?" if close else f"; there are {', '.join(names)}" if names else "; there is none"
    )
    raise NoSuchFinding(f"{name}: no such finding before the fix{there}")


def _rank_findings(run: Run) -> list[FindingKept]:
    """Return the run's findings in the order of a report, largest saving first."""
    return sorted(run.findings, key=lambda each: (-each.saving_ns, each.finding_id))


def find_again(finding: FindingKept, before: Sequence[Run], after: Sequence[Run]) -> FindingKept | PartKept | None:
    """Return the finding in the runs after the fix, else the largest new one of its rule (names in ids may change), else None."""
    known = {each.finding_id for run in before for each in run.found}
    found = [each for run in after for each in run.found if each.rule == finding.rule]
    same = [each for each in found if each.finding_id == finding.finding_id]
    return max(
        same or [each for each in found if each.finding_id not in known], key=lambda each: each.saving_ns, default=None
    )


def state_of(finding: FindingKept, now: FindingKept | PartKept | None, *, is_silent: bool) -> State:
    """Return whether the finding is gone, smaller (saving below 80 %) or still there.

    `now` is the finding after the fix or None. `is_silent`: its rule could not judge, so that a missing finding tells
    nothing ("cannot tell").
    """
    if now is not None:
        return "still there" if now.saving_ns >= _STILL * finding.saving_ns else "smaller"
    return "cannot tell" if is_silent else "gone"


def _judge_prediction(finding: FindingKept, won: tuple[int, int] | None, comparison: Comparison) -> Prediction:
    """Judge a prediction: right when something was surely saved, and it may lie between the finding's bounds."""
    if won is None or comparison.verdict == "cannot tell":
        return "cannot tell"
    if won[1] < finding.saving_low_ns:
        return "too high"
    if comparison.verdict != "improvement":
        return "cannot tell"
    return "too low" if won[0] > finding.saving_high_ns else "right"


def _explain_state(comparison: Comparison, state: State, silent: str | None, *, is_comparable: bool) -> str | None:
    """Return a sentence on why the state or the prediction is uncertain; None if neither is.

    `silent` says why the rule could not judge.
    """
    if not is_comparable:
        return comparison.reasons[0] if comparison.reasons else "nothing to compare"
    if comparison.change is not None and comparison.change.interval_ns is None:
        return "a single step has no scatter to judge the saving by"
    if comparison.verdict != "improvement":
        return f"{comparison.verdict}: {comparison.reasons[0]}"
    if state == "still there":
        return "the saving has another cause: the finding is there as before"
    if state == "smaller":
        return "the saving may have other causes, too: the finding is there in part"
    return silent
