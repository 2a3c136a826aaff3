"""Fit what a step of a server costs by the tokens of prompts and the decoding requests in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args

import msgspec
import numpy as np

from traceq.runs.batching.recording import StepRecord
from traceq.runs.statistics import Floats

# Shapes whose error on steps left out is not much larger than that of the best are as good as it is.
_AS_GOOD = 1.25
# A term more has to win so many standard errors of what it wins.
_WORTH_A_TERM = 2.0
_OTHERS = 5
_FOLDS = 5
_ROUNDS = 6
_HUBER = 1.345
_OF_NORMAL = 1.4826
_LEAST_SPREAD = 1e-4

Term = Literal["step", "prompts", "prefill", "square", "attention", "decode", "kv"]
_TERMS: tuple[Term, ...] = get_args(Term)


class StepCost(msgspec.Struct, frozen=True):
    """The time of a step, ns: the sum over its terms of `per_unit` times their amount in the step.

    Terms: step (1), prompts (1 where prompts are computed), prefill (tokens of prompts beyond the first `free_tokens`),
    square (their square), attention (StepRecord.attention), decode (decoding requests), kv (tokens whose keys and values
    are read).
    """

    terms: tuple[Term, ...]
    per_unit: tuple[float, ...]
    free_tokens: int
    left_out_error: float

    def per_unit_of(self, term: Term) -> float:
        """Return the cost of a unit of the term, ns; 0 for one that the shape lacks."""
        return self.per_unit[self.terms.index(term)] if term in self.terms else 0.0

    def make_function(self) -> Callable[[int, int, int, float], float]:
        """Return a function from tokens of prompts, decoding requests, tokens in the cache and attention to a step's time, ns."""
        step, prompts, per_token, square, per_pair, per_request, per_kv = map(self.per_unit_of, _TERMS)
        free = self.free_tokens

        def estimate_time(prefill: int, decode: int, kv: int, attention: float) -> float:
            took = step + per_request * decode + per_kv * kv
            if prefill:
                took += prompts + square * prefill * prefill + per_pair * attention
                took += per_token * (prefill - free) if prefill > free else 0.0
            return max(took, 1.0)

        return estimate_time


def fit_costs(steps: Sequence[StepRecord], *, mixes: bool, knows_context: bool) -> list[StepCost]:
    """Return the shapes that fit the steps about as well as the best, that one first.

    By least squares of relative errors, in which outliers count less (Huber), with no negative cost. The error is the mean
    over steps left out of the fit, a fifth at a time, consecutive ones. Of two shapes the one with fewer terms is better
    unless the other misses by less, by two standard errors. Without `mixes` prompts and next tokens have steps of their
    own, with a fixed cost each. `knows_context` says whether the tokens in the cache will be known of other schedules.
    """
    times = np.array([step.dur for step in steps], dtype=float)
    has_kv = knows_context and all(step.kv_tokens is not None for step in steps)
    has_attention = knows_context and all(step.attention is not None for step in steps)
    fitted = [
        _fit_shape(steps, times, terms, free)
        for terms, free in _list_shapes(steps, mixes=mixes, has_kv=has_kv, has_attention=has_attention)
    ]
    fitted.sort(key=lambda found: len(found[0].terms))
    best, missed = fitted[0]
    for cost, errors in fitted[1:]:
        won = missed - errors
        if len(cost.terms) == len(best.terms):
            is_better = cost.left_out_error < best.left_out_error
        else:
            is_better = float(won.mean()) > max(_WORTH_A_TERM * float(won.std()) / len(won) ** 0.5, _LEAST_SPREAD)
        if is_better:
            best, missed = cost, errors
    good = (cost for cost, _ in fitted if cost is not best and cost.left_out_error <= _AS_GOOD * best.left_out_error)
    return [best, *sorted(good, key=lambda cost: cost.left_out_error)[:_OTHERS]]


