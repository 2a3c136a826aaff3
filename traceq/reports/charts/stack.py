"""Columns of stacked parts side by side, as areas with a staircase on top: compact, however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from traceq.analysis.categories import label
from traceq.common.units import share
from traceq.reports.charts.palette import PAGE, colour, place
from traceq.reports.charts.sheet import Unit, caption, few_ticks, sheet, unit_of_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_COLUMNS = 120
REST = "rest"

_TICKS = 6
_LINE = 0.5
# Of the highest column: what is lower everywhere is hard to see.
_VISIBLE = 0.02
_MOST_KINDS = 10


@dataclass(frozen=True)
class Column:
    """What it is of and its parts, as kind -> ns."""

    label: str
    parts: dict[str, float]

    @property
    def total(self) -> float:
        """All parts, ns."""
        return sum(self.parts.values())


def stack(title: str, columns: Sequence[Column], what: str) -> Figure:
    """Up to MOST_COLUMNS columns; of more, `what` they are ("steps") are averaged in groups, as the title then says."""
    drawn, sizes = grouped(columns)
    kinds = parts_of(drawn)
    drawn = [told_apart(column, kinds) for column in drawn]
    figure, axes = sheet(legend=legend(drawn, kinds))
    unit = unit_of_time(max(column.total for column in drawn))
    _areas(axes, drawn, kinds, unit)
    _numbers(axes, drawn)
    means = f", means of {sizes} {what}" if sizes else ""
    caption(figure, f"{title}{means} ({unit.name})")
    return figure


def grouped(columns: Sequence[Column]) -> tuple[list[Column], str]:
    """The columns themselves, or means of following ones, and of how many each; those differ by one at most."""
    size = -(-len(columns) // MOST_COLUMNS)
    if size == 1:
        return list(columns), ""
    number = -(-len(columns) // size)
    starts = [len(columns) * place // number for place in range(number + 1)]
    groups = [columns[start:end] for start, end in pairwise(starts)]
    sizes = sorted({len(group) for group in groups})
    return [Column(group[0].label, _mean(group)) for group in groups], " or ".join(map(str, sizes))


def _mean(group: Sequence[Column]) -> dict[str, float]:
    kinds = dict.fromkeys(kind for column in group for kind in column.parts)
    return {kind: sum(column.parts.get(kind, 0) for column in group) / len(group) for kind in kinds}


def parts_of(columns: Sequence[Column]) -> list[str]:
    """Kinds from the bottom to the top; those that are hard to see everywhere are the rest, and all beyond the largest."""
    most: dict[str, float] = {}
    for column in columns:
        for kind, dur in column.parts.items():
            most[kind] = max(most.get(kind, 0), dur)
    kinds = sorted((kind for kind, dur in most.items() if dur), key=place)
    highest = max(column.total for column in columns)
    largest = sorted(kinds, key=lambda kind: -most[kind])[:_MOST_KINDS]
    named = [kind for kind in kinds if kind in largest and most[kind] >= _VISIBLE * highest]
    # A rest of one has a name of its own.
    return kinds if len(kinds) - len(named) <= 1 else [*named, REST]


def told_apart(column: Column, kinds: Sequence[str]) -> Column:
    """The column with parts of `kinds` only, in their order; the others are the rest."""
    parts = {kind: column.parts.get(kind, 0) for kind in kinds if kind != REST}
    if REST in kinds:
        parts[REST] = sum(dur for kind, dur in column.parts.items() if kind not in parts)
    return Column(column.label, parts)


def legend(columns: Sequence[Column], kinds: Sequence[str]) -> list[tuple[str, str]]:
    """Of each kind its name and its share of all columns."""
    total = sum(column.total for column in columns) or 1
    return [(kind, f"{label(kind)} {share(sum(column.parts[kind] for column in columns) / total)}") for kind in kinds]


def _areas(axes: Axes, columns: Sequence[Column], kinds: Sequence[str], unit: Unit) -> None:
    heights = [list(accumulate(column.parts[kind] / unit.size for kind in kinds)) for column in columns]
    edges = list(range(len(columns) + 1))
    # From the highest to the lowest, each down to 0: the next covers what is not its own.
    for number, kind in reversed(list(enumerate(kinds))):
        axes.stairs(
            [each[number] for each in heights],
            edges,
            fill=True,
            facecolor=colour(kind),
            edgecolor=PAGE[0],
            linewidth=_LINE,
            label=kind,
        )
    axes.set_xlim(0, len(columns))
    axes.set_ylim(0, max(each[-1] for each in heights) * 1.02)


def _numbers(axes: Axes, columns: Sequence[Column]) -> None:
    few_ticks(axes.yaxis)
    axes.grid(axis="y")
    every = -(-len(columns) // _TICKS)
    shown = range(0, len(columns), every)
    axes.set_xticks([number + 0.5 for number in shown], [columns[number].label for number in shown])
