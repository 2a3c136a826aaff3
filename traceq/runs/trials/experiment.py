"""The shape of an experiment's result. Times are ns a step, sizes bytes, energy joules for a unit of work.

Intervals are of 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from traceq.runs.run import FindingKept
from traceq.runs.trials.tradeoff import Percentile
from traceq.runs.trials.trial import BASELINE, Outcome, Setting
from traceq.runs.verify.verify import Prediction, State

Goal = Literal["latency", "throughput", "memory"]
Verdict = Literal["better", "worse", "no difference", "cannot tell"]
Quantity = Literal["step", "throughput", "p50", "p95", "p99", "gpu_memory", "host_memory", "gpu_share", "energy"]

# What is better when it is more; of the others, less is.
MORE_IS_BETTER: tuple[Quantity, ...] = ("throughput", "gpu_share")


@dataclass(frozen=True)
class TrialLimits:
    """Limits of a setting: the percentile of its steps (ns), and peaks of memory (bytes); None without a limit."""

    latency_ns: float | None = None
    percentile: Percentile = "p95"
    gpu_memory: int | None = None
    host_memory: int | None = None


@dataclass(frozen=True)
class Predicted:
    """The predicted saving of a baseline's finding, as shares of the baseline's mean step."""

    rule: str
    finding_id: str
    title: str
    share: float
    low_share: float
    high_share: float


@dataclass(frozen=True)
class Measure:
    """A quantity over the trials of a setting; the interval is None where one trial says nothing of how they differ."""

    value: float
    interval: tuple[float, float] | None
    trials: int


@dataclass(frozen=True)
class SettingDifference:
    """A quantity of a setting as a multiple of the baseline's, from rounds in which both ran.

    `p` is that of no difference at all, and `adjusted` the same for as many settings as were tried (Holm), by which the verdict
    is. `interval` and `p` are None with a single round.
    """

    ratio: float
    interval: tuple[float, float] | None
    p: float | None
    adjusted: float | None
    rounds: int
    verdict: Verdict


@dataclass(frozen=True)
class SettingResult:
    """Measurements at a setting, and their differences from the baseline.

    `outcome` is the first that was not ok of its trials, `not run` without any, `reason` what it said; `failed` counts those.
    What is not known is not in `measures`. `differences` are those of the step, of throughput, of memory and of energy; none
    for the baseline.
    `work` is what a step does, of what throughput counts.
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

    @property
    def is_judged(self) -> bool:
        """Whether it never failed; of the baseline, whether it ran at all: the rounds in which it did are judged."""
        return self.outcome == "ok" or (self.setting.name == BASELINE and self.failed < self.trials)


@dataclass(frozen=True)
class Dominated:
    """A setting that another one beats in one way and equals in all others, by what was measured.

    `is_sure`: what it beats it in is beyond what trials differ by.
    """

    setting: str
    by: str
    is_sure: bool


@dataclass(frozen=True)
class Win:
    """A change that is surely better than the baseline for the goal, as a setting that was run.

    `ratio` and `interval` are those of the goal's quantity. `alike` are other settings of the same knobs that cannot be told
    from it. `costs` are quantities that are surely worse.
    """

    setting: str
    quantity: Quantity
    ratio: float
    interval: tuple[float, float]
    alike: tuple[str, ...]
    costs: tuple[Quantity, ...]


@dataclass(frozen=True)
class SettingChoice:
    """The setting to choose for the goal.

    `setting` is the one of those tried that serves it best within the limits: neither failed nor dominated, the baseline where
    none is surely better; None where none keeps the limits. `alike` are those that cannot be told from it. `wins` are changes
    that are worth making, the largest first; `together` says whether they were run together in `setting`. `over` are settings
    that break a limit, with the quantity that does; `unsure` those whose interval holds the limit.
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
        """Whether all changes that are worth making are set at once."""
        return self.combined is not None and self.combined == self.setting


@dataclass(frozen=True)
class Effect:
    """The main effect of a knob's value on the goal's quantity: its mean over the values of all other knobs.

    `pairs` are the combinations of the others at which both values were measured, `of` those that there are.
    """

    knob: str
    value: str
    difference: SettingDifference
    pairs: int
    of: int


@dataclass(frozen=True)
class Interaction:
    """Two values that together do surely more or less than each alone: the ratio of both to the product of the two."""

    knobs: tuple[str, str]
    values: tuple[str, str]
    difference: SettingDifference


@dataclass(frozen=True)
class CheckedPrediction:
    """A prediction beside the gain, both as shares of the baseline's time for the same work.

    `state` is what the setting's recording says of the finding. `error` is what the likely share is off, as a share of what was
    won; None where nothing was surely won.
    """

    setting: str
    predicted: Predicted
    won: float | None
    won_interval: tuple[float, float] | None
    judged: Prediction
    error: float | None
    state: State


@dataclass(frozen=True)
class Removed:
    """Findings of the baseline's recording that a setting's has no more, those it has left in part, and new ones."""

    setting: str
    gone: tuple[FindingKept, ...]
    smaller: tuple[FindingKept, ...]
    new: tuple[FindingKept, ...]
    unsure: tuple[FindingKept, ...]


@dataclass(frozen=True)
class Ablation:
    """The most that a part of the program costs: what is saved, as a share of the time for the same work, without it.

    `predicted` is what the replay of the baseline's recording says of the same.
    """

    setting: str
    what: str
    share: float | None
    interval: tuple[float, float] | None
    predicted: Predicted | None
    verdict: Verdict


@dataclass(frozen=True)
class Scaling:
    """Amdahl's law of a knob that counts workers, devices or threads: step = t * (s + (1 - s) / min(n, p)).

    `counts` are those fitted. `serial` is s, `effective` p, None where more still helped at the largest count. Their intervals
    are of rounds drawn again, None with one round; that of p ends in None where it may have no end. `error` is the largest
    relative error at what was measured, and `left_out_error` that at counts left out (root mean square). Where the curve misses
    by more than is allowed, or no count surely differs from another, `serial` and `effective` are None. `one_ns` is t;
    `has_one`: a count of 1 was run, else the curve was carried on to it.
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


@dataclass(frozen=True)
class Experiment:
    """The result of an experiment.

    `results` are in the order of the settings, the baseline first. `work` is what throughput counts, `quantity` what the goal
    is measured by, None where no setting knows it. `noise` is what two trials of a setting differ by in that, beyond what is
    common to a round (standard deviation, as a share), `needed` how many rounds show a difference of 5 % at what the settings
    differ by that cannot be told, all settings where there is none. `untried` are findings of the baseline that no setting is
    for, `unsure` changes of which more rounds would tell what they do for the goal.
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
    unsure: tuple[str, ...]
    noise: float | None
    needed: int | None

    def result(self, name: str) -> SettingResult:
        """Return the result of a setting, by its name."""
        return next(result for result in self.results if result.setting.name == name)
