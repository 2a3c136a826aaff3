"""The charts of several ranks as one job: who works late, by itself, in transfers, and who waits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from traceq.common.units import BANDWIDTH_UNITS, choose_unit, count, duration, format_bandwidth, short_size
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.stack import StackColumn, draw_columns, make_bars_panel
from traceq.reports.document import BarRow
from traceq.reports.drawing import Drawing, Rect, choose_time_unit, make_axis, make_row_bars, make_rows_panel
from traceq.reports.model import Job, JobCollective, JobRank, Lateness, WorstArrival

_GB = 1_000_000_000
# Of more ranks each host has a row, and where hosts are not known each rank; of more rows those that are late most are kept.
_MOST_ROWS = 64
_NAMED_ROWS = 12
# The darkest cells of those that are late are opaque.
_LATE_OPACITIES = (0.2, 0.4, 0.6, 0.8, 1.0)
_OPACITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
_ROW, _LOW_ROW, _WORST_ROW = 19.0, 8.0, 22.0
_SIDE = 0.94
# Of a collective that more ranks wait for: those that came last, and the one that came first.
_MOST_ARRIVALS = 16
_MOST_COLLECTIVES = 8
_OWN_LEGEND = {
    "usual work": "usual work",
    "late ranks": "beyond the usual",
    "transfer": "transfer",
    "wait": "waiting for others",
}
_WORST_LEGEND = [("usual work", "own time"), ("wait", "waiting for others"), ("transfer", "transfer")]

# Name of the row -> for each column how much longer than usual it worked, ns.
_Rows = dict[str, list[int]]
# (stage, copy of the model) -> own time of all steps, ns; of several ranks that of the one with most.
_Cells = dict[tuple[int, int], int]


# --- a row a rank, a column a step, or a collective of a single step: own time beyond the usual


def has_late(job: Job) -> bool:
    """Return whether any rank's own time was beyond the usual rank's, and there are several steps or collectives to draw."""
    return bool(job.lateness) and job.lateness[0].places > 1


def draw_late(job: Job) -> Drawing:
    """Draw the lateness of a job that has some as a grid: a row a rank, a column a step (or collective), in order of time.

    The darker a cell, the more the rank's own time is beyond the usual rank's.
    """
    rows = list_late_rows(job)
    most = max(max(row) for row in rows.values())
    marks = [
        Rect("late ranks", start, number - _SIDE / 2, length, _SIDE, _LATE_OPACITIES[level])
        for number, row in enumerate(rows.values())
        for start, length, level in join_runs(row, most)
    ]
    names, high = list(rows), _ROW if len(rows) <= _NAMED_ROWS else _LOW_ROW
    x = make_axis(0, job.lateness[0].places, whole=True, label=f"{_column_word(job)}, in order of time")
    title = f"own time beyond the usual by up to {duration(most)} (dark)"
    return Drawing(title, [make_rows_panel(names, marks, x, row=high, every=-(-len(rows) // _NAMED_ROWS))])


def _column_word(job: Job) -> str:
    """Return what a column of the lateness chart is: "step" or "collective"."""
    return "step" if job.lateness[0].is_step else "collective"


def list_late_rows(job: Job) -> _Rows:
    """Return row name -> for each column (step or collective) how much the rank's own time was beyond the usual rank's, ns.

    With more than 64 ranks, a row is a host (its latest rank) where all hosts are known and have several ranks. Of more
    than 64 rows those that are late most are kept.
    """
    hosts = {member.rank: member.host for member in job.members}
    names = {rank: f"rank {rank}" for rank in hosts}
    if len(hosts) > _MOST_ROWS and None not in hosts.values() and len(set(hosts.values())) < len(hosts):
        names = {rank: f"host {host}" for rank, host in hosts.items()}
    late = dict.fromkeys(names.values(), 0)
    for lateness in job.lateness:
        late[names[lateness.rank]] += lateness.late_by
    kept = set(sorted(late, key=lambda name: -late[name])[:_MOST_ROWS])
    names = {rank: name for rank, name in names.items() if name in kept}
    rows: _Rows = {name: [0] * job.lateness[0].places for name in names.values()}
    for lateness in job.lateness:
        if lateness.rank in names:
            row = rows[names[lateness.rank]]
            row[lateness.place] = max(row[lateness.place], lateness.late_by)
    return rows


def join_runs(row: list[int], most: int) -> list[tuple[int, int, int]]:
    """Return (start, length, opacity level) for each run of neighbouring columns of equal level, without those that are 0.

    `most` is the largest value of all rows, ns.
    """
    runs = []
    for level, cells in groupby(
        range(len(row)), key=lambda column: shade_level(row[column], 0, most) if row[column] else None
    ):
        columns = list(cells)
        if level is not None:
            runs.append((columns[0], len(columns), level))
    return runs


def shade_level(value: int, least: int, most: int) -> int:
    """Return the level of `value` (0 to 4, an index in the list of opacities) on the scale from `least` to `most`."""
    return min(int((value - least) / (most - least) * len(_OPACITIES)), len(_OPACITIES) - 1) if most > least else 0


def describe_late(job: Job) -> str:
    """Return a sentence on the rank with most lateness in all: in how many columns it is late, and by how much at most."""
    late: dict[int, list[Lateness]] = {}
    for lateness in job.lateness:
        late.setdefault(lateness.rank, []).append(lateness)
    rank, times = max(late.items(), key=lambda pair: sum(time.late_by for time in pair[1]))
    return (
        f"Own time of each of {count(len(job.members))} ranks beyond the usual, by {_column_word(job)}: rank {rank} most, in"
        f" {count(len(times))} of {count(job.lateness[0].places)} columns,"
        f" by {duration(max(time.late_by for time in times))} at most."
    )


# --- a bar a rank: usual work, what is beyond that, transfers, and waiting for the others


def has_own(job: Job) -> bool:
    """Return whether own, transfer and waiting time of every rank are known."""
    return job.dur_ns is not None and all(member.own_ns is not None for member in job.members)


def draw_own(job: Job) -> Drawing:
    """Draw a stacked bar for each rank, per step: usual work, work beyond that, transfers, waiting; an area for many ranks."""
    title = "time of each rank by itself, in transfers and waiting, per step"
    columns = [StackColumn(str(member.rank), _step_parts(member, job)) for member in job.members]
    return draw_columns(title, columns, "rank", _OWN_LEGEND, lambda rank: f"waits {duration(rank.parts['wait'])}")


def _step_parts(member: JobRank, job: Job) -> dict[str, float]:
    """Return the parts of a rank's mean step by kind, ns: usual work, work beyond the usual, transfers, waiting for others."""
    late = min(member.late_ns or 0, member.own_ns or 0)
    parts = ((member.own_ns or 0) - late, late, member.transfer_ns or 0, member.wait_ns or 0)
    return {kind: ns / job.steps for kind, ns in zip(_OWN_LEGEND, parts, strict=True)}


