"""What the trials of an experiment say, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from traceq.runs.experiment.experiment import Experiment, Goal, Limits, Predicted
from traceq.runs.experiment.trial import Setting, Trial
from traceq.runs.run import Run

# A difference that nobody would act on, as a share.
LEAST = 0.02


def study(
    settings: Sequence[Setting],
    trials: Sequence[Trial],
    *,
    goal: Goal = "throughput",
    limits: Limits | None = None,
    work: str | None = None,
    least: float = LEAST,
    predictions: Mapping[str, Predicted] | None = None,
    profiles: Mapping[str, Run] | None = None,
) -> Experiment:
    """The result of the trials. `settings` has the baseline, named BASELINE, in it.

    `predictions` are by the name of the setting that tries the finding, and of an ablation; `profiles` are the recordings of
    settings, the baseline's among them. `work` is what throughput counts, None for what all trials have.
    """
    raise NotImplementedError
