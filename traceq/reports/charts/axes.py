"""The charts of a job's process groups: who waits in which group, and which ranks share bytes, time and waits with which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from traceq.analysis.communication.mesh import AXES, WORLD
from traceq.common.units import count, duration, short_size
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.job import join_runs
from traceq.reports.drawing import (
    LABELLED_TOP,
    WIDTH,
    Axis,
    Drawing,
    Panel,
    Rect,
    Shape,
    Tick,
    estimate_room,
    make_rows_panel,
)
from traceq.reports.model import GroupWait, Job, RankPair

_OPACITIES = (0.2, 0.4, 0.6, 0.8, 1.0)
_SIDE = 0.94
_ROW, _LOW_ROW = 19.0, 6.0
_NAMED_ROWS = 12
_SQUARE = 150.0
_FEWEST = 2

# Column of the chart of groups -> its axis.
_Column = tuple[str | None, int | None]


# --- a row a rank, a column a process group: what the rank waits in it


def has_waits(job: Job) -> bool:
    """Return whether several groups are known in which a rank waits for others."""
    return len(_list_columns(job.group_waits)) >= _FEWEST and any(wait.wait_ns for wait in job.group_waits)


def draw_waits(job: Job) -> Drawing:
    """Draw a grid, a row for each rank and a column for each group, by axis: the darker, the more the rank waits in it."""
    columns = _list_columns(job.group_waits)
    ranks = sorted({wait.rank for wait in job.group_waits})
    most = max(wait.wait_ns for wait in job.group_waits)
    cells = {(wait.rank, (wait.axis, wait.first_unit)): wait.wait_ns for wait in job.group_waits}
    rows = [[cells.get((rank, column), 0) for column in columns] for rank in ranks]
    firsts = {axis: number for number, (axis, _) in reversed(list(enumerate(columns)))}
    ticks = [Tick(number, axis or "?") for axis, number in sorted(firsts.items(), key=lambda pair: pair[1])]
    x = Axis(-0.5, len(columns) - 0.5, ticks, label="process groups, by axis")
    title = f"waiting for other ranks, up to {duration(most / job.steps)} per step (dark)"
    names = [f"rank {rank}" for rank in ranks]
    high, every = (_ROW, 1) if len(ranks) <= _NAMED_ROWS else (_LOW_ROW, -(-len(ranks) // _NAMED_ROWS))
    return Drawing(title, [make_rows_panel(names, shade_cells(rows, most, "wait"), x, row=high, every=every)])


def _list_columns(waits: Sequence[GroupWait]) -> list[_Column]:
    """Return the columns in the order in which they are drawn: by axis, as axes are usually nested, then by their first rank."""
    order: dict[str | None, int] = {axis: number for number, axis in enumerate((*AXES, WORLD))}
    columns = dict.fromkeys((wait.axis, wait.first_unit) for wait in waits)
    return sorted(columns, key=lambda column: (order.get(column[0], -1), column[0] or "", column[1] or 0))


def shade_cells(rows: Sequence[list[int]], most: int, kind: str) -> list[Shape]:
    """Return a rectangle for each run of neighbouring cells that are about as large: the darker, the nearer to `most`."""
    return [
        Rect(kind, start - _SIDE / 2, number - _SIDE / 2, length - 1 + _SIDE, _SIDE, _OPACITIES[level])
        for number, row in enumerate(rows)
        for start, length, level in join_runs(row, most or 1)
    ]


def describe_waits(job: Job) -> str:
    """Return a sentence on the rank and axis with the longest wait, per step."""
    longest = max(job.group_waits, key=lambda wait: wait.wait_ns)
    where = f"on axis {longest.axis}" if longest.axis else "in a group whose axis nothing tells"
    return (
        f"Waiting of each of {count(len({wait.rank for wait in job.group_waits}))} ranks by process group: rank {longest.rank}"
        f" waits most, {duration(longest.wait_ns / job.steps)} per step {where}."
    )


# --- a row a rank, a column a rank: what they have in common


def has_pairs(job: Job) -> bool:
    """Return whether ranks are known that communicate with each other, and there are more than two."""
    return len({pair.rank for pair in job.pairs}) > _FEWEST


def draw_pairs(job: Job) -> Drawing:
    """Draw three grids beside each other, a row and a column for each rank: bytes, time of transfers, and who waits for whom."""
    ranks = sorted({pair.rank for pair in job.pairs} | {pair.other for pair in job.pairs})
    place = {rank: number for number, rank in enumerate(ranks)}
    panels = [
        draw_matrix({(pair.rank, pair.other): value(pair) for pair in job.pairs}, place, number, title, kind)
        for number, (title, kind, value) in enumerate(_MATRICES)
    ]
    return Drawing("row: a rank; column: whom it communicates with, and waits for", panels)


_MATRICES: tuple[tuple[str, str, Callable[[RankPair], int]], ...] = (
    ("bytes", "compute", lambda pair: pair.bytes or 0),
    ("transfers", "transfer", lambda pair: pair.transfer_ns or 0),
    ("waits for", "wait", lambda pair: pair.wait_ns),
)


def draw_matrix(
    values: Mapping[tuple[int, int], int], place: Mapping[int, int], number: int, title: str, kind: str
) -> Panel:
    """Return a panel, the `number`-th of three from the left, of the value of each pair of ranks.

    `place` is the row and column of each rank.
    """
    rows = [[0] * len(place) for _ in place]
    for (rank, other), value in values.items():
        rows[place[rank]][place[other]] = value
    most = max(max(row) for row in rows)
    every = -(-len(place) // 4)
    ticks = [Tick(at, str(rank)) for rank, at in place.items()][::every]
    x = Axis(-0.5, len(place) - 0.5, ticks, label=title)
    y = Axis(len(place) - 0.5, -0.5, ticks if number == 0 else ())
    room = estimate_room([tick.text for tick in ticks])
    third = (WIDTH - room - 11.0) / len(_MATRICES)
    left = room + number * third
    return Panel(shade_cells(rows, most, kind), x, y, _SQUARE, left, WIDTH - left - third + 8.0, LABELLED_TOP)


def describe_pairs(job: Job) -> str:
    """Return a sentence on the pair of ranks with most bytes, and on the one that waits most for the other, per step."""
    most = max(job.pairs, key=lambda pair: pair.bytes or 0)
    longest = max(job.pairs, key=lambda pair: pair.wait_ns)
    moved = (
        ""
        if not most.bytes
        else f" ranks {most.rank} and {most.other} share most, {short_size(round(most.bytes / job.steps))};"
    )
    waits = (
        f"rank {longest.rank} waits most for one other, {duration(longest.wait_ns / job.steps)} for rank {longest.other}"
        if longest.wait_ns
        else "none clearly waits for one other"
    )
    ranks = len({pair.rank for pair in job.pairs})
    return f"Bytes, transfers and waits between {count(ranks)} ranks, per step:{moved} {waits}."


WAITS = Chart("waits", None, draw_waits, has_waits, describe_waits)
PAIRS = Chart("pairs", None, draw_pairs, has_pairs, describe_pairs)
