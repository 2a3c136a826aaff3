"""Measurements of trials at each setting, and their differences from the baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import exp, log, sqrt

import msgspec
import numpy as np

from traceq.common.distributions import LEVEL, student_quantile, widening
from traceq.runs.statistics import Floats, typical_step
from traceq.runs.trials.compare_losses import compare_with_baseline
from traceq.runs.trials.experiment import MORE_IS_BETTER, Measure, Quantity, SettingDifference, SettingResult
from traceq.runs.trials.paired import Mean, Rounds, judge_differences, log_ratios, mean_of, subtract_means
from traceq.runs.trials.plan import EQUAL_ROUND
from traceq.runs.trials.trial import BASELINE, Setting, Trial
from traceq.runs.trials.values import STEPS

_NS_PER_S = 1_000_000_000
_PERCENTILES: Mapping[Quantity, float] = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_RESAMPLES, _MOST_STEPS, _SEED = 500, 200, 20_251
# What throughput counts, if every trial says it.
_WORKS = ("samples", "tokens", "sequences", "batch_size")


def choose_work(trials: Iterable[Trial]) -> str:
    """Return the unit of work that all good trials count (samples, tokens, ....

    The usual names first), "steps" without one.
    """
    counted = [{name for name, amount in trial.work.items() if amount > 0} for trial in trials if trial.outcome == "ok"]
    common = set.intersection(*counted) if counted else set()
    return next(
        iter(sorted(common, key=lambda name: (_WORKS.index(name) if name in _WORKS else len(_WORKS), name))), STEPS
    )


def work_of_trial(trial: Trial, work: str) -> float:
    """Return the trial's amount of work per step in the unit `work`; 1 if the unit is steps."""
    return trial.work.get(work, 0.0) if work != STEPS else 1.0


_VALUES: Mapping[Quantity, Callable[[Trial, str], float | None]] = {
    "step": lambda trial, _: typical_step(_average_cycles(_steps_of(trial), trial.cycle)),
    # Over all steps: what a checkpoint or a log line now and then costs is part of it.
    "throughput": lambda trial, work: work_of_trial(trial, work) * _NS_PER_S / (float(_steps_of(trial).mean()) or 1.0),
    "gpu_memory": lambda trial, _: trial.gpu_memory_peak,
    "host_memory": lambda trial, _: trial.host_memory_peak,
    "gpu_share": lambda trial, _: trial.gpu_share,
    # For the same work: a larger batch takes more a step, and perhaps less a sample.
    "energy": lambda trial, work: (
        None if trial.energy_j is None else trial.energy_j / (work_of_trial(trial, work) or 1.0)
    ),
}
QUANTITIES = tuple(_VALUES)


def group_by_round(trials: Iterable[Trial], quantity: Quantity, work: str) -> dict[str, dict[int, float]]:
    """Return the quantity by setting and round, for trials that ran and measured it; a round's last trial counts."""
    found: dict[str, dict[int, float]] = {}
    for trial in trials:
        if trial.round == EQUAL_ROUND:  # it is there for its losses
            continue
        value = _VALUES[quantity](trial, work) if trial.outcome == "ok" and trial.steps_ns else None
        if value is not None:
            found.setdefault(trial.setting, {})[trial.round] = value
    return found


def measure(rounds: Rounds, others: Sequence[Rounds]) -> Measure | None:
    """Return the mean over a setting's rounds (geometric if all values are above 0) with its interval; None without rounds.

    `others` are the rounds of other settings, whose scatter helps to estimate the interval.
    """
    values = list(rounds.values())
    if not values:
        return None
    if min(values) <= 0:
        return _measure_arithmetic(values)
    mean = mean_of(
        [log(value) for value in values], [[log(each) for each in other.values() if each > 0] for other in others]
    )
    return None if mean is None else Measure(exp(mean.value), mean.interval(), len(values))


def _measure_arithmetic(values: Sequence[float]) -> Measure:
    """Return the arithmetic mean of the values with its interval; None as interval of a single value."""
    middle, count = sum(values) / len(values), len(values)
    if count == 1:
        return Measure(middle, None, 1)
    error = sqrt(sum((value - middle) ** 2 for value in values) / (count - 1) / count)
    reach = error * student_quantile(LEVEL, count - 1)
    return Measure(middle, (middle - reach, middle + reach), count)


def measure_percentiles(trials: Sequence[Trial]) -> dict[Quantity, Measure]:
    """Return p50, p95 and p99 of all steps of a setting's trials, ns, with intervals from resampled trials and steps.

    An interval is None with a single trial, or where steps are so few that all may be shorter than the percentile.
    Empty if no trial measured steps.
    """
    steps = [_steps_of(trial) for trial in trials if trial.outcome == "ok" and trial.steps_ns]
    if not steps:
        return {}
    shares = list(_PERCENTILES.values())
    values = np.quantile(np.concatenate(steps), shares)
    if len(steps) == 1:
        return {name: Measure(float(value), None, 1) for name, value in zip(_PERCENTILES, values, strict=True)}
    drawn, center = np.log(_draw_percentiles(steps, shares)), np.log(np.maximum(values, 1.0))
    wider = center + (drawn - center) * widening(len(steps))
    low, high = np.exp(np.quantile(wider, [LEVEL / 2, 1 - LEVEL / 2], axis=0))
    count = sum(map(len, steps))
    return {
        name: Measure(
            float(values[place]),
            (float(low[place]), float(high[place])) if share**count <= LEVEL / 2 else None,
            len(steps),
        )
        for place, (name, share) in enumerate(_PERCENTILES.items())
    }


