"""Choose the setting that serves a goal within limits, the changes worth making, and find dominated settings.

Settings that failed, that leave a part of the program out, or that another one surely dominates (pareto.py) are
never chosen, and those that one dominates perhaps by chance only where nothing else is as good. A change is recommended only
where it is surely better than the baseline, or surely dominates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from traceq.common.distributions import LEVEL
from traceq.runs.trials.experiment import (
    MORE_IS_BETTER,
    Dominated,
    Goal,
    Quantity,
    SettingChoice,
    SettingResult,
    TrialLimits,
    Win,
)
from traceq.runs.trials.pareto import ALIKE, find_alike, find_dominated
from traceq.runs.trials.results import ResultTable
from traceq.runs.trials.trial import BASELINE
from traceq.runs.trials.values import is_work_known, number_in

# Of these knobs a program can take one: the values of one are alternatives to those of the other.
_INSTEAD_OF = {"foreach": "fused"}

_WEIGHED: tuple[Quantity, ...] = ("step", "throughput", "gpu_memory", "host_memory", "energy")


class Field(msgspec.Struct, frozen=True):
    """The settings that may be chosen, with their results, and the quantities by which they are compared."""

    table: ResultTable
    results: Mapping[str, SettingResult]
    weighed: tuple[Quantity, ...]

    def points(self, names: Iterable[str]) -> dict[str, tuple[float, ...]]:
        """Return for each named setting its merit in every weighed quantity, as a row; more is better."""
        return {name: tuple(self.merit(name, quantity) for quantity in self.weighed) for name in names}

    def merit(self, name: str, quantity: Quantity) -> float:
        """Return the setting's merit in a quantity (more is better), relative to the baseline in the same rounds if that ran."""
        value = self.results[name].measures[quantity].value
        if BASELINE in self.results:
            found = self.results[name].differences.get(quantity)
            value = found.ratio if found else value / (self.results[BASELINE].measures[quantity].value or 1.0)
        return value if quantity in MORE_IS_BETTER else 1 / value if value > 0 else float("inf")

    def is_better(self, name: str, quantity: Quantity) -> bool:
        """Return whether the setting is surely better than the baseline in the quantity."""
        found = self.results[name].differences.get(quantity)
        return found is not None and found.verdict == "better"


def weigh_settings(table: ResultTable, results: Sequence[SettingResult]) -> Field:
    """Return the settings that can be chosen, and the quantities that all of them measured.

    Settings that failed or leave a part of the program out are dropped; so is throughput where the work is not known.
    """
    able = {
        result.setting.name: result
        for result in results
        if result.is_judged and result.setting.kind != "ablate" and "step" in result.measures
    }
    weighed = [name for name in _WEIGHED if able and all(name in each.measures for each in able.values())]
    if "throughput" in weighed and not is_work_known(
        (knob for setting in table.settings for knob in setting.values), table.trials, table.work
    ):
        weighed.remove("throughput")
    return Field(table, able, tuple(weighed))


def split_front(field: Field) -> tuple[tuple[str, ...], tuple[Dominated, ...]]:
    """Return the settings that no other one dominates, then the dominated ones, each with a setting that dominates it."""
    points = field.points(field.results)
    beaten = find_dominated(points)
    return tuple(name for name in points if name not in beaten), tuple(
        Dominated(name, by, _surely_beats(field, by, name)) for name, by in beaten.items()
    )


def _surely_beats(field: Field, by: str, name: str) -> bool:
    """Return whether the setting `by` surely dominates the setting `name`.

    It must be better in one quantity beyond chance, and surely less than 1 % worse in all others.
    """
    wins = any(
        field.merit(by, quantity) > field.merit(name, quantity) and not _may_be_alike(field.table, quantity, by, name)
        for quantity in field.weighed
    )
    return wins and all(_surely_keeps(field.table, quantity, by, name) for quantity in field.weighed)


def _surely_keeps(table: ResultTable, quantity: Quantity, one: str, other: str) -> bool:
    """Return whether the setting `one` is surely less than 1 % worse than `other` in the quantity."""
    mean = table.mean(quantity, one, other)
    interval = None if mean is None else mean.interval()
    if interval is None:
        return False
    return interval[0] >= 1 - ALIKE if quantity in MORE_IS_BETTER else interval[1] <= 1 / (1 - ALIKE)


