"""The costs of steps to schedule with, several of them: how far their schedules differ says how sure a prediction is."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from traceq.runs.batching.recording import StepRecord
from traceq.runs.batching.schedule import Cost
from traceq.runs.batching.step_cost import StepCost, refit_cost

_REFITS = 8
_STRETCHES = 12
_SEED = 20_261
_STRATA = 4


class CostModel(NamedTuple):
    """A cost of steps with the noise around it: recorded over fitted, by tokens of prompts up to each of `bounds`.

    All is multiplied by `scale`.
    """

    cost: StepCost
    bounds: tuple[float, ...]
    noise: tuple[tuple[float, ...], ...]
    scale: float = 1.0

    def make_cost(self, seed: int) -> Cost:
        """Return the cost of a step times its noise, drawn for each step from a generator with this seed."""
        estimate, bounds, noise, scale = self.cost.make_function(), self.bounds, self.noise, self.scale
        choose = random.Random(f"{_SEED} {seed}").random  # noqa: S311 - noise, no secret

        def take_time(prefill: int, decode: int, kv: int, attention: float) -> float:
            ratios = noise[bisect_left(bounds, prefill)]
            return scale * ratios[int(choose() * len(ratios))] * estimate(prefill, decode, kv, attention)

        return take_time


def list_models(costs: Sequence[StepCost], steps: Sequence[StepRecord]) -> list[CostModel]:
    """Return the costs to schedule with: as fitted (the best first), refitted to resampled stretches, and scaled.

    It is scaled by what the stretch of steps takes that differs most from the others, in the median.
    """
    models = [_model_noise(cost, steps) for cost in costs]
    best = models[0]
    stretches = np.array_split(np.arange(len(steps)), _STRETCHES)
    ratios = np.array([step.dur / _expect_time(best.cost, step) for step in steps])
    usual = float(np.median(ratios))
    drift = max(abs(float(np.log(np.median(ratios[stretch]) / usual))) for stretch in stretches)
    models += [best._replace(scale=float(np.exp(sign * drift))) for sign in (-1, 1)]
    chooser = np.random.default_rng(_SEED)
    for _ in range(_REFITS):
        places = np.concatenate([stretches[place] for place in chooser.integers(0, _STRETCHES, _STRETCHES)])
        sample = [steps[place] for place in places]
        if any(step.prefill_tokens for step in sample) and any(step.decode_requests for step in sample):
            models.append(_model_noise(refit_cost(best.cost, sample), sample))
    return models


def _expect_time(cost: StepCost, step: StepRecord) -> float:
    """Return what the step would take by the cost, ns."""
    estimate = cost.make_function()
    return estimate(step.prefill_tokens, step.decode_requests, step.kv_tokens or 0, step.attention or 0.0)


def _model_noise(cost: StepCost, steps: Sequence[StepRecord]) -> CostModel:
    """Return the cost with its noise, apart for steps without prompts and for quarters of those with."""
    prompts = [step.prefill_tokens for step in steps if step.prefill_tokens]
    quantiles = np.quantile(prompts, np.linspace(0, 1, _STRATA + 1)[1:-1])
    bounds = (0.0, *map(float, sorted(set(quantiles))))
    noise: list[list[float]] = [[] for _ in range(len(bounds) + 1)]
    for step in steps:
        noise[bisect_left(bounds, step.prefill_tokens)].append(step.dur / _expect_time(cost, step))
    every = [ratio for several in noise for ratio in several]
    return CostModel(cost, bounds, tuple(tuple(several or every) for several in noise))