def refit_cost(cost: StepCost, steps: Sequence[StepRecord]) -> StepCost:
    """Return a cost of the same shape, fitted to other steps."""
    times = np.array([step.dur for step in steps], dtype=float)
    found = _solve_costs(_make_design(steps, cost.terms, cost.free_tokens), times)
    return msgspec.structs.replace(cost, per_unit=tuple(map(float, found)))


def _list_shapes(
    steps: Sequence[StepRecord], *, mixes: bool, has_kv: bool, has_attention: bool
) -> Iterator[tuple[tuple[Term, ...], int]]:
    """Yield the shapes to try: their terms, and the tokens of prompts that cost nothing."""
    prompts = [step.prefill_tokens for step in steps if step.prefill_tokens]
    free = sorted({0, *(int(found) for found in np.quantile(prompts, [0.25, 0.5]))})
    bends: list[tuple[tuple[Term, ...], int]] = [*(((), tokens) for tokens in free), (("square",), 0)]
    bends += [(("attention",), tokens) for tokens in free] if has_attention else []
    for switch in (True, False) if mixes else (True,):
        for kv in (True, False) if has_kv else (False,):
            for bend, tokens in bends:
                first: tuple[Term, ...] = ("step", "prompts") if switch else ("step",)
                yield (*first, "prefill", *bend, "decode", *(("kv",) if kv else ())), tokens


def _make_design(steps: Sequence[StepRecord], terms: Sequence[Term], free: int) -> Floats:
    """Return the amount of each term in each step, a row for each step."""
    prefill = np.array([step.prefill_tokens for step in steps], dtype=float)
    columns: dict[Term, Floats] = {
        "step": np.ones(len(steps)),
        "prompts": (prefill > 0).astype(float),
        "prefill": np.maximum(prefill - free, 0.0),
        "square": prefill**2,
        "attention": np.array([step.attention or 0.0 for step in steps]),
        "decode": np.array([step.decode_requests for step in steps], dtype=float),
        "kv": np.array([step.kv_tokens or 0 for step in steps], dtype=float),
    }
    return np.column_stack([columns[term] for term in terms])


def _fit_shape(
    steps: Sequence[StepRecord], times: Floats, terms: tuple[Term, ...], free: int
) -> tuple[StepCost, Floats]:
    """Return the cost of that shape, and by how much it misses each step when its fifth of the steps is left out."""
    design = _make_design(steps, terms, free)
    errors = []
    for fold in np.array_split(np.arange(len(steps)), _FOLDS):
        kept = np.ones(len(steps), dtype=bool)
        kept[fold] = False
        ratios = design[fold] @ _solve_costs(design[kept], times[kept]) / times[fold]
        errors.append(np.minimum(np.abs(ratios - 1), 1.0))
    found = tuple(map(float, _solve_costs(design, times)))
    missed = np.concatenate(errors)
    return StepCost(terms, found, free, float(missed.mean())), missed


def _solve_costs(design: Floats, times: Floats) -> Floats:
    """Return the cost of a unit of each term, ns, at least 0: terms that would be negative are dropped, the worst first."""
    relative = design / times[:, None]
    scale = np.linalg.norm(relative, axis=0)
    scale[scale == 0] = 1.0
    relative = relative / scale
    weights = np.ones(len(times))
    found = np.zeros(design.shape[1])
    for _ in range(_ROUNDS):
        weighted = relative * weights[:, None]
        products, moments = weighted.T @ relative, weighted.sum(axis=0)
        kept = [column for column in range(design.shape[1]) if design[:, column].any()]
        found = np.zeros(design.shape[1])
        while kept:
            part = np.linalg.lstsq(products[np.ix_(kept, kept)], moments[kept], rcond=None)[0]
            if (part >= 0).all():
                found[kept] = part
                break
            kept.pop(int(np.argmin(part)))
        missed = np.abs(relative @ found - 1)
        spread = max(_OF_NORMAL * float(np.median(missed)), _LEAST_SPREAD)
        weights = np.minimum(1.0, _HUBER * spread / np.maximum(missed, _LEAST_SPREAD))
    scaled: Floats = found / scale
    return scaled
