"""The charts of all-to-alls: the load of each rank in every one of a step, and the bytes from rank to rank."""

from __future__ import annotations

from traceq.common.units import count, short_size
from traceq.reports.charts.axes import draw_matrix, shade_cells
from traceq.reports.charts.chart import Chart
from traceq.reports.drawing import Axis, Drawing, Tick, make_rows_panel
from traceq.reports.model import Job, LayerLoad

_ROW, _LOW_ROW = 19.0, 6.0
_NAMED_ROWS = 12
_MOST_TICKS = 16
_FEWEST = 2
# A load of 1 is shaded as 1,000.
_SCALE = 1_000
# A chart of loads that differ by less shows nothing.
_UNEVEN = 1.05


def has_loads(job: Job) -> bool:
    """Return whether ranks get different amounts in all-to-alls."""
    return any(layer.load > _UNEVEN for layer in job.layer_loads)


def draw_loads(job: Job) -> Drawing:
    """Draw a grid, a row for each rank and a column for each all-to-all of a step: the darker, the more the rank gets."""
    ranks = sorted({layer.rank for layer in job.layer_loads})
    places = sorted({layer.place for layer in job.layer_loads})
    cells = {(layer.rank, layer.place): round(layer.load * _SCALE) for layer in job.layer_loads}
    rows = [[cells.get((rank, place), 0) for place in places] for rank in ranks]
    most = max(map(max, rows))
    every = -(-len(places) // _MOST_TICKS)
    ticks = [Tick(number, str(place)) for number, place in enumerate(places)][::every]
    x = Axis(-0.5, len(places) - 0.5, ticks, label="all-to-alls of a step that bring tokens, in order of time")
    names = [f"rank {rank}" for rank in ranks]
    high, named = (_ROW, 1) if len(ranks) <= _NAMED_ROWS else (_LOW_ROW, -(-len(ranks) // _NAMED_ROWS))
    title = f"what a rank gets, up to {most / _SCALE:.2f}x the mean of its group (dark)"
    return Drawing(title, [make_rows_panel(names, shade_cells(rows, most, "compute"), x, row=high, every=named)])


def describe_loads(job: Job) -> str:
    """Return a sentence on the rank and all-to-all with the largest load."""
    most: LayerLoad = max(job.layer_loads, key=lambda layer: layer.load)
    return (
        f"Load of {count(len({layer.rank for layer in job.layer_loads}))} ranks in each all-to-all of a step: rank {most.rank}"
        f" gets most, {most.load:.2f}x the mean of its group in number {most.place}."
    )


def has_exchanged(job: Job) -> bool:
    """Return whether it is known who sends how much to whom, of more than two ranks."""
    return len({pair.rank for pair in job.exchanged}) > _FEWEST


def draw_exchanged(job: Job) -> Drawing:
    """Draw a grid, a row for each rank that sends and a column for each that gets: the darker, the more bytes."""
    ranks = sorted({pair.rank for pair in job.exchanged} | {pair.other for pair in job.exchanged})
    place = {rank: number for number, rank in enumerate(ranks)}
    sent = {(pair.rank, pair.other): pair.bytes for pair in job.exchanged}
    panel = draw_matrix(sent, place, 0, "gets", "compute")
    return Drawing("row: a rank that sends in all-to-alls; column: the rank that gets it", [panel])


def describe_exchanged(job: Job) -> str:
    """Return a sentence on the pair of ranks with most bytes, per step."""
    most = max(job.exchanged, key=lambda pair: pair.bytes)
    return (
        f"Bytes from rank to rank in all-to-alls, without what comes back: rank {most.rank} sends most to rank {most.other},"
        f" {short_size(round(most.bytes / job.steps))} per step."
    )


LOADS = Chart("loads", None, draw_loads, has_loads, describe_loads)
EXCHANGED = Chart("exchanged", None, draw_exchanged, has_exchanged, describe_exchanged)
