"""The shape of an experiment's result. Times are ns a step, sizes bytes, energy joules for a unit of work.

Intervals are of 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from traceq.runs.losses import LossDifference
from traceq.runs.run import FindingKept
from traceq.runs.trials.tradeoff import Percentile
from traceq.runs.trials.trial import BASELINE, Outcome, Setting
from traceq.runs.verify.verify import Prediction, State

Goal = Literal["latency", "throughput", "memory"]
Verdict = Literal["better", "worse", "no difference", "cannot tell"]
Quantity = Literal["step", "throughput", "p50", "p95", "p99", "gpu_memory", "host_memory", "gpu_share", "energy"]

# What is better when it is more; of the others, less is.
MORE_IS_BETTER: tuple[Quantity, ...] = ("throughput", "gpu_share")


class TrialLimits(msgspec.Struct, frozen=True):
    """Limits on a setting: latency (ns) at a percentile of its steps, and peaks of memory (bytes); None without a limit."""

    latency_ns: float | None = None
    percentile: Percentile = "p95"
    gpu_memory: int | None = None
    host_memory: int | None = None


class Predicted(msgspec.Struct, frozen=True):
    """The predicted saving of a baseline's finding, likely and bounds, as shares of the baseline's mean step."""

    rule: str
    finding_id: str
    title: str
    share: float
    low_share: float
    high_share: float


class Measure(msgspec.Struct, frozen=True):
    """A quantity averaged over a setting's trials; the interval (95 %) is None with a single trial."""

    value: float
    interval: tuple[float, float] | None
    trials: int


class SettingDifference(msgspec.Struct, frozen=True):
    """A setting's quantity as a ratio to the baseline's, over rounds in which both ran.

    `p` is the probability of this ratio by chance, `adjusted` the same corrected for the number of settings (Holm),
    which the verdict uses. `interval` and `p` are None with a single round.
    """

    ratio: float
    interval: tuple[float, float] | None
    p: float | None
    adjusted: float | None
    rounds: int
    verdict: Verdict


class SettingResult(msgspec.Struct, frozen=True):
    """The measurements at a setting, and their differences from the baseline.

    `outcome` is that of the first trial that was not ok, else `ok`; `not run` without trials. `reason` is its error,
    `failed` the number of such trials. Unknown quantities are not in `measures`. `differences` cover the step,
    throughput, memory and energy; empty for the baseline. `work` is the amount per step that throughput counts. `losses`
    says whether it computes the same; None for the baseline, ablations, and without a round in which both ran.
    """

    setting: Setting
    outcome: Outcome
    reason: str | None
    trials: int
    failed: int
    steps: int
    work: float
    on_gpu: bool
    measures: Mapping[Quantity, Measure]
    differences: Mapping[Quantity, SettingDifference]
    losses: LossDifference | None = None

    @property
    def is_judged(self) -> bool:
        """Whether the setting never failed; for the baseline, whether it ran at all, as failed rounds are left out."""
        return self.outcome == "ok" or (self.setting.name == BASELINE and self.failed < self.trials)


class Dominated(msgspec.Struct, frozen=True):
    """A setting that the setting `by` dominates: better in a measured quantity, and about as good in all others.

    `is_sure`: it is better beyond chance.
    """

    setting: str
    by: str
    is_sure: bool


class Win(msgspec.Struct, frozen=True):
    """A setting that is surely better than the baseline for the goal.

    `ratio` and `interval` are of the goal's quantity, relative to the baseline. `alike` are other settings of the same
    knobs that cannot be told from it. `costs` are quantities that are surely worse.
    """

    setting: str
    quantity: Quantity
    ratio: float
    interval: tuple[float, float]
    alike: tuple[str, ...]
    costs: tuple[Quantity, ...]


class SettingChoice(msgspec.Struct, frozen=True):
    """The setting to choose for the goal.

    `setting` is the best within the limits that neither failed nor is dominated; the baseline where none is surely
    better; None where none keeps the limits. `alike` are those that cannot be told from it. `wins` are changes worth
    making, largest first; `combined` is a setting that has all of them, or None. `over` are settings that break a
    limit, with the quantities; `unsure` are settings whose interval contains the limit.
    """

    goal: Goal
    setting: str | None
    alike: tuple[str, ...]
    wins: tuple[Win, ...]
    combined: str | None
    over: Mapping[str, tuple[Quantity, ...]]
    unsure: tuple[str, ...]

    @property
    def together(self) -> bool:
        """Whether the chosen setting makes all changes that are worth making."""
        return self.combined is not None and self.combined == self.setting


