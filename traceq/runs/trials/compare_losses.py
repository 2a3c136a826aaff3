"""Whether a setting computes what the baseline does: the losses of its first steps, round by round."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.runs.losses import OF_WORKERS, LossDifference, LossRecord, choose_worst, compare_losses
from traceq.runs.trials.plan import EQUAL_ROUND
from traceq.runs.trials.trial import BASELINE, Setting, Trial
from traceq.runs.trials.values import is_of_work, is_ranks


def compare_with_baseline(trials: Sequence[Trial], setting: Setting) -> LossDifference | None:
    """Return the difference of the setting's losses from the baseline's that says most, of all rounds in which both ran.

    None for the baseline and ablations, and without such a round.
    """
    if setting.kind in ("baseline", "ablate"):
        return None
    good = [trial for trial in trials if trial.outcome == "ok"]
    bases = {trial.round: trial.losses for trial in good if trial.setting == BASELINE}
    equals = find_equal_runs(trials)
    names = setting.values
    return choose_worst(
        [
            compare_losses(
                bases[trial.round],
                trial.losses,
                equals,
                has_other_data=not OF_WORKERS.isdisjoint(names),
                has_other_work=any(is_of_work(name) or is_ranks(name) for name in names),
            )
            for trial in good
            if trial.setting == setting.name and trial.round in bases
        ]
    )


def find_equal_runs(trials: Sequence[Trial]) -> tuple[LossRecord, LossRecord] | None:
    """Return the losses of the two baselines that ran with one seed; None if there are no such two."""
    found = {trial.round: trial.losses for trial in trials if trial.setting == BASELINE and trial.losses is not None}
    if EQUAL_ROUND not in found or 0 not in found:
        return None
    return found[0], found[EQUAL_ROUND]
