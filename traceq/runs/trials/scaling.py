"""Amdahl's law of workers, devices and threads: step = t * (s + (1 - s) / min(n, p)), s the serial share, p the most that helps.

Against 1 / n that is a line, or a flat part and a line: the curves of a trade-off (traceq/runs/trials/curve.py), fitted by
the same code and rejected by the same error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, inf, isinf, log

import numpy as np

from traceq.common.distributions import LEVEL, widening
from traceq.runs.trials.curve import MOST_ERROR, Points, fit, fit_affine, fit_hinge
from traceq.runs.trials.experiment import Scaling, SettingResult
from traceq.runs.trials.paired import judge_differences
from traceq.runs.trials.results import ResultTable
from traceq.runs.trials.tradeoff import CurveFit, Shape, StepCurve
from traceq.runs.trials.trial import BASELINE
from traceq.runs.trials.values import count_in, is_count, is_work_known

_NS_PER_S = 1_000_000_000
_RESAMPLES, _SEED = 300, 20_251

# Of each count the time for the work of a second's throughput, ns, a round each; the rounds are the same for all counts.
Times = Mapping[int, Sequence[float]]


def scaling_of(table: ResultTable, results: Sequence[SettingResult]) -> Iterator[Scaling]:
    """Yield Amdahl's law for each knob that counts (workers, threads, ...) and was varied alone at three counts or more.

    Nothing for a knob that may change a step's work where that is not known.
    """
    knobs = dict.fromkeys(name for result in results for name in result.setting.values if is_count(name))
    for knob in knobs:
        names = _settings_alone(knob, results)
        trials = [trial for trial in table.trials if trial.setting in names.values()]
        times = _times_by_count(table, names)
        found = fit(_make_points(times)) if is_work_known([knob], trials, table.work) else None
        if found is not None:
            yield _fit_law(knob, times, found, _do_counts_differ(table, names))


def _settings_alone(knob: str, results: Sequence[SettingResult]) -> dict[int, str]:
    """Return by count (1 or more, ascending) the names of settings that differ from the baseline in this knob only."""
    usual = next((result.setting.values for result in results if result.setting.name == BASELINE), {})
    found: dict[int, str] = {}
    for result in results:
        values = {**usual, **result.setting.values}
        is_alone = all(values[name] == usual.get(name) for name in values if name != knob)
        count = count_in(values.get(knob, ""))
        if is_alone and count is not None and result.setting.kind != "ablate" and result.is_judged:
            found[count] = result.setting.name
    return dict(sorted(found.items()))


def _times_by_count(table: ResultTable, names: Mapping[int, str]) -> Times:
    """Return by count the time for the work of one second, ns, in each round in which all counts ran.

    Empty without a round.
    """
    rates = {count: table.values.get("throughput", {}).get(name, {}) for count, name in names.items()}
    common = sorted(set.intersection(*(set(rate) for rate in rates.values()))) if rates else []
    usable = [number for number in common if all(rate[number] > 0 for rate in rates.values())]
    return {count: [_NS_PER_S / each[number] for number in usable] for count, each in rates.items() if usable}


def _make_points(times: Times) -> Points:
    """Return points of the curve, sorted: 1 / count, and the geometric mean over rounds of the count's times, ns."""
    return sorted((1 / count, exp(sum(map(log, each)) / len(each))) for count, each in times.items())


def _do_counts_differ(table: ResultTable, names: Mapping[int, str]) -> bool | None:
    """Return whether any count surely differs from the smallest; None if that is not certain either way."""
    first, *others = names.values()
    means = {name: table.mean("throughput", name, first) for name in others}
    found = judge_differences({name: each for name, each in means.items() if each}, table.least, more_is_better=True)
    verdicts = [each.verdict for each in found.values()]
    if any(verdict in ("better", "worse") for verdict in verdicts):
        return True
    return False if verdicts and all(verdict == "no difference" for verdict in verdicts) else None


def _fit_law(knob: str, times: Times, found: CurveFit, differ: bool | None) -> Scaling:
    """Return the law read from the fitted curve, with intervals from resampled rounds.

    `differ` comes from _do_counts_differ.
    """
    curve, one = found.curve, found.curve.fixed_ns + found.curve.per_unit_ns
    is_fit = found.largest_error <= MOST_ERROR and one > 0 and differ is not None
    # Where no count differs all of it is serial, whatever the curve makes of the rest.
    serial, effective = _read_law(curve) if is_fit and differ else (1.0, inf)
    drawn = [_read_law(each) for each in _refit_curves(times, curve.shape)] if is_fit and differ else []
    rounds = len(next(iter(times.values())))
    shares = _interval_of(serial, [each for each, _ in drawn], rounds)
    most = None if isinf(effective) else _interval_of(log(effective), [log(each) for _, each in drawn], rounds)
    return Scaling(
        knob,
        tuple(times),
        serial=serial if is_fit else None,
        serial_interval=None if shares is None else (max(shares[0], 0.0), min(shares[1], 1.0)),
        effective=None if isinf(effective) else effective,
        effective_interval=None if most is None else (exp(most[0]), None if isinf(most[1]) else exp(most[1])),
        error=found.largest_error,
        left_out_error=found.left_out_error,
        one_ns=one if is_fit else None,
        has_one=1 in times,
    )


def _read_law(curve: StepCurve) -> tuple[float, float]:
    """Return the serial share (0..1), and the count above which nothing is gained (infinite if more always helps)."""
    flat = curve.flat_ns - curve.fixed_ns
    effective = curve.per_unit_ns / flat if curve.flat_ns and flat > 0 else inf
    return curve.fixed_ns / (curve.fixed_ns + curve.per_unit_ns), effective


def _refit_curves(times: Times, shape: Shape) -> Iterator[StepCurve]:
    """Yield curves of the shape, fitted to resampled rounds; none with a single round, which does not show the scatter."""
    rounds = len(next(iter(times.values())))
    fitted, random = fit_hinge if shape == "hinge" else fit_affine, np.random.default_rng(_SEED)
    for _ in range(_RESAMPLES if rounds > 1 else 0):
        drawn = random.integers(rounds, size=rounds)
        yield fitted(_make_points({count: [each[place] for place in drawn] for count, each in times.items()}))


def _interval_of(value: float, drawn: Sequence[float], rounds: int) -> tuple[float, float] | None:
    """Return the 95 % interval from draws around `value`, widened for few rounds; None without draws."""
    if not drawn:
        return None
    wider = sorted(value + (draw - value) * widening(rounds) for draw in drawn)
    beyond = int(len(wider) * LEVEL / 2)
    return wider[beyond], wider[-1 - beyond]
