"""The records of a structured log become compilations with their phases, graph breaks, recompilations and looks into caches."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from traceq.importers.compile_log.envelope import LogLines, LogRecord
from traceq.importers.compile_log.guards import parse_reasons
from traceq.importers.compile_log.reasons import BreakText, kind_of_break, parse_break, summarise_reason
from traceq.importers.compile_log.records import (
    CacheEvent,
    Compilation,
    CompileLog,
    CompilePhase,
    GraphBreak,
    ProgramLine,
    Recompilation,
)

_SECOND = 1_000_000_000
# Of one log so many rows of a kind are read; a job that compiles for a day writes fewer.
_MOST_ROWS = 1_000_000
# Times later than in 2116 and durations beyond a hundred days are of no program.
_END_OF_TIME, _LONGEST = 1 << 62, 100 * 86_400 * _SECOND
_MOST_COUNT = 1 << 40
_LONGEST_TEXT = 4_000
_CACHE = re.compile(r"^(fx_graph|aotautograd)_cache_(hit|miss|bypass|saved)$")
_RESUMED = re.compile(r"^torch_dynamo_resume_in_(.+?)_at_(\d+)$")
_FRAME_OF_METRICS = re.compile(r"^Line: (\d+), Name: (.+), Filename: (.+)$")

# Fields of compilation_metrics by the fields of Compilation: durations in s, and counts.
_DURATIONS = {
    "dur": "entire_frame_compile_time_s", "backend_ns": "backend_compile_time_s", "inductor_ns": "inductor_compile_time_s",
    "code_gen_ns": "code_gen_time_s", "restart_ns": "dynamo_time_before_restart_s",
    "overhead_ns": "structured_logging_overhead_s",
}  # fmt: skip
_COUNTS = {
    "guards": "guard_count", "operators": "graph_op_count", "nodes": "graph_node_count", "inputs": "graph_input_count",
    "cache_entries": "cache_size",
}  # fmt: skip


def read_log(path: Path) -> CompileLog:
    """Return what the log of one process says. Raises OSError."""
    lines = LogLines()
    reading = _LogSoFar()
    for record in lines.read_records(path):
        if reading.add_record(record):
            reading.log.records += 1
        else:
            lines.left_out["damaged"] += 1
    log = reading.finish_log()
    log.lines, log.left_out = lines.lines, dict(lines.left_out)
    return log


class _LogSoFar:
    """The log by its records so far: compilations by id, and phases that are open."""

    def __init__(self) -> None:
        self.log = CompileLog()
        self._texts: dict[int, str] = {}
        self._compilations: dict[str, Compilation] = {}
        # torch._dynamo.reset() lets PyTorch count anew: ids come again, and are told apart by the number of the time.
        self._again: Counter[str] = Counter()
        self._finished: set[str] = set()
        self._open: list[int] = []
        self._breaks: list[tuple[str, int, BreakText, int | None]] = []
        self._last_at: int | None = None

    def add_record(self, record: LogRecord) -> bool:
        """Add what a record says; return whether it could be read. Kinds of records that say nothing here count as read."""
        fields = record.fields
        self.log.process = self.log.process or record.process
        if self.log.rank is None:
            self.log.rank = _check_count(fields.get("rank"))
        if "str" in fields:
            return self._add_text(fields["str"])
        if "chromium_event" in fields:
            return self._add_event(fields, record.payload)
        if "dynamo_start" in fields:
            return self._add_start(fields)
        if "compilation_metrics" in fields:
            return self._add_metrics(fields)
        if isinstance(artifact := fields.get("artifact"), dict):
            return self._add_artifact(fields, str(artifact.get("name")), record.payload)
        return True

    def finish_log(self) -> CompileLog:
        """Return the log, with breaks of lines that no record tells, and phases that never ended left without a duration."""
        log = self.log
        log.compilations = list(self._compilations.values())
        # of a version that PyTorch refuses, the log names the frame only
        of_frames = {entry.frame_id: entry.place for entry in log.compilations if entry.place.file is not None}
        for entry in log.compilations:
            if entry.place.file is None:
                entry.place = of_frames.get(entry.frame_id, entry.place)
        for compile_id, attempt, said, at_ns in self._breaks[:_MOST_ROWS]:
            log.graph_breaks.append(
                GraphBreak(
                    compile_id, attempt, said.place, self._line_in_frame(compile_id, said), said.inside, said.kind, said.reason,
                    said.hint, said.context, said.stack, at_ns, said.skips_function,
                )
            )  # fmt: skip
        log.recompilations = [self._complete_place(entry) for entry in log.recompilations]
        if not log.graph_breaks:
            log.graph_breaks = _infer_breaks(log.compilations)
        times = [phase.begin_at for phase in log.phases] + [
            entry.begin_at for entry in log.compilations if entry.begin_at is not None
        ]
        ends = [phase.begin_at + (phase.dur or 0) for phase in log.phases] + [
            entry.begin_at + (entry.dur or 0) for entry in log.compilations if entry.begin_at is not None
        ]
        log.first_at, log.last_at = min(times, default=None), max(ends, default=None)
        return log

    def _line_in_frame(self, compile_id: str, said: BreakText) -> int | None:
        """Return the line of the compiled function from which the line of a break is reached; None where the stack lacks it."""
        compilation = self._compilations.get(compile_id)
        if compilation is None:
            return None
        function = compilation.place.function or ""
        resumed = _RESUMED.match(function)
        names = {function, resumed[1] if resumed else function}
        for frame in reversed(said.frames):
            if frame.function in names and frame.file == compilation.place.file:
                return frame.line
        return said.place.line if said.place.file == compilation.place.file else None

    def _complete_place(self, entry: Recompilation) -> Recompilation:
        """Return a recompilation with the whole path of its line, of which a guard's text has the end only."""
        compilation = self._compilations.get(entry.compile_id)
        known = [compilation.place.file if compilation else None, *self._texts.values()]
        file = entry.place.file
        whole = next((path for path in known if path and file and path.endswith(file)), file)
        return replace(entry, place=replace(entry.place, file=whole)) if whole != file else entry

    def _add_text(self, pair: object) -> bool:
        """Add a text that later records name by its number."""
        match pair:
            case [str(text), int(number)]:
                if len(self._texts) < _MOST_ROWS:
                    self._texts[number] = text
                return True
        return False

    def _current_id(self, as_logged: str) -> str:
        """Return the id of a compilation: as it is logged, from the second time on with the number of the time."""
        times = self._again[as_logged]
        return f"{as_logged}#{times + 1}" if times else as_logged

    def _compilation_of(self, fields: Mapping[str, Any], *, begins: bool = False) -> Compilation | None:
        """Return the compilation that a record is of, new or known; None for a record of none.

        `begins`: such a record stands at the begin of a compilation; after the end of one it is of another with its id.
        """
        frame, version = _check_count(fields.get("frame_id")), _check_count(fields.get("frame_compile_id"))
        if frame is None or version is None:
            return None
        autograd = _check_count(fields.get("compiled_autograd_id"))
        as_logged = f"{frame}/{version}" if autograd is None else f"{autograd}/{frame}/{version}"
        if begins and self._current_id(as_logged) in self._finished:
            self._again[as_logged] += 1
        compile_id = self._current_id(as_logged)
        found = self._compilations.get(compile_id)
        if found is None:
            if len(self._compilations) >= _MOST_ROWS:
                return None
            found = self._compilations[compile_id] = Compilation(compile_id, frame, version)
        attempt = _check_count(fields.get("attempt"))
        if attempt is not None:
            found.attempts = max(found.attempts, attempt + 1)
        return found

    def _add_start(self, fields: Mapping[str, Any]) -> bool:
        """Add which function a compilation is of, and where it was called: of each attempt the same."""
        compilation, start = self._compilation_of(fields, begins=True), fields["dynamo_start"]
        stack = start.get("stack") if isinstance(start, dict) else None
        if compilation is None or not isinstance(stack, list):
            return isinstance(start, dict)
        frames = [frame for frame in stack if isinstance(frame, dict)]
        if frames and compilation.place.file is None:
            last = frames[-1]
            compilation.place = ProgramLine(
                self._file_of(last), _check_count(last.get("line")), _text_of(last.get("name"))
            )
        compilation.stack = "\n".join(self._frame_line(frame) for frame in frames)[-_LONGEST_TEXT:] or None
        return True

    def _file_of(self, frame: Mapping[str, Any]) -> str | None:
        """Return the file of a frame, whose name is a number of a text, or a text itself."""
        name = frame.get("filename", frame.get("uninterned_filename"))
        return self._texts.get(name) if isinstance(name, int) else _text_of(name)

    def _frame_line(self, frame: Mapping[str, Any]) -> str:
        """Return a frame as FILE(LINE): FUNCTION."""
        return f"{self._file_of(frame) or '?'}({frame.get('line', '?')}): {frame.get('name', '?')}"

    def _add_metrics(self, fields: Mapping[str, Any]) -> bool:
        """Add what is measured of a compilation: its durations, counts, and why it failed or began anew."""
        compilation, metrics = self._compilation_of(fields), fields["compilation_metrics"]
        if not isinstance(metrics, dict):
            return False
        if compilation is None:
            return True
        self._finished.add(compilation.compile_id)
        for field, source in _DURATIONS.items():
            if (duration := _to_ns(metrics.get(source))) is not None:
                setattr(compilation, field, duration)
        for field, source in _COUNTS.items():
            if (number := _check_count(metrics.get(source))) is not None:
                setattr(compilation, field, number)
        begin = metrics.get("start_time")
        if isinstance(begin, float | int) and not isinstance(begin, bool) and 0 < begin < _END_OF_TIME / _SECOND:
            compilation.begin_at = compilation.begin_at or round(begin * _SECOND)
        _add_place(compilation, metrics)
        _add_outcome(compilation, metrics)
        return True

    def _add_artifact(self, fields: Mapping[str, Any], name: str, payload: str) -> bool:
        """Add why a graph broke, which guards failed, or what a cache had; other artifacts are passed over."""
        if name == "torch_version":
            content = _parse_object(payload)
            self.log.version = _text_of(content.get("pytorch_version"))
            return bool(content)
        if name == "dynamo_graph_break_reason":
            compilation = self._compilation_of(fields)
            if compilation is not None and payload.strip() and len(self._breaks) < _MOST_ROWS:
                attempt = _check_count(fields.get("attempt")) or 0
                self._breaks.append((compilation.compile_id, attempt, parse_break(payload), self._last_at))
            return bool(payload.strip())
        if name in ("recompile_reasons", "recompile_reason"):
            return self._add_recompilation(fields, payload)
        if (found := _CACHE.match(name)) is not None and found[2] != "saved":
            return self._add_cache_event(fields, found[1], found[2], payload)
        return True

    def _add_recompilation(self, fields: Mapping[str, Any], payload: str) -> bool:
        """Add the guards of earlier versions that failed before a compilation."""
        compilation = self._compilation_of(fields, begins=True)
        reasons = parse_reasons(payload)
        if compilation is None or len(self.log.recompilations) >= _MOST_ROWS:
            return bool(reasons)
        self.log.recompilations += [
            Recompilation(
                compilation.compile_id, said.failed_id, said.guard, said.kind, said.source, said.expected, said.actual,
                said.place, self._last_at,
            )
            for said in reasons
        ]  # fmt: skip
        return bool(reasons)

    def _add_cache_event(self, fields: Mapping[str, Any], cache: str, outcome: str, payload: str) -> bool:
        """Add a look into a cache."""
        content = _parse_object(payload)
        compilation = self._compilation_of(fields)
        reason = _text_of(content.get("cache_bypass_reason")) if outcome == "bypass" else None
        if len(self.log.cache_events) < _MOST_ROWS:
            self.log.cache_events.append(
                CacheEvent(
                    compilation.compile_id if compilation else None, cache, outcome, _text_of(content.get("key")),
                    reason, self._last_at,
                )
            )  # fmt: skip
        return True

    def _add_event(self, fields: Mapping[str, Any], payload: str) -> bool:
        """Add the begin or end of a phase; moments and counters are passed over."""
        event = _parse_object(payload)
        name, at_us = _text_of(event.get("name")), event.get("ts")
        if not name or not isinstance(at_us, float | int) or isinstance(at_us, bool):
            return False
        if not 0 <= at_us < _END_OF_TIME / 1_000:
            return False
        # whole us first: ns of today have more digits than a float
        at_ns = int(at_us) * 1_000 + round((at_us - int(at_us)) * 1_000)
        self._last_at = at_ns
        kind = event.get("ph")
        begins = kind == "B" and name in ("dynamo", "entire_frame_compile")
        compilation = self._compilation_of(fields, begins=begins)
        compile_id = compilation.compile_id if compilation else None
        dur = None
        if kind == "B":
            self._begin_phase(name, compile_id, at_ns)
        elif kind == "E":
            dur = self._end_phase(name, compile_id, at_ns)
        if compilation is not None and name == "entire_frame_compile":
            if kind == "B":
                compilation.begin_at = at_ns
            elif dur is not None:
                compilation.dur = dur
        return True

    def _begin_phase(self, name: str, compile_id: str | None, at_ns: int) -> None:
        """Open a phase within the innermost open one."""
        if len(self.log.phases) >= _MOST_ROWS:
            return
        parent = self._open[-1] if self._open else None
        self.log.phases.append(CompilePhase(name, compile_id, at_ns, parent=parent, depth=len(self._open)))
        self._open.append(len(self.log.phases) - 1)

    def _end_phase(self, name: str, compile_id: str | None, at_ns: int) -> int | None:
        """End the innermost open phase of that name and compilation, with those within it that never ended.

        Return its duration, ns; None where no such phase is open, or where its times cannot be.
        """
        for depth in range(len(self._open) - 1, -1, -1):
            phase = self.log.phases[self._open[depth]]
            if phase.name == name and phase.compile_id == compile_id:
                if 0 <= at_ns - phase.begin_at < _LONGEST:
                    phase.dur = at_ns - phase.begin_at
                del self._open[depth:]
                return phase.dur
        return None


