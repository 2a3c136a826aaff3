"""Lines of text become the values and events of a training log, by a declared format."""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from traceq.common.text import without_colours
from traceq.importers.monitors.reading import SECOND, parse_time
from traceq.importers.training_logs.reading import (
    END_OF_TIME,
    MOST_STEP,
    Clock,
    LogEvent,
    LogValue,
    TrainingLog,
    convert_value,
    duration_of,
)
from traceq.importers.training_logs.text_format import OF_LINE, EventPattern, TextFormat, TimePattern

# Longer lines are no lines of a training log; what is read of one costs time and memory.
_LONGEST = 1 << 14
# What is looked at to find out the format: logs may begin with thousands of lines of other libraries.
_HEAD = 1 << 22
_LONGEST_DETAIL = 80

# What launchers put before each line: `[rank0]:`, `[default0]:`, `task/0 [default0]:`, `0: ` of srun, `[1,0]<stdout>:` of mpirun.
_RANK = re.compile(
    r"\s*(?:[\w.-]+/\d+ )?(?:\[(?:rank|default)(\d{1,6})\]: ?|\[\d+,(\d{1,6})\]<std(?:out|err)>: ?|(\d{1,6}): )"
)
# A time at the beginning of a line, which container runtimes, `ts` and loggers write.
_LEADING_TIME = re.compile(
    r"\[?(?:[A-Za-z]\w* [A-Z] )?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)(?![\d:])"
)
_UNSAFE_DETAIL = re.compile(r"\S*[/\\@]\S*|[^\w .,:;=()%+-]")

# What program sources begin with; in them and in Markdown, lines of logs are examples.
_SOURCE = re.compile(r'"""|#!|from [\w.]+ import |import \w+$|#include')
_SOURCE_LINES = 20
_MOST_DIGITS = 20
# What belongs to a line comes in one of so many lines after it.
_NEXT_LINES = 4
_REST = 4

# (ns since 1970, whether it is UTC for certain)
_Stamp = tuple[int, bool]


class TextLine(NamedTuple):
    """A line of a text log, or a state of a progress bar: its number, and its text without colours.

    `is_whole` is False for the last one of a file that ends without the end of a line.
    """

    number: int
    text: str
    is_whole: bool


def read_lines(path: Path, size: int | None = None) -> Iterator[TextLine]:
    """Yield each line that is not blank; of progress bars, which write over their line, each state.

    Text is UTF-16 if it begins with a byte order mark of it, else UTF-8. Of a line that is too long the beginning is taken.
    With `size`, only about as many characters are read.
    """
    with path.open("rb") as binary:
        begin = binary.read(2)
    encoding = "utf-16" if begin in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    number, is_rest, left = 1, False, size
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        while text := file.readline(_LONGEST):
            is_ended = text.endswith(("\n", "\r"))
            if not is_rest and not text.isspace():
                yield TextLine(number, without_colours(text.rstrip("\r\n")), is_ended or len(text) == _LONGEST)
            is_again, is_rest = is_rest, not is_ended
            number += text.endswith("\n")
            # the rest of a line that is too long counts for little
            if left is not None and (left := left - (len(text) >> _REST if is_again else len(text))) < 0:
                return


def find_format(path: Path, given: Sequence[TextFormat], known: Sequence[TextFormat]) -> TextFormat | None:
    """Return the format of which most lines are, among those of the user (`given`), else among `known`; None if no line is."""
    lines = [line.text for line in read_lines(path, _HEAD)]
    if any(line.startswith("```") for line in lines) or any(map(_SOURCE.match, lines[:_SOURCE_LINES])):
        return None
    for formats in (given, known):
        scores = [(_count_lines(form, lines), -number) for number, form in enumerate(formats)]
        best, number = max(scores, default=(0, 0))
        if best:
            return formats[-number]
    return None


def _count_lines(form: TextFormat, lines: Sequence[str]) -> int:
    """Return how many of the lines are of the format."""
    patterns = [*form.recognise, *(line.pattern for line in form.lines)]
    bare = [_split_rank(line)[1] for line in lines if not line.startswith("#")]
    return sum(any(pattern.search(line) for pattern in patterns) for line in bare)


def read_text_log(path: Path, form: TextFormat) -> TrainingLog:
    """Return what the file says, read as the format declares."""
    reading = _Reading(form)
    for line in read_lines(path):
        reading.add_line(line)
    return reading.finish_log()


class _Found(NamedTuple):
    """A line with values: its number, time and rank, and the text of each group of its patterns."""

    line: int
    stamp: _Stamp | None
    rank: int | None
    groups: dict[str, str]


