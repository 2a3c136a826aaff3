"""Formats of training logs that are lines of text, declared in TOML: traceq's own and the user's have one grammar.

docs/run-logs.md explains the keys. A pattern is a regular expression with named groups; {number} in it stands for a number
as programs write them: 1,234, 1e-05, nan.
"""

from __future__ import annotations

import re
import tomllib
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import msgspec

from traceq.errors import UnusableTrace
from traceq.importers.training_logs.reading import UNITS, Mark, Phase

# A user's folder of such files, besides those that the command line names.
FOLDER = "TRACEQ_LOG_FORMATS"

# Not the beginning of one that the end of the line cuts: 1e-, 82,5.
_NUMBER = (
    r"(?:[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?i:nan|inf(?:inity)?))"
    r"(?!\d|(?:[eE][-+]?|,\d{0,2})$)"
)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_ZONE = re.compile(r"utc|local|[+-]\d\d:\d\d")
_PATTERNS = Path(__file__).parent / "patterns"
# Events of every text log, whatever wrote it: failures and restarts.
_COMMON = "common.toml"

# Groups that are no quantities.
OF_LINE = ("step", "time", "rank", "epochs_before", "steps_per_epoch")
_OF_EVENT = ("step", "time", "duration", "detail")


class Quantity(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"quantity": "is"}):
    """Meaning of a group of a pattern: a quantity of traceq's, the unit it is written in, and a factor; see docs/run-logs.md."""

    quantity: str | None = None
    unit: str | None = None
    scale: float = 1.0