def _add_place(compilation: Compilation, metrics: Mapping[str, Any]) -> None:
    """Add the function of a compilation by its metrics, and who called it where no record said so."""
    file, name = _text_of(metrics.get("co_filename")), _text_of(metrics.get("co_name"))
    if file or name:
        known = compilation.place
        first_line = _check_count(metrics.get("co_firstlineno"))
        compilation.place = ProgramLine(file or known.file, first_line, name or known.function)
    if compilation.stack is None and isinstance(traced := metrics.get("stack_trace"), list):
        frames = [_FRAME_OF_METRICS.match(entry) for entry in traced if isinstance(entry, str)]
        compilation.stack = "\n".join(f"{frame[3]}({frame[1]}): {frame[2]}" for frame in frames if frame) or None


def _add_outcome(compilation: Compilation, metrics: Mapping[str, Any]) -> None:
    """Add how a compilation ended: with code, in an error, and why it began anew."""
    code = metrics.get("has_guarded_code")
    compilation.has_code = code if isinstance(code, bool) else compilation.has_code
    compilation.fail_type = _text_of(metrics.get("fail_type")) or compilation.fail_type
    compilation.fail_reason = _text_of(metrics.get("fail_reason")) or compilation.fail_reason
    reasons = metrics.get("restart_reasons")
    if isinstance(reasons, list):
        compilation.restart_reasons = tuple(sorted(text for entry in reasons if (text := _text_of(entry))))


