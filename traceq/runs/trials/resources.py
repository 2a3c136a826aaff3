"""The limit of a step at the largest value, the growth of its parts, and whether a larger batch could help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from traceq.analysis.categories import OF_HOST
from traceq.runs.trials.tradeoff import Growth, Headroom, Point, StepLimit, StepPart, Taken

# Of the step; as in the rule gpu-saturated.
SATURATED = 0.9
_RULE = "gpu-saturated"

# The category in which the GPU computes; the ledger counts CUDA graphs whose nodes were not recorded there as well.
COMPUTE = "compute"

# The exponent from which compute grows with the work: below, twice the work a step wins 3.5 % and more of throughput.
_IN_PROPORTION = 0.95

# Of a step: what is less at every value is no part of the story.
_LEAST = 0.01
# The exponent up to which a part is called constant.
_CONSTANT = 0.2
# Exponents up to which a part is called so.
_CLASSES: tuple[tuple[float, Growth], ...] = (
    (-_CONSTANT, "shrinks"),
    (_CONSTANT, "constant"),
    (0.8, "slower"),
    (1.2, "proportional"),
)


def parts_of(points: Sequence[Point], *, is_amount: bool) -> tuple[StepPart, ...]:
    """Return the ledger categories with at least 1 % of a step at some value, and their growth; largest at the last value first.

    `is_amount`: the values are amounts of work; only then is growth computed. Empty if a point has no ledger.
    """
    if not points or any(not point.ledger for point in points):
        return ()
    categories = {
        category
        for point in points
        for category, ns in point.ledger.items()
        if ns >= _LEAST * sum(point.ledger.values()) and ns > 0
    }
    parts = [_make_part(category, points, is_amount=is_amount) for category in categories]
    return tuple(sorted(parts, key=lambda part: (-part.ns[-1], part.category)))


def _make_part(category: str, points: Sequence[Point], *, is_amount: bool) -> StepPart:
    """Return the ledger category at each point, ns per step, with its growth where that is known."""
    ns = tuple(point.ledger.get(category, 0.0) for point in points)
    if not is_amount:
        return StepPart(category, ns, None, None)
    exponent = _fit_exponent([(point.value or 0.0, each) for point, each in zip(points, ns, strict=True)])
    if exponent is None:
        return StepPart(category, ns, None, None)
    growth: Growth = next((growth for highest, growth in _CLASSES if exponent <= highest), "faster")
    return StepPart(category, ns, exponent, growth)


def _fit_exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the exponent of a power law through points (value, ns): the slope of log ns over log value.

    None with a single point, or with a value or time that is not above 0.
    """
    if len(points) < 2 or any(value <= 0 or ns <= 0 for value, ns in points):  # noqa: PLR2004 - for a slope
        return None
    xs, ys = [log(value) for value, _ in points], [log(ns) for _, ns in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((each - x) ** 2 for each in xs)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread


def compute_growth(points: Sequence[Point]) -> float | None:
    """Return the exponent with which the GPU's compute time grows with the value; None where it is not known.

    It is the lesser of the exponent over all values and the one over the last two, because compute may stop growing in
    between.
    """
    measured = [(point.value or 0.0, _compute(point.ledger)) for point in points]
    overall, last = _fit_exponent(measured), _fit_exponent(measured[-2:])
    return None if overall is None or last is None else min(overall, last)


def limit_of(points: Sequence[Point], growth: float | None) -> StepLimit | None:
    """Return what limits the step at the largest value; None without a ledger. `growth` is the result of compute_growth.

    Compute that does not grow with the work is not called the limit.
    """
    if not points or not sum(points[-1].ledger.values()):
        return None
    ledger = points[-1].ledger
    whole = sum(ledger.values())
    works = not any(category.startswith(OF_HOST) for category in ledger)
    compute = _compute(ledger)
    others = {category: ns for category, ns in ledger.items() if category != COMPUTE and ns > 0}
    largest = min(others, key=lambda category: (-others[category], category), default=None)
    return StepLimit(
        points[-1],
        compute / whole if works else None,
        compute / whole >= SATURATED and (growth is None or growth > _CONSTANT),
        largest,
        others[largest] / whole if largest is not None else 0.0,
    )


def _compute(ledger: Mapping[str, float]) -> float:
    """Return the time in the ledger in which the GPU computes, ns."""
    return ledger.get(COMPUTE, 0.0)


def headroom_of(taken: Taken, growth: float | None, *, is_alone: bool) -> Headroom:
    """Return whether, and by how much at the most, a batch larger than the run's could raise throughput.

    `growth` is the result of compute_growth. `is_alone`: there is no other value, so that the growth is unknown.
    """
    run = taken.run
    ledgers = [step.ledger for step in run.typical]
    whole = sum(sum(ledger.values()) for ledger in ledgers)
    compute = sum(_compute(ledger) for ledger in ledgers)
    is_bounded = is_alone or (growth is not None and growth >= _IN_PROPORTION)
    return Headroom(
        run,
        taken.value,
        run.saturated if is_bounded or growth is None else None,
        run.cannot_tell.get(_RULE),
        growth,
        whole / compute if is_bounded and whole and compute else None,
    )