class _Time(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    format: str = "iso"
    zone: str = "local"
    year: int | None = None


class _LineTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    also: list[str] = []
    next: str | None = None


class _EventTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    phase: Phase
    mark: Mark
    unit: str = "s"
    detail: str | None = None


class _Declaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file as it is written."""

    name: str
    title: str = ""
    recognise: list[str] = []
    step_before: list[str] = []
    gpus: str | None = None
    rank: str | None = None
    time: _Time | None = None
    line: list[_LineTable] = []
    event: list[_EventTable] = []
    quantity: dict[str, Quantity] = {}


class TimePattern(msgspec.Struct, frozen=True):
    """Pattern of a line's time (group `time`), and the format to read it: "iso", "epoch" (s) or one of strptime.

    `zone` is that of times which name none; None for a local one. `year` is that of a format without a year.
    """

    pattern: re.Pattern[str]
    format: str
    zone: timezone | None
    year: int | None


class LinePattern(msgspec.Struct, frozen=True):
    """A line with values: `pattern` finds it, `also` find more in it, and `next` what belongs to it in one of the next lines.

    Groups are quantities and those of OF_LINE: a step that counts within an epoch has epochs_before and steps_per_epoch.
    """

    pattern: re.Pattern[str]
    also: tuple[re.Pattern[str], ...]
    next: re.Pattern[str] | None

    @property
    def all_patterns(self) -> tuple[re.Pattern[str], ...]:
        """All patterns of the line."""
        return (self.pattern, *self.also, *((self.next,) if self.next else ()))


class EventPattern(msgspec.Struct, frozen=True):
    """A line that says that something happened; groups are step, time, duration (in `unit`) and detail."""

    pattern: re.Pattern[str]
    phase: Phase
    mark: Mark
    unit: str
    detail: str | None


class TextFormat(msgspec.Struct, frozen=True):
    """A format of training logs that are lines of text.

    `recognise` are patterns of lines that only this format has, `step_before` of lines whose step is that of those after
    them which say none; `gpus` and `rank` have a group of this name. `quantities` are by name of group.
    """

    name: str
    title: str
    recognise: tuple[re.Pattern[str], ...]
    step_before: tuple[re.Pattern[str], ...]
    gpus: re.Pattern[str] | None
    rank: re.Pattern[str] | None
    time: TimePattern | None
    lines: tuple[LinePattern, ...]
    events: tuple[EventPattern, ...]
    quantities: dict[str, Quantity]

    def quantity_of(self, group: str) -> Quantity:
        """Return what the group is: as the file says, else the quantity of that name in its usual unit."""
        return self.quantities.get(group, _AS_NAMED)


_AS_NAMED = Quantity()


def load_format(path: Path) -> TextFormat:
    """Return the format that the TOML file declares. Raises UnusableTrace, which names the file, the key and what it may be."""
    try:
        declared = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Declaration)
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnusableTrace(f"{path}: no TOML: {error}; docs/run-logs.md shows a file of a log format") from error
    except msgspec.ValidationError as error:
        what = str(error).replace("Object", "the file").replace("`$.", "`")
        raise UnusableTrace(f"{path}: {what}; docs/run-logs.md lists the keys of a log format") from error
    return _Checked(path, declared).format


@cache
def own_formats() -> tuple[TextFormat, ...]:
    """Return traceq's own text formats by name; each also has the events that all text logs may have."""
    common = load_format(_PATTERNS / _COMMON)
    own = [load_format(path) for path in sorted(_PATTERNS.glob("*.toml")) if path.name != _COMMON]
    return tuple(msgspec.structs.replace(form, events=(*form.events, *common.events)) for form in own)


def load_formats(paths: tuple[Path, ...]) -> tuple[TextFormat, ...]:
    """Return the formats of the user's files, those first, then traceq's own; a user's replaces one of the same name."""
    if not paths:
        return own_formats()
    common = load_format(_PATTERNS / _COMMON)
    given = [load_format(path) for path in paths]
    for number, form in enumerate(given):
        if form.name in {other.name for other in given[:number]}:
            raise UnusableTrace(f"{paths[number]}: name {form.name!r} is that of another --log-format; choose another")
        if not form.lines:
            raise UnusableTrace(f"{paths[number]}: has no [[line]], so it reads no values; add one with a pattern")
    names = {form.name for form in given}
    with_common = [msgspec.structs.replace(form, events=(*form.events, *common.events)) for form in given]
    return (*with_common, *(form for form in own_formats() if form.name not in names))


class _Checked:
    """The checks of a declaration, and the format that is made of it."""

    def __init__(self, path: Path, declared: _Declaration) -> None:
        self._path = path
        if not _NAME.fullmatch(declared.name):
            raise self._make_error("name", f"{declared.name!r} is not of small letters, digits and _")
        lines = [self._check_line(number, line, declared) for number, line in enumerate(declared.line)]
        self.format = TextFormat(
            name=declared.name,
            title=declared.title or declared.name,
            recognise=self._compile_all("recognise", declared.recognise),
            step_before=self._compile_all("step_before", declared.step_before, needs=("step",)),
            gpus=self._compile_pattern("gpus", declared.gpus, needs=("gpus",)) if declared.gpus else None,
            rank=self._compile_pattern("rank", declared.rank, needs=("rank",)) if declared.rank else None,
            time=self._check_time(declared.time) if declared.time else None,
            lines=tuple(lines),
            events=tuple(self._check_event(number, event) for number, event in enumerate(declared.event)),
            quantities={name: self._check_quantity(name, each) for name, each in declared.quantity.items()},
        )
        groups = {group for line in lines for part in line.all_patterns for group in part.groupindex}
        for name in declared.quantity:
            if name not in groups:
                raise self._make_error(f"quantity.{name}", f"no pattern of a [[line]] has a group (?P<{name}>...)")
        for group in sorted(groups - set(declared.quantity)):
            self._check_quantity(group, _AS_NAMED)

    def _make_error(self, key: str, what: str) -> UnusableTrace:
        return UnusableTrace(f"{self._path}: {key}: {what} (docs/run-logs.md)")

    def _compile_pattern(self, key: str, pattern: str, needs: tuple[str, ...] = ()) -> re.Pattern[str]:
        """Return the compiled pattern; raises UnusableTrace where it is none, matches nothing, or lacks one of the groups."""
        try:
            compiled = re.compile(pattern.replace("{number}", _NUMBER))
        except (re.error, RecursionError, OverflowError) as error:
            raise self._make_error(key, f"{pattern!r} is not a regular expression: {error}") from error
        if compiled.match(""):
            raise self._make_error(key, f"{pattern!r} also matches an empty line; say what the line must have")
        for group in needs:
            if group not in compiled.groupindex:
                raise self._make_error(key, f"{pattern!r} has no group (?P<{group}>...)")
        return compiled

    def _compile_all(self, key: str, patterns: list[str], needs: tuple[str, ...] = ()) -> tuple[re.Pattern[str], ...]:
        return tuple(self._compile_pattern(f"{key}[{number}]", each, needs) for number, each in enumerate(patterns))

    def _check_line(self, number: int, line: _LineTable, declared: _Declaration) -> LinePattern:
        key = f"line[{number}]"
        pattern = self._compile_pattern(f"{key}.pattern", line.pattern)
        also = self._compile_all(f"{key}.also", line.also)
        found = LinePattern(pattern, also, self._compile_pattern(f"{key}.next", line.next) if line.next else None)
        groups = {group for part in found.all_patterns for group in part.groupindex}
        if not groups - set(OF_LINE):
            raise self._make_error(key, "has no group that is a quantity, such as (?P<loss>{number})")
        if "step" not in groups and not declared.step_before:
            raise self._make_error(
                key, "has no group (?P<step>...), and the file has no step_before to know the step from"
            )
        if ("epochs_before" in groups) != ("steps_per_epoch" in groups):
            raise self._make_error(key, "groups epochs_before and steps_per_epoch go together")
        return found

    def _check_event(self, number: int, event: _EventTable) -> EventPattern:
        key = f"event[{number}]"
        pattern = self._compile_pattern(f"{key}.pattern", event.pattern)
        if event.unit not in UNITS["step_time"] or event.unit == "it/s":
            raise self._make_error(f"{key}.unit", f"{event.unit!r} is none of {', '.join(UNITS['step_time'])}")
        if (event.mark == "interval") != ("duration" in pattern.groupindex):
            raise self._make_error(
                key, 'mark "interval" goes with a group (?P<duration>{number}), and no other mark does'
            )
        for group in pattern.groupindex:
            if group not in _OF_EVENT:
                raise self._make_error(f"{key}.pattern", f"group {group!r} is none of {', '.join(_OF_EVENT)}")
        return EventPattern(pattern, event.phase, event.mark, event.unit, event.detail)

    def _check_quantity(self, name: str, said: Quantity) -> Quantity:
        units = UNITS.get(said.quantity or name)
        if units and said.unit is not None and said.unit not in units:
            raise self._make_error(f"quantity.{name}.unit", f"{said.unit!r} is none of {', '.join(units)}")
        if not said.scale > 0:
            raise self._make_error(f"quantity.{name}.scale", f"{said.scale} is not above 0")
        return said

    def _check_time(self, time: _Time) -> TimePattern:
        pattern = self._compile_pattern("time.pattern", time.pattern, needs=("time",))
        if not _ZONE.fullmatch(time.zone):
            raise self._make_error("time.zone", f"{time.zone!r} is not utc, local or like +02:00")
        if time.format not in ("iso", "epoch"):
            self._try_format(time)
        return TimePattern(pattern, time.format, _zone_of(time.zone), time.year)

    def _try_format(self, time: _Time) -> None:
        """Raise UnusableTrace unless strptime can read what strftime writes in this format, with a date and a year."""
        moment = datetime(2026, 11, 28, 13, 5, 9)  # noqa: DTZ001 - of no zone: written and read by the same format
        try:
            read = datetime.strptime(moment.strftime(time.format), time.format)  # noqa: DTZ007
        except ValueError as error:
            raise self._make_error(
                "time.format", f"{time.format!r} is not iso, epoch or a format of strptime"
            ) from error
        if (read.month, read.day) != (moment.month, moment.day):
            raise self._make_error(
                "time.format", f"{time.format!r} has no month and day; leave out [time] for such a log"
            )
        if read.year != moment.year and time.year is None:
            raise self._make_error("time.year", f"{time.format!r} has no year, so say it here: year = 2026")


def _zone_of(text: str) -> timezone | None:
    """Return the zone of "utc" or "+02:00"; None for "local"."""
    if text == "local":
        return None
    if text == "utc":
        return timezone.utc  # noqa: UP017 - the type is the point
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[4:])))