def describe_own(job: Job) -> str:
    """Return a sentence on the rank that waits most in collectives and the one that waits least, ns per step in words."""
    most = max(job.members, key=lambda member: member.wait_ns or 0)
    least = min(job.members, key=lambda member: member.wait_ns or 0)
    waits = [duration((member.wait_ns or 0) / job.steps) for member in (most, least)]
    return (
        f"What each of {count(len(job.members))} ranks does by itself, transfers and waits for, per step: rank {most.rank} waits"
        f" most, {waits[0]}, rank {least.rank} least, {waits[1]}."
    )


# --- a row a stage of the pipeline, a column a copy of the model: how long each rank works by itself


def has_grid(job: Job) -> bool:
    """Return whether the job has two to 64 pipeline stages and as many model copies, and the ranks' own times are known."""
    if not has_own(job) or any(member.stage is None or member.dp is None for member in job.members):
        return False
    return all(1 < len(set(numbers)) <= _MOST_ROWS for numbers in zip(*sum_grid_cells(job), strict=True))


def draw_grid(job: Job) -> Drawing:
    """Draw a grid of ranks, a row for each pipeline stage, a column for each copy of the model: the darker, the more own time."""
    cells = sum_grid_cells(job)
    stages, copies = (sorted(set(numbers)) for numbers in zip(*cells, strict=True))
    least, most = min(cells.values()), max(cells.values())
    marks = []
    for (stage, copy), own in cells.items():
        x, y = copies.index(copy) - _SIDE / 2, stages.index(stage) - _SIDE / 2
        marks.append(Rect("usual work", x, y, _SIDE, _SIDE, _OPACITIES[shade_level(own, least, most)]))
    names = [f"stage {stage}" for stage in stages]
    columns = make_axis(-0.5, len(copies) - 0.5, whole=True, label="copy of the model")
    low, high = duration(least / job.steps), duration(most / job.steps)
    title = f"own time per step, {low} (light) to {high} (dark)"
    return Drawing(title, [make_rows_panel(names, marks, columns, row=_ROW)])


def sum_grid_cells(job: Job) -> _Cells:
    """Return (stage, copy of the model) -> own time of all steps, ns; of several ranks in one cell the longest."""
    cells: _Cells = {}
    for member in job.members:
        place = (member.stage or 0, member.dp or 0)
        cells[place] = max(cells.get(place, 0), member.own_ns or 0)
    return cells


def describe_grid(job: Job) -> str:
    """Return a sentence on the stage and model copy of the ranks with the most and the least own time per step."""

    def describe_member(member: JobRank) -> str:
        return f"stage {member.stage}, copy {member.dp} ({duration((member.own_ns or 0) / job.steps)})"

    most = max(job.members, key=lambda member: member.own_ns or 0)
    least = min(job.members, key=lambda member: member.own_ns or 0)
    return (
        f"Own time of {count(len(job.members))} ranks per step, by stage and copy of the model: most on {describe_member(most)},"
        f" least on {describe_member(least)}."
    )


# --- the collective that a rank came to latest, on all its ranks: who worked until when, and who waited how long