def _draw_percentiles(steps: Sequence[Floats], shares: Sequence[float]) -> Floats:
    """Return percentiles of resampled trials and steps, ns: a row for each resample, a column for each of `shares`.

    At most a few hundred steps are drawn from a trial.
    """
    random = np.random.default_rng(_SEED)
    lengths = np.array([len(step) for step in steps])
    padded = np.array([np.resize(step, lengths.max()) for step in steps])
    trials = random.integers(len(steps), size=(_RESAMPLES, len(steps)))
    places = random.random((*trials.shape, min(int(np.median(lengths)), _MOST_STEPS))) * lengths[trials][..., None]
    drawn = padded[trials[..., None], places.astype(int)].reshape(_RESAMPLES, -1)
    return np.asarray(np.maximum(np.quantile(drawn, shares, axis=1).T, 1.0))


def _steps_of(trial: Trial) -> Floats:
    """Return the durations of the trial's counted steps, ns."""
    return np.array(trial.steps_ns, dtype=np.float64)


# Fewer means have no middle half.
_LEAST_CYCLES = 4


def _average_cycles(steps: Floats, cycle: int) -> Floats:
    """Return the mean step of each `cycle` steps, as some of them wait for the workers of a loader and the others do not.

    With fewer than four whole cycles it is the mean of all steps.
    """
    whole = len(steps) // cycle
    if cycle == 1 or not len(steps):
        return steps
    means: Floats = steps[: whole * cycle].reshape(whole, cycle).mean(1)
    return means if whole >= _LEAST_CYCLES else np.array([steps.mean()])


# Of which the difference to the baseline is judged.
COMPARED: tuple[Quantity, ...] = ("step", "throughput", "gpu_memory", "host_memory", "energy")


class ResultTable(msgspec.Struct, frozen=True, dict=True):
    """The trials of an experiment by quantity, setting and round.

    `work` is the unit that throughput counts, `least` the least effect that matters (share).
    """

    settings: tuple[Setting, ...]
    trials: tuple[Trial, ...]
    work: str
    least: float

    @cached_property
    def values(self) -> Mapping[Quantity, Mapping[str, Rounds]]:
        """The measured value by quantity, setting and round; only quantities that some trial measured."""
        found = {quantity: group_by_round(self.trials, quantity, self.work) for quantity in QUANTITIES}
        return {quantity: each for quantity, each in found.items() if each}

    def ratios(self, quantity: Quantity, name: str, base: str = BASELINE) -> list[float]:
        """Return the log ratios of the setting `name` to the setting `base`, one for each round in which both ran."""
        rounds = self.values.get(quantity, {})
        return log_ratios(rounds.get(name, {}), rounds.get(base, {}))

    def mean(self, quantity: Quantity, name: str, base: str = BASELINE) -> Mean | None:
        """Return the mean log ratio of the setting `name` to `base`; None without common rounds.

        The scatter at other settings helps to estimate its error. Settings without common rounds are compared through
        the baseline.
        """
        ratios = self.ratios(quantity, name, base)
        if len(ratios) < 2 and base != BASELINE:  # noqa: PLR2004 - to scatter
            return subtract_means(self.mean(quantity, name), self.mean(quantity, base))
        others = [setting.name for setting in self.settings if setting.name not in (name, base, BASELINE)]
        return mean_of(ratios, [self.ratios(quantity, other) for other in others])


def results_of(table: ResultTable) -> tuple[SettingResult, ...]:
    """Return a result for each setting, the baseline first. Changes and ablations are tested as two families."""
    changes = [setting.name for setting in table.settings if setting.kind != "ablate"]
    ablations = [setting.name for setting in table.settings if setting.kind == "ablate"]
    differences = {
        quantity: {**_judge_quantity(table, quantity, changes), **_judge_quantity(table, quantity, ablations)}
        for quantity in COMPARED
    }
    ordered = sorted(table.settings, key=lambda each: each.name != BASELINE)
    return tuple(
        _make_result(table, each, {name: found[each.name] for name, found in differences.items() if each.name in found})
        for each in ordered
    )


def _judge_quantity(table: ResultTable, quantity: Quantity, names: Sequence[str]) -> dict[str, SettingDifference]:
    """Return the named settings' differences from the baseline in the quantity, tested as one family.

    Unmeasured ones are left out.
    """
    means = {name: table.mean(quantity, name) for name in names if name != BASELINE}
    known = {name: mean for name, mean in means.items() if mean is not None}
    return judge_differences(known, table.least, more_is_better=quantity in MORE_IS_BETTER)


def _make_result(
    table: ResultTable, setting: Setting, differences: Mapping[Quantity, SettingDifference]
) -> SettingResult:
    """Return the result of one setting from its trials; `differences` are its differences from the baseline."""
    trials = [trial for trial in table.trials if trial.setting == setting.name and trial.round != EQUAL_ROUND]
    failed = [trial for trial in trials if trial.outcome != "ok"]
    fine = [trial for trial in trials if trial.outcome == "ok"]
    works = [work_of_trial(each, table.work) for each in fine]
    measures: dict[Quantity, Measure] = measure_percentiles(trials)
    for quantity, settings in table.values.items():
        others = [rounds for name, rounds in settings.items() if name != setting.name]
        found = measure(settings.get(setting.name, {}), others)
        if found is not None:
            measures[quantity] = found
    return SettingResult(
        setting=setting,
        outcome=failed[0].outcome if failed else "ok" if trials else "not run",
        reason=failed[0].reason if failed else None,
        trials=len(trials),
        failed=len(failed),
        steps=sum(len(each.steps_ns) for each in fine),
        work=sum(works) / len(works) if works else 0.0,
        on_gpu=any(each.gpu_memory_peak or each.gpu_share for each in fine),
        measures=measures,
        differences=differences,
        losses=compare_with_baseline(table.trials, setting),
    )