class _Reading:
    """The values and events of the lines so far, with the rank that wrote each."""

    def __init__(self, form: TextFormat) -> None:
        self._form = form
        self._values: list[tuple[int | None, bool | None, LogValue]] = []
        self._events: list[tuple[int | None, bool | None, LogEvent]] = []
        self._steps: dict[int | None, int] = {}
        self._waiting: dict[int | None, tuple[_Found, re.Pattern[str], int]] = {}
        self._gpus: int | None = None
        self._rank: int | None = None
        self._lines = self._left_out = 0

    def add_line(self, line: TextLine) -> None:
        """Add what a line says."""
        self._lines = line.number
        rank, text = _split_rank(line.text)
        stamp = _find_time(self._form.time, text)
        self._gpus = self._gpus or _find_count(self._form.gpus, text, "gpus")
        if self._rank is None:
            self._rank = _find_count(self._form.rank, text, "rank")
        for pattern in self._form.step_before:
            if (match := pattern.search(text)) and (step := _parse_step(match["step"])) is not None:
                self._steps[rank] = step
        self._complete_waiting(rank, text)
        is_damaged = False
        for candidate in self._form.lines:
            if match := candidate.pattern.search(text):
                found = _Found(line.number, stamp, rank, _groups_of(match, line))
                for pattern in candidate.also:
                    found.groups.update(_groups_of(pattern.search(text), line))
                if candidate.next is None:
                    is_damaged |= not self._add_values(found)
                else:
                    self._flush_waiting(rank)
                    self._waiting[rank] = (found, candidate.next, _NEXT_LINES)
        self._left_out += is_damaged
        self._add_events(line.number, rank, stamp, text)

    def _complete_waiting(self, rank: int | None, text: str) -> None:
        """Add to the line that waits for what belongs to it, if any, what this one says; after a few it waits no longer."""
        if rank not in self._waiting:
            return
        found, pattern, left = self._waiting[rank]
        match = pattern.search(text)
        if match:
            found.groups.update(_groups_of(match, None))
        self._waiting[rank] = (found, pattern, left - 1)
        if match or left == 1:
            self._flush_waiting(rank)

    def _flush_waiting(self, rank: int | None) -> None:
        """Add the values of the line that waits."""
        if rank in self._waiting:
            found, _, _ = self._waiting.pop(rank)
            self._left_out += not self._add_values(found)

    def _add_values(self, found: _Found) -> bool:
        """Add the values of a line; return whether all that it has could be read."""
        groups = found.groups
        step = _step_of(groups) if "step" in groups else self._steps.get(found.rank)
        if step is None and "step" in groups:
            return False
        rank = _parse_step(groups["rank"]) if "rank" in groups else found.rank
        is_complete = True
        for group, number in groups.items():
            if group in OF_LINE:
                continue
            said = self._form.quantity_of(group)
            name = said.quantity or group
            converted = convert_value(name, _parse_number(number) * said.scale, said.unit)
            if converted is None:
                is_complete = False
            else:
                at, is_utc = found.stamp or (None, None)
                self._values.append((rank, is_utc, LogValue(found.line, at, step, name, *converted)))
        return is_complete

    def _add_events(self, number: int, rank: int | None, stamp: _Stamp | None, text: str) -> None:
        """Add what the line says happened: of the patterns of one phase the first."""
        phases = set()
        for pattern in self._form.events:
            if pattern.phase in phases or not (match := pattern.pattern.search(text)):
                continue
            event = _build_event(number, stamp, pattern, match, self._form.time)
            if event is not None:
                phases.add(pattern.phase)
                self._events.append((rank, None if event.at_ns is None else bool(stamp and stamp[1]), event))

    def finish_log(self) -> TrainingLog:
        """Return the log: of several ranks the values of the lowest, with the failures of all."""
        for waiting in list(self._waiting):
            self._flush_waiting(waiting)
        ranks = {rank for rank, _, _ in self._values}
        kept = None if None in ranks else min((rank for rank in ranks if rank is not None), default=None)
        values = [entry for entry in self._values if entry[0] == kept]
        is_alone = len({rank for rank, _, _ in self._events}) <= 1
        events = [
            entry for entry in self._events if is_alone or entry[0] in (kept, None) or entry[2].phase == "failure"
        ]
        stamps = Counter(is_utc for _, is_utc, _ in (*values, *events) if is_utc is not None)
        clock: Clock = "none" if not stamps else "utc" if stamps[True] >= stamps[False] else "local"
        wrong = clock == "local"
        return TrainingLog(
            format=self._form.name,
            clock=clock,
            # times of the other clock would be hours off
            values=[value if is_utc is not wrong else replace(value, at_ns=None) for _, is_utc, value in values],
            events=[event if is_utc is not wrong else replace(event, at_ns=None) for _, is_utc, event in events],
            gpus=self._gpus,
            rank=kept if self._rank is None else self._rank,
            lines=self._lines,
            left_out=self._left_out,
        )


