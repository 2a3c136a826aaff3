"""The log that traceq.annotate writes of a whole run (annotate.run_log, TRACEQ_RUN_LOG): one JSON object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast, get_args

from traceq.importers.training_logs.reading import (
    END_OF_TIME,
    MOST_STEP,
    LogEvent,
    LogValue,
    Mark,
    Phase,
    TrainingLog,
    convert_value,
)
from traceq.importers.training_logs.text_log import read_lines

FORMAT = "traceq_run"

_MARKS = ("begin", "end", "moment")
_LONGEST_DETAIL = 80
_MOST_RANKS = 1 << 24


def sniff_log(_path: Path, head: bytes) -> bool:
    """Return whether the file begins with the line that annotate writes when a program starts."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b'{"traceq_run": ')


def read_log(path: Path) -> TrainingLog:
    """Return the log: of several ranks the events of the lowest, with the failures of all."""
    reading = _RunLines()
    for line in read_lines(path):
        reading.add_line(line.number, line.text)
    return reading.build_log()


class _RunLines:
    """The values and events of the lines so far; events with the rank that wrote them, None for a process without one."""

    def __init__(self) -> None:
        self._values: list[LogValue] = []
        self._events: list[tuple[int, LogEvent]] = []
        self._gpus: int | None = None
        self._lines = self._left_out = 0

    def add_line(self, number: int, text: str) -> None:
        """Add what a line says; one that cannot be read is counted."""
        self._lines = number
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        at = _check_whole(record.get("at"), END_OF_TIME) if isinstance(record, dict) else None
        if not isinstance(record, dict) or at is None or not self._add_record(number, at, record):
            self._left_out += 1

    def _add_record(self, number: int, at: int, record: dict[str, object]) -> bool:
        """Add what a record says that was written at `at` ns; return whether it could be read."""
        step = _check_whole(record.get("step"), MOST_STEP)
        rank = _check_whole(record.get("rank"), _MOST_RANKS) or 0
        gpus = _check_whole(record.get("gpus"), _MOST_RANKS)
        if gpus:
            self._gpus = max(gpus, self._gpus or 0)
            self._values.append(LogValue(number, at, None, "gpus", float(gpus)))
        phase, mark, detail = record.get("phase"), record.get("mark"), record.get("detail")
        if phase is None:
            return step is not None and self._add_step(number, at, step, rank, record)
        if phase not in get_args(Phase) or mark not in _MARKS:
            return False
        words = detail[:_LONGEST_DETAIL] if isinstance(detail, str) else None
        event = LogEvent(number, at, None, cast("Mark", mark), cast("Phase", phase), step, words)
        self._events.append((rank, event))
        return True

    def _add_step(self, number: int, at: int, step: int, rank: int, record: dict[str, object]) -> bool:
        """Add a step that ended at `at` ns, with its wait for data before it; return whether it could be read."""
        dur = _check_whole(record.get("dur"), END_OF_TIME)
        if dur is None:
            return False
        self._values.append(LogValue(number, at, step, "step_time", float(dur), "ns"))
        waited = _check_whole(record.get("data"), END_OF_TIME)
        if waited:
            begin = max(0, at - dur - waited)
            self._events.append((rank, LogEvent(number, begin, waited, "interval", "data", step)))
        numbers = record.get("numbers")
        for name, value in numbers.items() if isinstance(numbers, dict) else ():
            converted = convert_value(name, value, None) if isinstance(value, int | float) else None
            if converted is not None:
                self._values.append(LogValue(number, at, step, name, *converted))
        return True

    def build_log(self) -> TrainingLog:
        """Return the log of all lines."""
        lowest = min((rank for rank, _ in self._events), default=None)
        return TrainingLog(
            format=FORMAT,
            clock="utc",
            values=self._values,
            events=[event for rank, event in self._events if rank == lowest or event.phase == "failure"],
            gpus=self._gpus,
            rank=lowest,
            lines=self._lines,
            left_out=self._left_out,
        )


def _check_whole(value: object, end: int) -> int | None:
    """Return a whole number from 0 to below `end`; None for anything else."""
    return value if type(value) is int and 0 <= value < end else None
