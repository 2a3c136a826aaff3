"""The noise between runs of one program, beyond the scatter of their own steps: measured from several runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from traceq.common.distributions import LEVEL, chi_squared_quantile
from traceq.errors import WrongUse
from traceq.runs import statistics
from traceq.runs.compare.comparable import find_obstacles, find_remarks
from traceq.runs.compare.side import describe_side, drop_duplicates, runs_with_steps, step_durations
from traceq.runs.made_with import find_differences, is_turned
from traceq.runs.run import Run
from traceq.runs.statistics import Statistic

_BOUNDS = (1 - LEVEL / 2, LEVEL / 2)


class Noise(msgspec.Struct, frozen=True):
    """The noise between `runs` of one program: standard deviations of the step as shares of its mean.

    `steps_ns` is the step of each run. `within` is the scatter that comes from the runs' finite number of steps,
    `between` what runs differ by beyond that, 0 if nothing. `low` and `high` enclose the true `between` with 95 %
    confidence. `remarks` name other differences between the runs.
    """

    runs: tuple[Run, ...]
    statistic: Statistic
    steps_ns: tuple[float, ...]
    within: float
    between: float
    low: float
    high: float
    remarks: tuple[str, ...]


def measure_noise(given: Sequence[Run], statistic: Statistic = "typical") -> Noise:
    """Measure the noise between runs of one program, in the step by `statistic`; a run needs two or more counted steps.

    Raises WrongUse if the runs cannot be compared as one program, or fewer than two have enough steps.
    """
    runs = [run for run in runs_with_steps(drop_duplicates(given)) if len(run.counted) > 1]
    if len(runs) < 2:  # noqa: PLR2004 - to differ
        qualify = "1 qualifies" if len(runs) == 1 else f"{len(runs)} qualify"
        raise WrongUse(f"noise needs two runs with at least two counted steps each; {qualify}")
    for run in runs[1:]:
        for obstacle in find_obstacles(runs[:1], [run]):
            raise WrongUse(f"{run.file} is not a run of the same program as {runs[0].file}: {obstacle}.")
    steps = [step_durations(run)[:, None] for run in runs]
    centers = np.array([statistics.center_of(step, statistic)[0] for step in steps])
    mean = float(centers.mean())
    scatter = [_step_variance(step, statistic) for step in steps]
    freedom = len(runs) - 1
    seen = float(centers.var(ddof=1))
    within = float(np.mean(scatter))
    low, high = (freedom * seen / chi_squared_quantile(share, freedom) for share in _BOUNDS)
    between, least, most = (math.sqrt(max(variance - within, 0.0)) / mean for variance in (seen, low, high))
    said = (
        each
        for run in runs[1:]
        for each in (*_describe_knobs(runs[0], run), *find_remarks(describe_side(runs[:1]), describe_side([run])))
    )
    return Noise(
        runs=tuple(runs),
        statistic=statistic,
        steps_ns=tuple(float(side_centers) for side_centers in centers),
        within=math.sqrt(within) / mean,
        between=between,
        low=least,
        high=most,
        remarks=tuple(dict.fromkeys(said)),
    )


def _describe_knobs(first: Run, run: Run) -> Iterator[str]:
    """Yield a sentence for each knob that is set differently in `run` than in `first`: its effect is not noise."""
    for each in filter(is_turned, find_differences(([first], [run]))):
        before, after = (" or ".join(values) for values in each.values)
        yield f"{run.file} has a different setting from {first.file}: {each.words} {after}, not {before}"


def _step_variance(steps: statistics.Floats, statistic: Statistic) -> float:
    """Return the variance of a run's mean or typical step, estimated by resampling its steps, ns squared."""
    resamples = statistics.resamples_for(steps.size)
    drawn = statistics.resample(steps, statistic, resamples, np.random.default_rng(len(steps)))
    return float((statistics.dependence_factor([steps[:, 0]]) * drawn[:, 0]).var())