def _may_be_alike(table: ResultTable, quantity: Quantity, one: str, other: str) -> bool:
    """Return whether the difference of two settings in the quantity may be chance, or was not measured."""
    mean = table.mean(quantity, one, other)
    return mean is None or mean.p is None or mean.p > LEVEL


def choose_setting(field: Field, goal: Goal, limits: TrialLimits) -> SettingChoice | None:
    """Return the best setting for the goal within the limits, with alternatives; None if the goal's quantity was not measured."""
    quantity = goal_quantity(field, goal)
    if quantity is None:
        return None
    over = {name: broken for name in field.results if (broken := _find_excess(field.results[name], limits))}
    kept = [name for name in field.results if name not in over]
    unsure = tuple(name for name in kept if _may_exceed(field.results[name], limits))
    if not kept:
        return SettingChoice(goal, None, (), (), None, over, unsure)
    equals = _list_alike(field, quantity, kept)
    # Where the baseline keeps the limits, what is not surely better is no change to make.
    able = [name for name in kept if BASELINE in over or name == BASELINE or field.is_better(name, quantity)]
    chosen = _choose_simplest(field, goal, _drop_dominated(field, kept, _list_alike(field, quantity, able or kept)))
    is_better = field.is_better(chosen, quantity)
    others = tuple(name for name in equals if name != chosen and not (is_better and name == BASELINE))
    wins = tuple(_find_wins(field, goal, quantity, kept))
    combined = _find_combination(field, kept, wins) if len(wins) > 1 else None
    return SettingChoice(goal, chosen, others, wins, combined, over, unsure)


def _list_alike(field: Field, quantity: Quantity, names: Sequence[str]) -> list[str]:
    """Return the settings of `names` whose value is the best in the quantity, or may be as good."""
    values = {name: field.merit(name, quantity) for name in names}
    return find_alike(values, lambda name, best: _is_open(field, quantity, name, best))