def _infer_breaks(compilations: list[Compilation]) -> list[GraphBreak]:
    """Return the breaks of a log without records of them: the rest of a function is compiled by itself, by its line.

    The reason is the one for which the compilation of the function began anew, where it names only one.
    """
    breaks = []
    for rest in compilations:
        found = _RESUMED.match(rest.place.function or "")
        if found is None or rest.frame_compile_id:
            continue
        origin = next(
            (
                entry
                for entry in compilations
                if entry.place.function == found[1] and entry.place.file == rest.place.file and entry.restart_reasons
            ),
            None,
        )
        reasons = origin.restart_reasons if origin is not None else ()
        reason = summarise_reason(reasons[0]) if len(reasons) == 1 else "the log does not say why"
        kind = kind_of_break(reasons[0]) if len(reasons) == 1 else "other"
        place = ProgramLine(rest.place.file, int(found[2]), found[1])
        of = origin.compile_id if origin is not None else rest.compile_id
        breaks.append(
            GraphBreak(
                of, 0, place, place.line, None, kind, reason, None, None, rest.stack, rest.begin_at, skips_function=False,
                is_from_log=False,
            )
        )  # fmt: skip
    return breaks


def _parse_object(payload: str) -> dict[str, Any]:
    """Return the JSON object of a payload, {} for any other content."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text_of(value: object) -> str | None:
    """Return a text that is one, cut; None for any other value and an empty text."""
    return value[:_LONGEST_TEXT] if isinstance(value, str) and value else None


def _check_count(value: object) -> int | None:
    """Return a whole number from 0 that can be one; None for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_COUNT else None


def _to_ns(seconds: object) -> int | None:
    """Return seconds as ns; None for what is no duration."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < _LONGEST / _SECOND:
        return None
    return round(seconds * _SECOND)
