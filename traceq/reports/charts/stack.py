"""Stacked parts to one scale: a few as horizontal bars, however many as areas with a staircase on top."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise

import msgspec
from msgspec.structs import replace

from traceq.analysis.categories import label
from traceq.common.units import share
from traceq.reports import drawing
from traceq.reports.charts.palette import stack_place
from traceq.reports.document import BarRow
from traceq.reports.drawing import Axis, Drawing, Panel

MOST_COLUMNS = 120
REST = "rest"

_MOST_BARS = 12
_TICKS = 6
# Of the highest column: what is lower everywhere is hard to see.
_VISIBLE = 0.02
_MOST_KINDS = 10


class StackColumn(msgspec.Struct, frozen=True):
    """A column of a stacked chart: its label, and its parts as kind -> ns."""

    label: str
    parts: dict[str, float]

    @property
    def total(self) -> float:
        """The sum of all parts, ns."""
        return sum(self.parts.values())


def draw_time_bars(title: str, rows: Sequence[BarRow], what: str, legend: Sequence[tuple[str, str]] = ()) -> Drawing:
    """Return a drawing of one stacked bar per row, whose parts are ns; `what` is the label of the axis, without the unit.

    `legend` has (kind, label) of the kinds of parts to explain.
    """
    unit = drawing.choose_time_unit(max(sum(amount for _, amount in row.parts) for row in rows))
    scaled = [replace(row, parts=tuple((kind, ns / unit.size) for kind, ns in row.parts)) for row in rows]
    return Drawing(title, [make_bars_panel(scaled, f"{what} ({unit.name})")], legend)


def make_bars_panel(
    rows: Sequence[BarRow], label: str = "", top: float = drawing.TITLE_LINE, *, whole: bool = False
) -> Panel:
    """Return a panel of a stacked bar for each row, with the row's label before it and its text behind it.

    `label` says what the length of a bar is, with its unit; without one there is no axis. `top` is the panel's distance
    from the top, points. With `whole`, the axis has integers only.
    """
    shapes: list[drawing.Shape] = []
    for number, row in enumerate(rows):
        shapes += drawing.make_row_bars(number, 0.0, row.parts, row.text)
    longest = max(sum(amount for _, amount in row.parts) for row in rows) or 1
    x = drawing.make_axis(0, longest, whole=whole, label=label) if label else Axis(0, longest)
    right = drawing.estimate_room([row.text for row in rows])
    return drawing.make_rows_panel([row.label for row in rows], shapes, x, right=right, top=top)


def draw_columns(
    title: str, columns: Sequence[StackColumn], what: str, legend: Mapping[str, str], text: Callable[[StackColumn], str]
) -> Drawing:
    """Return a drawing of a horizontal bar for each column, followed by its `text`; of more than 12 columns, a stacked area.

    `what` names a column in the singular ("rank"); `legend` gives the label of each kind.
    """
    if len(columns) > _MOST_BARS:
        return draw_stack(title, columns, what)
    rows = [BarRow(f"{what} {column.label}", tuple(column.parts.items()), text(column)) for column in columns]
    return draw_time_bars(title, rows, "time per step", list(legend.items()))


def draw_stack(title: str, columns: Sequence[StackColumn], what: str) -> Drawing:
    """Return a drawing of the columns as a stacked area; of more than MOST_COLUMNS, neighbours are averaged, as the title says.

    `what` names a column in the singular ("step").
    """
    groups, sizes = _group(columns)
    kinds = choose_parts(groups)
    groups = [join_rest(column, kinds) for column in groups]
    unit = drawing.choose_time_unit(max(column.total for column in groups))
    heights = [list(accumulate(column.parts[kind] / unit.size for kind in kinds)) for column in groups]
    edges = range(len(groups) + 1)
    # From the highest to the lowest, each down to 0: the next covers what is not its own.
    areas = [
        drawing.Area(kind, edges, [column[number] for column in heights])
        for number, kind in reversed(list(enumerate(kinds)))
    ]
    ticks = [drawing.Tick(number + 0.5, column.label) for number, column in enumerate(groups)]
    x = Axis(0, len(groups), ticks[:: -(-len(groups) // _TICKS)], label=what)
    highest = max(column[-1] for column in heights)
    y = drawing.make_axis(0, highest * 1.02, has_grid=True, label=f"time per step ({unit.name})")
    means = f", means of {sizes} {what}s" if sizes else ""
    panel = Panel(areas, x, y, top=drawing.LABELLED_TOP)
    return Drawing(f"{title}{means}", [panel], make_legend(groups, kinds))


def _group(columns: Sequence[StackColumn]) -> tuple[list[StackColumn], str]:
    """Return at most MOST_COLUMNS columns, neighbours averaged if there are more, and how many are averaged as text.

    The text is as "8 or 9", and "" if nothing is averaged.
    """
    size = -(-len(columns) // MOST_COLUMNS)
    if size == 1:
        return list(columns), ""
    number = -(-len(columns) // size)
    starts = [len(columns) * place // number for place in range(number + 1)]
    groups = [columns[start:end] for start, end in pairwise(starts)]
    sizes = sorted({len(group) for group in groups})
    return [StackColumn(group[0].label, _average(group)) for group in groups], " or ".join(map(str, sizes))


def _average(group: Sequence[StackColumn]) -> dict[str, float]:
    """Return the mean of each kind over the columns, ns; a kind that a column lacks counts as 0."""
    kinds = dict.fromkeys(kind for column in group for kind in column.parts)
    return {kind: sum(column.parts.get(kind, 0) for column in group) / len(group) for kind in kinds}


def choose_parts(columns: Sequence[StackColumn]) -> list[str]:
    """Return the kinds to draw, from the bottom of the stack to the top.

    Kinds too thin to see, and those after the 10 largest, are replaced by REST if they are two or more.
    """
    most: dict[str, float] = {}
    for column in columns:
        for kind, dur in column.parts.items():
            most[kind] = max(most.get(kind, 0), dur)
    kinds = sorted((kind for kind, dur in most.items() if dur), key=stack_place)
    highest = max(column.total for column in columns)
    largest = sorted(kinds, key=lambda kind: -most[kind])[:_MOST_KINDS]
    shown = [kind for kind in kinds if kind in largest and most[kind] >= _VISIBLE * highest]
    # A rest of one has a name of its own.
    return kinds if len(kinds) - len(shown) <= 1 else [*shown, REST]


def join_rest(column: StackColumn, kinds: Sequence[str]) -> StackColumn:
    """Return the column with parts of `kinds` only, in their order; other parts are summed as REST if `kinds` has it."""
    parts = {kind: column.parts.get(kind, 0) for kind in kinds if kind != REST}
    if REST in kinds:
        parts[REST] = sum(dur for kind, dur in column.parts.items() if kind not in parts)
    return StackColumn(column.label, parts)


def make_legend(columns: Sequence[StackColumn], kinds: Sequence[str]) -> list[tuple[str, str]]:
    """Return (kind, text) for each kind; the text is its name and its share of the time of all columns."""
    total = sum(column.total for column in columns) or 1
    return [(kind, f"{label(kind)} {share(sum(column.parts[kind] for column in columns) / total)}") for kind in kinds]