def _drop_dominated(field: Field, kept: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return those of `names` that no setting of `kept` dominates.

    The baseline counts as such unless it is surely dominated. If all are dominated, return those that may be so by
    chance; if all surely are, the one that dominates the first.
    """
    beaten = find_dominated(field.points(kept))
    surely = {name for name, by in beaten.items() if _surely_beats(field, by, name)}
    free = [name for name in names if name not in beaten or (name == BASELINE and name not in surely)]
    return free or [name for name in names if name not in surely] or [beaten[names[0]]]


def _find_combination(field: Field, kept: Sequence[str], wins: Sequence[Win]) -> str | None:
    """Return the first kept setting that has the values of every win, or of a setting that is equal to it.

    None without one.
    """
    for name in kept:
        if all(any(_has_values_of(field, name, each) for each in (win.setting, *win.alike)) for win in wins):
            return name
    return None


def goal_quantity(field: Field, goal: Goal) -> Quantity | None:
    """Return the quantity by which the goal is judged (for memory: of the GPU, else of the host); None if not measured."""
    wanted: dict[Goal, tuple[Quantity, ...]] = {
        "latency": ("step",),
        "throughput": ("throughput",),
        "memory": ("gpu_memory", "host_memory"),
    }
    return next((name for name in wanted[goal] if name in field.weighed), None)


def _limits_by_quantity(limits: TrialLimits) -> dict[Quantity, float]:
    """Return the limits that were given, by quantity."""
    given: dict[Quantity, float | None] = {
        limits.percentile: limits.latency_ns,
        "gpu_memory": limits.gpu_memory,
        "host_memory": limits.host_memory,
    }
    return {name: limit for name, limit in given.items() if limit is not None}


def _find_excess(result: SettingResult, limits: TrialLimits) -> tuple[Quantity, ...]:
    """Return the quantities in which the setting's measured value is above a limit."""
    return tuple(
        name
        for name, limit in _limits_by_quantity(limits).items()
        if name in result.measures and result.measures[name].value > limit
    )


def _may_exceed(result: SettingResult, limits: TrialLimits) -> bool:
    """Return whether the setting may break a limit: its interval reaches above, or the quantity was not measured."""
    for name, limit in _limits_by_quantity(limits).items():
        found = result.measures.get(name)
        if found is None or found.interval is None or found.interval[1] > limit:
            return True
    return False


def _is_open(field: Field, quantity: Quantity, name: str, best: str) -> bool:
    """Return whether a setting may be as good as the best one in the quantity.

    The baseline may be, unless the best is surely better than it.
    """
    if name == BASELINE:
        return not field.is_better(best, quantity)
    return _may_be_alike(field.table, quantity, name, best)


def _choose_simplest(field: Field, goal: Goal, names: Sequence[str]) -> str:
    """Return one of equally good settings: the baseline, else the one of fewest changed knobs.

    Of several that change the same single knob to a number, it is the smallest; else the best in a second quantity
    (step or throughput).
    """
    if BASELINE in names:
        return BASELINE
    fewest = min(len(field.results[name].setting.values) for name in names)
    names = [name for name in names if len(field.results[name].setting.values) == fewest]
    numbers = {name: _single_knob(field, name) for name in names}
    if len({knob for knob, _ in numbers.values()}) == 1 and all(value is not None for _, value in numbers.values()):
        return min(names, key=lambda name: numbers[name][1] or 0.0)
    second: Quantity = "step" if goal == "throughput" or "throughput" not in field.weighed else "throughput"
    return max(names, key=lambda name: field.merit(name, second))


def _single_knob(field: Field, name: str) -> tuple[str, float | None]:
    """Return the knob of a setting that changes only one, and its value if that is a number; ("", None) otherwise."""
    values = list(field.results[name].setting.values.items())
    return (values[0][0], number_in(values[0][1])) if len(values) == 1 else ("", None)


def _find_wins(field: Field, goal: Goal, quantity: Quantity, kept: Sequence[str]) -> Iterable[Win]:
    """Return, for each group of kept settings of the same knobs, the best that is surely better than the baseline.

    Groups without one are left out; the largest gain comes first.
    """
    groups: dict[frozenset[str], list[str]] = {}
    for name in kept:
        values = field.results[name].setting.values
        if name != BASELINE and values and not _is_combination(field, name):
            groups.setdefault(frozenset(_INSTEAD_OF.get(knob, knob) for knob in values), []).append(name)
    found = [win for names in groups.values() if (win := _best_win(field, goal, quantity, names)) is not None]
    return sorted(found, key=lambda win: win.ratio, reverse=quantity in MORE_IS_BETTER)


def _best_win(field: Field, goal: Goal, quantity: Quantity, names: Sequence[str]) -> Win | None:
    """Return the best of several settings of the same knobs.

    None if no undominated one is surely better than the baseline.
    """
    base = [BASELINE] if BASELINE in field.results else []
    beaten = find_dominated(field.points([*base, *names]))
    values = {
        name: field.merit(name, quantity) for name in names if name not in beaten and field.is_better(name, quantity)
    }
    if not values:
        return None
    equals = find_alike(values, lambda name, best: _may_be_alike(field.table, quantity, name, best))
    best = _choose_simplest(field, goal, equals)
    found = field.results[best].differences[quantity]
    costs = tuple(name for name, each in field.results[best].differences.items() if each.verdict == "worse")
    interval = found.interval or (found.ratio, found.ratio)
    return Win(best, quantity, found.ratio, interval, tuple(name for name in equals if name != best), costs)


def _is_combination(field: Field, name: str) -> bool:
    """Return whether the setting's values are exactly those of several other settings together."""
    mine = field.results[name].setting.values.items()
    parts = [
        other.setting.values.items()
        for other in field.results.values()
        if other.setting.name != BASELINE and other.setting.values and other.setting.values.items() < mine
    ]
    return bool(parts) and set(mine) == {pair for part in parts for pair in part}


def _has_values_of(field: Field, name: str, part: str) -> bool:
    """Return whether the setting `name` has all values of the setting `part`."""
    return field.results[part].setting.values.items() <= field.results[name].setting.values.items()
