"""The main effects of a factorial: what a value does on average over the values of all other knobs; and which do not add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from math import log

import msgspec

from traceq.runs.trials.experiment import MORE_IS_BETTER, Effect, Interaction, Quantity
from traceq.runs.trials.paired import Mean, judge_differences, mean_of
from traceq.runs.trials.results import ResultTable
from traceq.runs.trials.trial import BASELINE, Setting

# What a knob has where a setting does not change it.
UNCHANGED = ""

Levels = Mapping[str, str]


class Grid(msgspec.Struct, frozen=True):
    """A full factorial: `levels` are the values of each knob, the baseline's first; `names` the settings by all their values."""

    levels: Mapping[str, tuple[str, ...]]
    names: Mapping[frozenset[tuple[str, str]], str]

    def name(self, values: Levels) -> str:
        """Return the name of the setting with these values, one for each knob. Raises KeyError if there is none."""
        return self.names[frozenset(values.items())]

    def others(self, *knobs: str) -> Iterator[Levels]:
        """Yield every combination of values of the knobs that are not in `knobs`."""
        rest = {knob: levels for knob, levels in self.levels.items() if knob not in knobs}
        for values in product(*rest.values()):
            yield dict(zip(rest, values, strict=True))


def grid_of(settings: Sequence[Setting]) -> Grid | None:
    """Return the settings as a full factorial; None with fewer than two knobs, or if combinations are missing."""
    tried = [setting for setting in settings if setting.kind in ("baseline", "vary")]
    base = next((setting for setting in tried if setting.name == BASELINE), None)
    knobs = list(dict.fromkeys(knob for setting in tried for knob in setting.values if setting.name != BASELINE))
    if base is None or len(knobs) < 2:  # noqa: PLR2004 - to have effects on one another
        return None
    usual = {knob: base.values.get(knob, UNCHANGED) for knob in knobs}
    values = {setting.name: {**usual, **setting.values} for setting in tried}
    levels = {knob: tuple(dict.fromkeys((usual[knob], *(value[knob] for value in values.values())))) for knob in knobs}
    names = {frozenset((knob, each[knob]) for knob in knobs): name for name, each in values.items()}
    cells = {frozenset(zip(knobs, each, strict=True)) for each in product(*levels.values())}
    return Grid(levels, names) if cells <= names.keys() else None


def effects_of(table: ResultTable, grid: Grid, quantity: Quantity) -> tuple[Effect, ...]:
    """Return the main effect on the quantity of each value of a knob other than the baseline's, tested as one family (Holm).

    Values that no pair of settings measured are left out.
    """
    means: dict[tuple[str, str], tuple[Mean, int, int]] = {}
    for knob, levels in grid.levels.items():
        for value in levels[1:]:
            pairs = [
                ((grid.name({**rest, knob: value}), 1), (grid.name({**rest, knob: levels[0]}), -1))
                for rest in grid.others(knob)
            ]
            mean, used = _mean_contrast(table, quantity, pairs)
            if mean is not None:
                means[knob, value] = mean, used, len(pairs)
    found = judge_differences(
        {str(number): mean for number, (mean, _, _) in enumerate(means.values())},
        table.least,
        more_is_better=quantity in MORE_IS_BETTER,
    )
    return tuple(
        Effect(knob, value, found[str(number)], used, among)
        for number, ((knob, value), (_, used, among)) in enumerate(means.items())
    )


def interactions_of(table: ResultTable, grid: Grid, quantity: Quantity) -> tuple[Interaction, ...]:
    """Return the pairs of values of two knobs that together surely do more, or less, than the product of their effects."""
    means: dict[tuple[tuple[str, str], tuple[str, str]], Mean] = {}
    for (one, first), (other, second) in combinations(grid.levels.items(), 2):
        for values in product(first[1:], second[1:]):
            squares = [
                tuple(
                    (grid.name({**rest, one: mine, other: its}), sign)
                    for mine, its, sign in (
                        (values[0], values[1], 1),
                        (first[0], values[1], -1),
                        (values[0], second[0], -1),
                        (first[0], second[0], 1),
                    )
                )
                for rest in grid.others(one, other)
            ]
            mean, _ = _mean_contrast(table, quantity, squares)
            if mean is not None:
                means[(one, other), values] = mean
    found = judge_differences(
        {str(number): mean for number, mean in enumerate(means.values())},
        table.least,
        more_is_better=quantity in MORE_IS_BETTER,
    )
    return tuple(
        Interaction(knobs, values, found[str(number)])
        for number, (knobs, values) in enumerate(means)
        if found[str(number)].verdict in ("better", "worse")
    )


Contrast = Sequence[tuple[str, int]]


def _mean_contrast(table: ResultTable, quantity: Quantity, contrasts: Sequence[Contrast]) -> tuple[Mean | None, int]:
    """Return the mean over rounds of contrasts (signed sums of log values), and how many contrasts were used.

    In each round it is the average over contrasts. Those with a setting that failed or has a value of 0 are left out.
    The mean is None without a round that all share.
    """
    rounds = table.values.get(quantity, {})
    failed = {trial.setting for trial in table.trials if trial.outcome != "ok"} - {BASELINE}
    usable = {name: each for name, each in rounds.items() if name not in failed and min(each.values()) > 0}
    able = [contrast for contrast in contrasts if all(name in usable for name, _ in contrast)]
    common = sorted(set.intersection(*(set(usable[name]) for each in able for name, _ in each))) if able else []
    sums = [
        sum(sign * log(usable[name][number]) for each in able for name, sign in each) / len(able) for number in common
    ]
    return mean_of(sums), len(able)