def has_worst(job: Job) -> bool:
    """Return whether a collective is known that a rank was clearly late to."""
    return len(job.worst) > 1


def draw_worst(job: Job) -> Drawing:
    """Draw the collective with the latest arrival as a bar for each rank: own work before it, waiting, transfer.

    The time axis ends at 0, where the collective ends on all ranks. Of more than 16 ranks, the last 15 and the first are drawn.
    """
    rows = _choose_arrivals(job.worst)
    longest = max(rank.own + rank.wait + rank.transfer for rank in rows)
    unit = choose_time_unit(longest)
    marks = []
    for number, rank in enumerate(rows):
        times = (rank.own / unit.size, rank.wait / unit.size, rank.transfer / unit.size)
        marks += make_row_bars(number, -sum(times), zip(("usual work", "wait", "transfer"), times, strict=True))
    names = [f"rank {rank.rank}" for rank in rows]
    x = make_axis(-longest / unit.size, 0, label=f"time before its end ({unit.name})")
    title = f"the {_collective_name(rows[0])} that a rank reached latest"
    return Drawing(title, [make_rows_panel(names, marks, x, row=_WORST_ROW)], _WORST_LEGEND)


def _choose_arrivals(ranks: Sequence[WorstArrival]) -> list[WorstArrival]:
    """Return the ranks to draw: all, or of more than 16 the 15 that waited least (came last) and the one that waited most."""
    if len(ranks) <= _MOST_ARRIVALS:
        return list(ranks)
    by_wait = sorted(ranks, key=lambda rank: (rank.wait, rank.rank))
    return [*by_wait[: _MOST_ARRIVALS - 1], by_wait[-1]]


def _collective_name(rank: WorstArrival) -> str:
    """Return the collective's operation and size, as "all-reduce of 25 MB"."""
    op = rank.op.replace("_", "-")
    return op if rank.bytes is None else f"{op} of {short_size(rank.bytes)}"


def describe_worst(job: Job) -> str:
    """Return a sentence on the collective that a rank came to latest: who came last, who first, and how long that one waited."""
    last = min(job.worst, key=lambda rank: rank.wait)
    first = max(job.worst, key=lambda rank: rank.wait)
    return (
        f"The {_collective_name(last)} that a rank reached latest: rank {last.rank} worked {duration(last.own)} before it,"
        f" rank {first.rank} {duration(first.own)} and then waited {duration(first.wait)}"
        f" for a transfer of {duration(last.transfer)}."
    )


# --- a bar a kind of collectives: how fast they move their bytes when nobody is waited for


def has_bandwidth(job: Job) -> bool:
    """Return whether the transfer bandwidth is known for two or more kinds of collectives."""
    return len(_list_speeds(job)) > 1


def draw_bandwidth(job: Job) -> Drawing:
    """Draw a bar for each kind of collective with its transfer bandwidth; at most 8, in the job's order."""
    speeds = _list_speeds(job)
    unit, size = choose_unit(max(speed for _, speed in speeds) * _GB, BANDWIDTH_UNITS)
    rows = [BarRow(name, (("transfer", speed * _GB / size),), format_bandwidth(speed)) for name, speed in speeds]
    title = "transfer bandwidth: bus bandwidth without waiting"
    return Drawing(title, [make_bars_panel(rows, f"transfer bandwidth ({unit})")])


def _list_speeds(job: Job) -> list[tuple[str, float]]:
    """Return (name, transfer bandwidth in GB/s) of the first 8 kinds of collectives whose bandwidth is known."""
    speeds = [(kind, kind.transfer_bandwidth) for kind in job.collectives if kind.transfer_bandwidth is not None]
    return [(_kind_name(kind), speed) for kind, speed in speeds[:_MOST_COLLECTIVES]]


def _kind_name(kind: JobCollective) -> str:
    """Return a kind of collectives in words: operation, size, number of ranks, and level of the network if known."""
    size = "" if kind.bytes is None else short_size(kind.bytes)
    level = "" if kind.level is None else f" {kind.level}"
    return f"{kind.op.replace('_', '-')} {size}, {count(kind.ranks)} ranks{level}"


def describe_bandwidth(job: Job) -> str:
    """Return a sentence on the kinds of collectives with the lowest and the highest bandwidth."""
    known = sorted(_list_speeds(job), key=lambda pair: pair[1])
    (slow, low), (fast, high) = known[0], known[-1]
    return (
        f"Transfer bandwidth (bus bandwidth without waiting) of {count(len(known))} kinds of collectives:"
        f" from {format_bandwidth(low)} ({slow}) to {format_bandwidth(high)} ({fast})."
    )


LATE = Chart("late", None, draw_late, has_late, describe_late)
OWN = Chart("own", None, draw_own, has_own, describe_own)
GRID = Chart("grid", None, draw_grid, has_grid, describe_grid)
WORST = Chart("worst", None, draw_worst, has_worst, describe_worst)
BANDWIDTH = Chart("bandwidth", None, draw_bandwidth, has_bandwidth, describe_bandwidth)
