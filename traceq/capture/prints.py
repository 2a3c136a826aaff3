"""Keep what a recorded program prints of its training as numbers beside its trace, and leave what it prints as it is.

Only `write` of the stream objects sys.stdout and sys.stderr is covered, by an attribute of the object: its class, isatty(),
fileno() and buffer stay. Of logging, what handlers write to files is read as well. What a subprocess prints, and what is written
to a file descriptor, is not seen.
"""

from __future__ import annotations

import atexit
import json
import logging
import re
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from traceq.capture.printed_lines import ParsedLine, may_have_value, parse_line
from traceq.capture.watch import replace_attribute
from traceq.common.files import replace_file
from traceq.common.version import __version__
from traceq.formats.made_with import path_beside, size_of_content
from traceq.formats.printed import MOST_VALUES, SUFFIX, VERSION

_END_OF_LINE = re.compile(r"[\r\n]+")

# Characters: what is longer is a table or a model, not a line about a step.
_LONGEST_LINE, _LONGEST_WRITE = 1000, 1 << 16

# Lines with values: the last ones before the recording ends, and the first ones after it.
_MOST_LINES = 500

# The same values again within this time are a progress bar drawn anew, or a line that goes to two places.
_SAME_NS = 1_000_000_000


class _PrintedLine(NamedTuple):
    """A line that may hold values: when it began (ns since 1970), and how many steps had ended by then."""

    time_ns: int
    steps_completed: int
    text: str


class PrintedLines:
    """The lines that the program prints and that may hold values; `count_steps` returns the number of steps ended so far."""

    def __init__(self, count_steps: Callable[[], int]) -> None:
        self._count_steps = count_steps
        self._undo: list[Callable[[], None]] = []
        self._lines: deque[_PrintedLine] = deque(maxlen=_MOST_LINES)
        self._later: list[_PrintedLine] = []
        self._window: list[int] = []
        self._path: Path | None = None
        self._size: int | None = None

    def watch_streams(self) -> None:
        """Begin to read what the program prints, until stop_reading(), or some hundred lines after the recording."""
        for stream in (sys.stdout, sys.stderr):
            # None, or an object of the program that takes no attribute: what it prints is not read.
            with suppress(AttributeError, TypeError):
                self._undo.append(_cover_write(stream, _LineReader(self._take_line).read_text))
        reader = _LineReader(self._take_line)
        emit = logging.FileHandler.emit

        def emit_and_read(handler: logging.FileHandler, record: logging.LogRecord) -> None:
            emit(handler, record)
            with suppress(Exception):  # arguments that do not fit the message: logging has said so
                reader.read_text(record.getMessage() + "\n")

        self._undo.append(replace_attribute(logging.FileHandler, "emit", emit_and_read))
        atexit.register(self._end_reading)

    def window_opens(self) -> None:
        """Note the time at which the profiler begins to warm up."""
        self._window = [time.time_ns()]

    def window_closes(self) -> None:
        """Note the time at which the last recorded step has ended."""
        self._window += [time.time_ns()]

    def keep_beside(self, trace: Path) -> None:
        """Write the values printed so far beside the complete trace; those of the next lines are added when the process ends."""
        with suppress(Exception):  # a program is recorded for its trace
            self._size = size_of_content(trace)
            self.keep_at(path_beside(trace, SUFFIX))

    def keep_at(self, path: Path) -> None:
        """Write the values printed so far to `path`; those of the next lines are added when the process ends."""
        self._path = path
        self._write_values()

    def stop_reading(self) -> None:
        """Read no more, and let the streams be as they were."""
        while self._undo:
            self._undo.pop()()
        atexit.unregister(self._end_reading)

    def drop_lines(self) -> None:
        """Stop, and write nothing: in a forked child the lines are those of the parent."""
        self.stop_reading()
        self._path = None
        self._lines.clear()
        self._later.clear()

    def _take_line(self, time_ns: int, text: str) -> None:
        line = _PrintedLine(time_ns, self._count_steps(), text)
        if self._path is None:
            self._lines.append(line)
        else:
            self._later.append(line)
            if len(self._later) >= _MOST_LINES:
                self._end_reading()

    def _end_reading(self) -> None:
        self.stop_reading()
        if self._path is not None and self._later:
            self._write_values()

    def _write_values(self) -> None:
        """Write the file of values, or none if no line has any; failures are ignored."""
        path = self._path
        with suppress(Exception):  # a program is recorded for its trace
            values = _parse_lines([*self._lines, *self._later])
            if path is None or not values:
                return
            content: dict[str, object] = {"traceq_printed": VERSION, "traceq": __version__}
            content |= {} if self._size is None else {"trace_bytes": self._size}
            content |= {"window_ns": self._window, "values": values[-MOST_VALUES:]}
            with replace_file(path) as file:
                file.write((json.dumps(content) + "\n").encode())


def _cover_write(stream: Any, read: Callable[[str], None]) -> Callable[[], None]:
    """Have `read` called with each text after `stream` has written it; return the function that stops this."""
    covered = vars(stream).get("write")
    original = stream.write

    def write_and_read(*args: Any, **kwargs: Any) -> Any:
        # A stream of the program's own may take more than the text.
        written = original(*args, **kwargs)
        if args and isinstance(args[0], str):
            read(args[0])
        return written

    stream.write = write_and_read

    def uncover_write() -> None:
        # What has covered it since stays, and what it calls reads on: into lines that nobody parses any more.
        if vars(stream).get("write") is write_and_read:
            if covered is None:
                del stream.write
            else:
                stream.write = covered

    return uncover_write


class _LineReader:
    """Puts together the lines of one stream, and calls `take` with the begin (ns since 1970) of those that may hold values."""

    def __init__(self, take: Callable[[int, str], None]) -> None:
        self._take = take
        self._begun = ""
        self._begin_ns = 0

    def read_text(self, text: str) -> None:
        """Read what was written next; never raises."""
        with suppress(Exception):  # what the program prints must not depend on who reads it
            if len(text) > _LONGEST_WRITE:
                self._begun = ""
                return
            now = time.time_ns()
            *lines, rest = _END_OF_LINE.split(text)
            for line in lines:
                self._finish_line(line, now)
            self._add_text(rest, now)

    def _finish_line(self, text: str, now: int) -> None:
        self._add_text(text, now)
        line, self._begun = self._begun, ""
        if len(line) <= _LONGEST_LINE and may_have_value(line):
            self._take(self._begin_ns, line)

    def _add_text(self, text: str, now: int) -> None:
        if not self._begun:
            self._begin_ns = now
        if len(self._begun) <= _LONGEST_LINE:
            self._begun += text


def _parse_lines(lines: list[_PrintedLine]) -> list[list[object]]:
    """Return the values in the lines as rows of formats.printed.PrintedValue, without those that a line repeats at once."""
    rows: list[list[object]] = []
    last: tuple[ParsedLine, int] | None = None
    number = 0
    for line in lines:
        parsed = parse_line(line.text)
        if not parsed.values or (last and last[0] == parsed and line.time_ns - last[1] < _SAME_NS):
            continue
        last = parsed, line.time_ns
        rows += [[line.time_ns, number, parsed.step, line.steps_completed, *value] for value in parsed.values]
        number += 1
    return rows