def _split_rank(text: str) -> tuple[int | None, str]:
    """Return the rank that a launcher wrote before the line, None without, and the line behind it."""
    match = _RANK.match(text)
    if match is None:
        return None, text
    return int(next(filter(None, match.groups()))), text[match.end() :]


def _find_time(declared: TimePattern | None, text: str) -> _Stamp | None:
    """Return the time of a line: that at its beginning if it names its zone, else that of the format, else at its beginning."""
    match = _LEADING_TIME.match(text)
    leading = parse_time(match[1]) if match else None
    if leading is not None and leading[1]:
        return leading
    if declared is not None and (found := declared.pattern.search(text)):
        return _read_time(declared, found["time"])
    return leading


def _read_time(declared: TimePattern, text: str) -> _Stamp | None:
    """Return a time that is written as the format declares; None if it cannot be read."""
    if declared.format == "iso":
        stamp = parse_time(text.strip())
        if stamp is None or stamp[1] or declared.zone is None:
            return stamp
        offset = declared.zone.utcoffset(None)
        return stamp[0] - round(offset.total_seconds()) * SECOND, True
    if declared.format == "epoch":
        seconds = _parse_number(text)
        return (round(seconds * SECOND), True) if 0 <= seconds < END_OF_TIME / SECOND else None
    try:
        moment = datetime.strptime(text.strip(), declared.format)  # noqa: DTZ007 - the zone is set below
        if "%Y" not in declared.format and "%y" not in declared.format and declared.year is not None:
            moment = moment.replace(year=declared.year)
    except ValueError:
        return None
    is_utc = moment.tzinfo is not None or declared.zone is not None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=declared.zone or UTC)
    nanoseconds = int(moment.replace(microsecond=0).timestamp()) * SECOND + moment.microsecond * 1000
    return (nanoseconds, is_utc) if 0 <= nanoseconds < END_OF_TIME else None


def _build_event(
    number: int, stamp: _Stamp | None, pattern: EventPattern, match: re.Match[str], time: TimePattern | None
) -> LogEvent | None:
    """Return the event that the line says; None where its duration cannot be read."""
    groups = match.groupdict()
    if groups.get("time"):
        stamp = (_read_time(time, groups["time"]) if time else parse_time(groups["time"])) or stamp
    at, duration = stamp and stamp[0], None
    if pattern.mark == "interval":
        duration = duration_of(_parse_number(groups["duration"] or ""), pattern.unit)
        if duration is None:
            return None
        at = None if at is None else max(0, at - duration)
    detail = pattern.detail or _UNSAFE_DETAIL.sub("", groups.get("detail") or "").strip()[:_LONGEST_DETAIL] or None
    step = _parse_step(groups["step"]) if groups.get("step") else None
    return LogEvent(number, at, duration, pattern.mark, pattern.phase, step, detail)


def _groups_of(match: re.Match[str] | None, line: TextLine | None) -> dict[str, str]:
    """Return the text of each group that matched; a number at the end of a file that ends within a line becomes "cut".

    Digits of it may be missing.
    """
    if match is None:
        return {}
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    if line is not None and not line.is_whole:
        return {name: "cut" if match.end(name) == len(match.string) else text for name, text in groups.items()}
    return groups


def _step_of(groups: dict[str, str]) -> int | None:
    """Return the number of the step in the groups of a line, that within an epoch counted from the first; None if it is none."""
    step = _parse_step(groups["step"])
    if step is None or "epochs_before" not in groups:
        return step
    epochs, length = _parse_step(groups["epochs_before"]), _parse_step(groups["steps_per_epoch"])
    return None if epochs is None or length is None else epochs * length + step


def _find_count(pattern: re.Pattern[str] | None, text: str, group: str) -> int | None:
    """Return the count that the line has in the group; None where it has none."""
    match = pattern.search(text) if pattern else None
    return _parse_step(match[group]) if match else None


def _parse_step(text: str) -> int | None:
    """Return the number of a step, rank or the like, None for what is none."""
    digits = text.replace(",", "")
    return int(digits) if digits.isdecimal() and len(digits) < _MOST_DIGITS and int(digits) < MOST_STEP else None


def _parse_number(text: str) -> float:
    """Return the number, NaN for what is none."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return math.nan
