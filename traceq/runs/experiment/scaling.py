"""Amdahl's law of workers, devices and threads: step = t * (s + (1 - s) / min(n, p)), s the serial share, p the most that helps.

Against 1 / n that is a line, or a flat part and a line: the curves of a trade-off (traceq/runs/tradeoff/curve.py), fitted by
the same code and rejected by the same error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from traceq.runs.experiment.amounts import count_in, is_count
from traceq.runs.experiment.experiment import Result, Scaling
from traceq.runs.experiment.trial import BASELINE
from traceq.runs.tradeoff.curve import FEWEST, MOST_ERROR, fit
from traceq.runs.tradeoff.tradeoff import Fit

_NS_PER_S = 1_000_000_000


def scaling_of(results: Sequence[Result]) -> Iterator[Scaling]:
    """A row for each knob that counts something and was run alone at three counts or more."""
    base = next((each for each in results if each.setting.name == BASELINE), None)
    knobs = dict.fromkeys(name for each in results for name in each.setting.values if is_count(name))
    for knob in knobs:
        points = _points(knob, results, {} if base is None else base.setting.values)
        found = fit(sorted((1 / count, ns) for count, ns in points.items()))
        if found is not None and len(points) >= FEWEST:
            yield _scaling(knob, tuple(sorted(points)), found)


def _points(knob: str, results: Sequence[Result], usual: Mapping[str, str]) -> dict[int, float]:
    """By count the time for the work of a second's throughput; no count is none at all: the caller does the work then."""
    found: dict[int, float] = {}
    for each in results:
        values = {**usual, **each.setting.values}
        is_alone = all(values[name] == usual.get(name) for name in values if name != knob)
        rate, count = each.measures.get("throughput"), count_in(values.get(knob, ""))
        is_measured = each.setting.kind != "ablate" and each.outcome == "ok" and rate is not None and rate.value > 0
        if is_alone and count is not None and rate is not None and is_measured:
            found[count] = _NS_PER_S / rate.value
    return found


def _scaling(knob: str, counts: tuple[int, ...], found: Fit) -> Scaling:
    curve = found.curve
    one = curve.fixed_ns + curve.per_unit_ns
    is_fit = found.largest_error <= MOST_ERROR and one > 0
    flat = curve.flat_ns - curve.fixed_ns
    return Scaling(
        knob,
        counts,
        serial=curve.fixed_ns / one if is_fit else None,
        effective=curve.per_unit_ns / flat if is_fit and curve.flat_ns and flat > 0 else None,
        error=found.largest_error,
        left_out_error=found.left_out_error,
        one_ns=one if is_fit else None,
        has_one=1 in counts,
    )