class Effect(msgspec.Struct, frozen=True):
    """The main effect of a knob's value on the goal's quantity: its mean over the values of all other knobs.

    `pairs` is the number of combinations of other knobs at which it was measured, `of` the number of all combinations.
    """

    knob: str
    value: str
    difference: SettingDifference
    pairs: int
    of: int


class Interaction(msgspec.Struct, frozen=True):
    """Two knob values whose joint effect surely differs from the product of their single effects.

    `difference` holds the ratio of the joint effect to that product.
    """

    knobs: tuple[str, str]
    values: tuple[str, str]
    difference: SettingDifference


class CheckedPrediction(msgspec.Struct, frozen=True):
    """A predicted saving beside the measured gain, both as shares of the baseline's time for the same work.

    `state` says whether the finding is gone from the setting's recording. `error` is the error of the likely share
    relative to the gain; None where nothing was surely won.
    """

    setting: str
    predicted: Predicted
    won: float | None
    won_interval: tuple[float, float] | None
    judged: Prediction
    error: float | None
    state: State


class Removed(msgspec.Struct, frozen=True):
    """The baseline's findings that are gone or smaller in a setting's recording, and findings that are new in it.

    `unsure` are those whose rule could not judge the recording.
    """

    setting: str
    gone: tuple[FindingKept, ...]
    smaller: tuple[FindingKept, ...]
    new: tuple[FindingKept, ...]
    unsure: tuple[FindingKept, ...]


class NotTried(msgspec.Struct, frozen=True):
    """A setting or a finding that was not tried, with its predicted saving.

    `setting` is None for a finding that no knob can fix. `why`: the budget ended before, the knob found nothing to act
    on, or the change has to be made by hand.
    """

    setting: str | None
    predicted: Predicted | None
    why: Literal["the budget", "no knob acts", "by hand"]


class Ablation(msgspec.Struct, frozen=True):
    """The most that a part of the program costs: the time saved without it, as a share of the time for the same work.

    `predicted` is what the replay of the baseline's recording predicts.
    """

    setting: str
    what: str
    share: float | None
    interval: tuple[float, float] | None
    predicted: Predicted | None
    verdict: Verdict


class Scaling(msgspec.Struct, frozen=True):
    """Amdahl's law of a knob that counts workers, devices or threads: step = t * (s + (1 - s) / min(n, p)).

    `counts` are those fitted. `serial` is s; `effective` is p, None where more still helped at the largest count. Their
    intervals come from resampled rounds, None with one round; an upper end of p that may not exist is None. `error` is
    the largest relative error at measured counts, `left_out_error` the root mean square at counts left out of the fit.
    `serial` and `effective` are None where the curve misses by too much or no count surely differs from another.
    `one_ns` is t; `has_one`: the count 1 was run, else t is extrapolated.
    """

    knob: str
    counts: tuple[int, ...]
    serial: float | None
    serial_interval: tuple[float, float] | None
    effective: float | None
    effective_interval: tuple[float, float | None] | None
    error: float
    left_out_error: float
    one_ns: float | None
    has_one: bool


class Experiment(msgspec.Struct, frozen=True):
    """The result of an experiment.

    `results` are in the order of the settings, the baseline first. `work` is what throughput counts; `quantity`
    measures the goal, None where it is not known. `noise` is the standard deviation between trials of a setting in that
    quantity, beyond what a round has in common, as a share. `needed` is the number of rounds that would show a
    difference of 5 % between settings that cannot be told apart (if there are none, between any). `untried` are
    findings of the baseline without a setting, `not_tried` are these and the settings that did not run, the largest
    prediction first, `unsure` are changes whose effect on the goal more rounds would show.
    """

    goal: Goal
    quantity: Quantity | None
    limits: TrialLimits
    least: float
    level: float
    work: str
    rounds: int
    results: tuple[SettingResult, ...]
    front: tuple[str, ...]
    dominated: tuple[Dominated, ...]
    choice: SettingChoice | None
    effects: tuple[Effect, ...]
    interactions: tuple[Interaction, ...]
    removed: tuple[Removed, ...]
    checked: tuple[CheckedPrediction, ...]
    ablations: tuple[Ablation, ...]
    scaling: tuple[Scaling, ...]
    untried: tuple[FindingKept, ...]
    not_tried: tuple[NotTried, ...]
    unsure: tuple[str, ...]
    noise: float | None
    needed: int | None

    def result(self, name: str) -> SettingResult:
        """Return the result of the setting `name`; it must exist."""
        return next(result for result in self.results if result.setting.name == name)
