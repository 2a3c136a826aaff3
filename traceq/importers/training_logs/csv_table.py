"""Tables with a step a row: metrics.csv of Lightning's CSVLogger, CSV exports of W&B, and the like."""

from __future__ import annotations

import csv
from pathlib import Path

from traceq.importers.training_logs.reading import TrainingLog
from traceq.importers.training_logs.records import RecordLog, is_step_name, meaning_of
from traceq.importers.training_logs.text_log import read_lines

_SPREAD = ("__MIN", "__MAX")
_RUN = " - "
_LONGEST_HEADER = 1 << 14


def sniff_log(path: Path, _head: bytes) -> bool:
    """Return whether the first line is the header of a table that has a step and a quantity that traceq knows."""
    first = next(read_lines(path, _LONGEST_HEADER), None)
    names = _split_cells(first.text) if first else []
    return (
        len(names) > 1
        and sum(map(is_step_name, names)) >= 1
        and any(_is_known(_split_run(name)[1]) for name in names if not is_step_name(name))
    )


def _is_known(name: str) -> bool:
    meaning = meaning_of(name)
    return meaning is not None and meaning[0] != "epoch"


def read_log(path: Path) -> TrainingLog:
    """Return the log in the table; of several runs that W&B exports together, that of the first."""
    lines = read_lines(path)
    names = _split_cells(next(lines).text)
    runs = [run for run, _ in map(_split_run, names) if run]
    log = RecordLog(_name_format(names))
    kept = [
        (place, name)
        for place, (run, name) in enumerate(map(_split_run, names))
        if not name.endswith(_SPREAD) and (not run or run == runs[0])
    ]
    for number, text, is_whole in lines:
        row = _split_cells(text)
        log.lines = number
        if row == names:
            continue
        # digits of the last cell may be missing where the file ends within the line
        if len(row) != len(names) or not is_whole:
            log.left_out += 1
            continue
        log.add_record(number, {name: _number_of(row[place]) for place, name in kept})
    return log.finish_log()


def _name_format(names: list[str]) -> str:
    if any(name == "_step" or _RUN in name for name in names):
        return "wandb"
    return "lightning" if {"epoch", "step"} <= set(names) else "csv"


def _number_of(cell: str) -> object:
    """Return the number in the cell, its text where it is none, None for an empty one."""
    try:
        return float(cell)
    except ValueError:
        return cell.strip() or None


def _split_run(name: str) -> tuple[str, str]:
    """Return (run, quantity) of a column: W&B writes "run - train/loss" where it exports a chart."""
    run, separator, quantity = name.rpartition(_RUN)
    return (run, quantity) if separator else ("", name)


def _split_cells(line: str) -> list[str]:
    """Return the cells of a line; none where a cell in quotes does not end."""
    try:
        return [name.strip() for row in csv.reader([line]) for name in row]
    except csv.Error:
        return []
