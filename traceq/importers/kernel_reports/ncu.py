"""CSV pages of Nsight Compute: raw (a row a launch), details (a row a metric), and summaries (means over launches).

Versions since 2019 differ in names of metrics, units and columns. Values are kept as text until the file is read: only all of
them tell whether its numbers have decimal commas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from traceq.importers.kernel_reports.cells import (
    CellAmount,
    NumberStyle,
    find_delimiter,
    read_head,
    read_rows,
    read_size,
    split_cells,
)
from traceq.importers.kernel_reports.ncu_names import (
    FIELDS,
    LIMITS,
    MetricField,
    StallName,
    name_stall,
    read_stall_rule,
)
from traceq.importers.kernel_reports.records import ReportedLaunch, ReportedStall, ReportFile, Size

TOOL = "ncu"
# Of a share that is no damaged number; a little more than 1 is measured at times.
_MOST_SHARE = 10.0
_MOST_DIGITS = 18


class _OpenLaunch:
    """A launch while it is read: the cells about it, its metrics by column with their rank, and its stalls, as text."""

    def __init__(self, kernel: str, page: str, row: Sequence[str], columns: _Columns) -> None:
        self.kernel = kernel
        self.page = page
        self.launch_id = _read_integer(columns.find_cell(row, "ID"))
        self.launches = _read_integer(columns.find_cell(row, "Invocations")) or 1
        self.grid = read_size(columns.find_cell(row, "Grid Size"))
        self.block = read_size(columns.find_cell(row, "Block Size"))
        self.device = _read_integer(columns.find_cell(row, "Device"))
        self.compute_capability = columns.find_cell(row, "CC") or None
        self.amounts: dict[str, tuple[int, CellAmount]] = {}
        self.stalls: dict[StallName, str] = {}

    def add_metric(self, name: str, unit: str, text: str) -> None:
        """Keep the value of a metric that a column or a stall has; others are dropped."""
        field = FIELDS.get(name)
        if field is not None:
            self._keep_field(field, name, unit, text)
        elif "tall" in name and (stall := name_stall(name)) is not None:
            self.stalls.setdefault(stall, text)

    def _keep_field(self, field: MetricField, name: str, unit: str, text: str) -> None:
        # In bytes per second it is another metric of the same name.
        if name == "Memory Throughput" and unit.strip() not in ("%", "pct"):
            return
        known = self.amounts.get(field.column)
        if known is None or field.rank < known[0]:
            needs_unit = "__" not in name and field.kind != "number"
            self.amounts[field.column] = (field.rank, CellAmount(text, unit, field.kind, needs_unit))

    def add_rule(self, text: str) -> None:
        """Keep what a rule says of a stall."""
        if (stall := read_stall_rule(text)) is not None:
            self.stalls.setdefault(StallName(stall.reason, "cycles"), stall.cycles)
            self.stalls.setdefault(StallName(stall.reason, "share"), stall.share)


class _Columns:
    """The header of a table of CSV, with the places of its columns."""

    def __init__(self, header: Sequence[str]) -> None:
        self.count = len(header)
        self._places: dict[str, int] = {}
        for place, name in enumerate(header):
            self._places.setdefault(name.strip(), place)
        self.metrics = [(name, place) for name, place in self._places.items() if "__" in name]
        if "Metric Name" not in self._places:
            self.page = "raw"
        else:
            self.page = "summary" if "Average" in self._places else "details"

    def find_cell(self, row: Sequence[str], name: str) -> str:
        """Return the cell of the column with this name, "" where the row has none."""
        place = self._places.get(name)
        return row[place].strip() if place is not None and place < len(row) else ""

    def is_whole(self, row: Sequence[str]) -> bool:
        """Return whether the row was not cut: metrics may lack the columns of rules, and their rows end with a comma."""
        if self.page == "raw":
            return len(row) == self.count
        last = self._places.get("Average" if self.page == "summary" else "Metric Value", self.count)
        return last < len(row) <= self.count


class _LossCounter(NamedTuple):
    """Numbers of things that could not be read, by kind."""

    counts: Counter[str]

    def read_amount(self, style: NumberStyle, amount: CellAmount) -> float | None:
        """Return the amount; None for a cell without one, which is counted as n/a or as left out."""
        try:
            value = style.read_amount(amount)
        except ValueError:
            self.counts["values_left_out"] += 1
            return None
        self.counts["not_measured"] += value is None
        if value is not None and amount.kind == "share" and value > _MOST_SHARE:
            self.counts["values_left_out"] += 1
            return None
        return value


def sniff_head(lines: Sequence[str]) -> bool:
    """Return whether the first lines of a file hold the header of a page of Nsight Compute."""
    return _find_header(lines) is not None


def read_report(path: Path) -> ReportFile:
    """Return the launches in a CSV of Nsight Compute. Raises OSError."""
    head = read_head(path)
    first = _find_header(head) or 0
    counted = _LossCounter(Counter())
    launches = _read_launches(path, first, find_delimiter(head[first]), counted.counts)
    style = NumberStyle.of_cells(
        text
        for launch in launches
        for text in (*(amount.text for _, amount in launch.amounts.values()), *launch.stalls.values())
    )
    done = tuple(_finish_launch(launch, style, counted) for launch in launches)
    return ReportFile(TOOL, None, done, **counted.counts)


def _find_header(lines: Sequence[str]) -> int | None:
    """Return the number of the line that is the header of a page; None without one."""
    for number, line in enumerate(lines):
        if "Kernel Name" in line and _is_header(split_cells(line)):
            return number
    return None


def _is_header(row: Sequence[str]) -> bool:
    """Return whether a row names the columns of a page: metrics of it, or the columns with their names and values."""
    names = {cell.strip() for cell in row}
    return "Kernel Name" in names and (
        {"Metric Name", "Metric Value"} <= names
        or {"Metric Name", "Average"} <= names
        or any(name in FIELDS or name_stall(name) is not None or _has_prefix_of_metric(name) for name in names)
    )


def _has_prefix_of_metric(name: str) -> bool:
    return name.startswith(("gpu__", "sm__", "smsp__", "launch__", "dram__", "lts__", "l1tex__", "device__attribute"))


def _read_launches(path: Path, first_line: int, delimiter: str, counts: Counter[str]) -> list[_OpenLaunch]:
    """Return the launches in the tables of a file; rows that are cut or damaged are counted."""
    launches: dict[tuple[object, ...], _OpenLaunch] = {}
    columns: _Columns | None = None
    units: Sequence[str] = ()
    table = 0
    for row in read_rows(path, first_line, delimiter):
        if row is None:
            counts["rows_left_out"] += 1
        elif _is_header_again(row):
            columns, units, table = _Columns(row), (), table + 1
        elif columns is None or not any(row):
            continue
        elif columns.page == "raw" and not units and not columns.find_cell(row, "Kernel Name"):
            units = row
        elif not columns.is_whole(row) or not (kernel := columns.find_cell(row, "Kernel Name")):
            counts["rows_left_out"] += 1
        elif columns.page == "raw":
            launch = launches[table, len(launches)] = _OpenLaunch(kernel, "raw", row, columns)
            for name, place in columns.metrics:
                if row[place]:
                    launch.add_metric(name, units[place] if place < len(units) else "", row[place])
        else:
            _add_row(launches, table, columns, row, kernel)
    return list(launches.values())


def _is_header_again(row: Sequence[str]) -> bool:
    """Return whether a row is the header of a table: the first, or that of a further report in the same file."""
    return any(cell.strip() == "Kernel Name" for cell in row[:40]) and _is_header(row)


def _add_row(
    launches: dict[tuple[object, ...], _OpenLaunch], table: int, columns: _Columns, row: Sequence[str], kernel: str
) -> None:
    """Add a row of the pages details or summary, which is about one metric or rule, to its launch."""
    names = ("Process ID", "ID") if columns.page == "details" else ("Process ID", "Block Size", "Grid Size", "Device")
    key = (table, kernel, *(columns.find_cell(row, name) for name in names))
    launch = launches.get(key)
    if launch is None:
        launch = launches[key] = _OpenLaunch(kernel, columns.page, row, columns)
    value = columns.find_cell(row, "Average" if columns.page == "summary" else "Metric Value")
    if name := columns.find_cell(row, "Metric Name"):
        launch.add_metric(name, columns.find_cell(row, "Metric Unit"), value)
    elif rule := columns.find_cell(row, "Rule Description"):
        launch.add_rule(rule)


def _finish_launch(launch: _OpenLaunch, style: NumberStyle, counted: _LossCounter) -> ReportedLaunch:
    """Return the launch with its values as numbers, and with what follows from them."""
    read = {column: counted.read_amount(style, amount) for column, (_, amount) in launch.amounts.items()}
    values = {column: value for column, value in read.items() if value is not None}
    limits = {name: values.pop(f"limit_{name}") for name in LIMITS if f"limit_{name}" in values}
    static, dynamic = values.pop("static_shared", None), values.pop("dynamic_shared", None)
    if static is not None and dynamic is not None:
        values["shared_memory"] = static + dynamic
    if launch.grid is not None:
        values["blocks"] = _multiply_size(launch.grid)
    if launch.block is not None:
        values["threads_per_block"] = _multiply_size(launch.block)
    return ReportedLaunch(
        kernel=launch.kernel,
        page=launch.page,
        launch_id=launch.launch_id,
        launches=launch.launches,
        grid=launch.grid,
        block=launch.block,
        device=launch.device,
        compute_capability=launch.compute_capability,
        limiter=min(limits, key=lambda name: limits[name]) if {"warps", "registers"} <= limits.keys() else None,
        values=values,
        stalls=_finish_stalls(launch, style, counted, values.get("warp_latency")),
    )


def _finish_stalls(
    launch: _OpenLaunch, style: NumberStyle, counted: _LossCounter, latency: float | None
) -> tuple[ReportedStall, ...]:
    """Return the launch's stalls, the largest first; shares are those that the report tells, else of the warp's latency.

    `latency` are the cycles between two instructions of a warp. Samples give shares of all samples where nothing else does.
    """
    read: dict[str, dict[str, float]] = {"cycles": {}, "share": {}, "samples": {}}
    for stall, text in launch.stalls.items():
        value = counted.read_amount(style, CellAmount(text, "%", "share" if stall.counts == "share" else "number"))
        if value is not None:
            read[stall.counts][stall.reason] = value
    if latency is None and "selected" in read["cycles"]:
        # Every warp is in one of these states, or issues: together they are all its time.
        latency = sum(read["cycles"].values())
    samples = sum(read["samples"].values())
    found = []
    for reason in {**read["cycles"], **read["share"], **read["samples"]}:
        cycles, share = read["cycles"].get(reason), read["share"].get(reason)
        if share is None and cycles is not None and latency:
            share = cycles / latency
        if share is None and cycles is None and samples:
            share = read["samples"][reason] / samples
        found.append(ReportedStall(reason, share, cycles))
    return tuple(sorted(found, key=lambda stall: (-(stall.share or 0), -(stall.cycles or 0), stall.reason)))


def _multiply_size(size: Size) -> float:
    return float(size[0] * size[1] * size[2])


def _read_integer(text: str) -> int | None:
    """Return a count without its separators, None for other text, and for one that no column holds."""
    digits = text.replace(",", "").replace(".", "")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS else None
