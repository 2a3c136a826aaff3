"""From the planes of an XSpace to rows: streams of GPUs, threads of the host, steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from traceq.errors import UnusableTrace
from traceq.importers.packed import DAMAGED, read_unpacked
from traceq.importers.rows import Notes, batches_of, pseudonym_of
from traceq.importers.xplane import gpu
from traceq.importers.xplane.space import Plane, Space, XEvent, XLine
from traceq.importers.xplane.space import read as read_space
from traceq.importers.xplane.wire import DamagedMessage

Rows = Iterator[tuple[str, pa.RecordBatch]]

_BATCH_ROWS = 32_768
_TIME_LIMIT = 1 << 60
_ABSOLUTE = 10**18

_GPU = re.compile(r"/device:GPU:(\d{1,6})")
_HOST = re.compile(r"/host:(?!metadata|TFStreamz)\w.*")
_STREAM = re.compile(r"Stream #(\d{1,18})\b.*")
# What XProf works out from streams and writes beside them.
_DERIVED = re.compile(r"(?i)(XLA (Modules|Ops|TraceMe|Async).*|(TensorFlow|Framework) .*|Source code|Launch Stats)")
_STEPS = "Steps"
_JITTED = "PjitFunction("

_CALL = re.compile(r"(hip|cuda|cu)[A-Z]\w*")
# $FILE.py:LINE FUNCTION
_FRAME = re.compile(r"\$([^ ]+):(\d+) (.+)")
_COLUMNS: Mapping[str, pa.DataType] = {
    "thread_id": pa.int32(),
    "kind": pa.string(),
    "name": pa.string(),
    "correlation_id": pa.int64(),
    "args": pa.string(),
}

_NO_TIME = ("data_loss", "no_start_time", "events with impossible times were left out")
_AGGREGATED = ("data_loss", "aggregated_events", "events that stand for several others and have no time were left out")
_OTHER_DEVICE = (
    "data_loss",
    "device_not_imported",
    "planes of devices other than GPUs (TPUs, custom ones) were left out: XProf shows them, traceq measures GPUs",
)
_OTHER_LINE = ("data_loss", "line_not_imported", "lines of GPUs that are not streams were left out")


def read(path: Path, progress: Callable[[int], None]) -> Rows:
    """Yield (table, batch) for an XSpace; raises UnusableTrace if it is damaged, or has no events of GPUs or the host."""
    try:
        buffer = read_unpacked(path)
        space = read_space(buffer, (0, len(buffer)))
        reader = _PlaneReader()
        yield from reader.read_planes(space.planes)
        if not reader.slices:
            devices = [plane.name for plane in space.planes if plane.name.startswith("/device:")]
            why = (
                f"its devices are not GPUs ({devices[0]})"
                if devices
                else "was the profiler stopped before it could record?"
            )
            raise UnusableTrace(f"{path}: nothing recorded: the file holds no events of GPUs or of the host; {why}")
        yield from reader.finish(space)
    except DAMAGED as error:
        raise UnusableTrace(f"{path}: is cut short or damaged ({error}); copy it again") from error
    except DamagedMessage as error:
        raise UnusableTrace(f"{path}: is cut short or damaged ({error}); copy it again, or record it again") from error
    progress(path.stat().st_size)


class _PlaneReader:
    """Reader of planes into rows, which numbers slices and counts notes across all planes of a file."""

    def __init__(self) -> None:
        self.slices = 0
        self._notes: Notes = Notes()
        self._threads: list[dict[str, Any]] = []
        self._devices: list[dict[str, Any]] = []
        self._steps: list[XEvent] = []
        self._has_marks = False
        self._first: int | None = None

    def read_planes(self, planes: Sequence[Plane]) -> Rows:
        """Yield (table, batch) of the slices of the planes of GPUs and the host.

        Planes of other devices are counted in a note.
        """
        for plane in planes:
            if (match := _GPU.fullmatch(plane.name)) is not None:
                yield from self._read_gpu(plane, int(match[1]))
            elif _HOST.fullmatch(plane.name):
                for line in plane.read_lines():
                    yield from self._read_thread(plane, line)
            elif plane.name.startswith("/device:"):
                self._notes[_OTHER_DEVICE] += 1
            self._notes[_AGGREGATED] += plane.aggregated

    def finish(self, space: Space) -> Rows:
        """Yield (table, batch) of the rows that depend on the whole file: devices, threads, trace and notes.

        Adds marks of steps from a GPU's plane if the host has none.
        """
        if self._steps and not self._has_marks:
            yield from self._build_gpu_marks()
        yield from batches_of("device", self._devices)
        yield from batches_of("thread", self._threads)
        yield from batches_of("trace", [self._trace_row(space)])
        yield from self._notes.batches()

    def _read_gpu(self, plane: Plane, number: int) -> Rows:
        self._devices.append(gpu.build_device(number, plane))
        for line in plane.read_lines():
            stream = _STREAM.fullmatch(line.name)
            if stream is not None:
                events = plane.read_events(line)
                rows = ((event, gpu.build_row(event, number, int(stream[1]))) for event in events)
                yield from self._build_slices("gpu_slice", rows, gpu.COLUMNS)
            elif line.name == _STEPS:
                self._steps = self._steps or list(plane.read_events(line))
            elif not _DERIVED.fullmatch(line.name):
                self._notes[_OTHER_LINE] += 1

    def _read_thread(self, plane: Plane, line: XLine) -> Rows:
        number = len(self._threads)
        # NAME/ID; of threads that have one, else their name alone
        name = line.name.removesuffix(f"/{line.number}") or None
        self._threads.append({"thread_id": number, "pid": None, "tid": line.number or None, "thread_name": name})
        events = plane.read_events(line)
        outer = _find_outer_calls(plane, line)
        yield from self._build_slices(
            "cpu_slice", ((event, self._host_row(event, number, outer)) for event in events), _COLUMNS
        )

    def _host_row(self, event: XEvent, thread: int, outer: set[tuple[int, int]]) -> dict[str, Any]:
        """Return the columns of a CPU slice, by name; `outer` are the (start, end) of jitted calls that lie in no other.

        A slice is a step's mark, a call of the GPU's API, a Python frame, an inner part of a jitted call ("other"), or
        an annotation.
        """
        stats = event.stats
        number = stats.get("correlation_id")
        is_inner = event.name.startswith(_JITTED) and (event.start, event.end) not in outer
        row = {
            "thread_id": thread,
            "kind": "other" if is_inner else "annotation",
            "name": event.name,
            "args": gpu.rest_as_json(stats, _LINKS),
        }
        if isinstance(step := stats.get("step_num"), int):
            self._has_marks = True
            return row | {"name": f"traceq.step#{step}"}
        if isinstance(number, int) or _CALL.fullmatch(event.name):
            return row | {"kind": "runtime", "correlation_id": number if isinstance(number, int) else None}
        if event.name.startswith("$"):
            frame = _FRAME.fullmatch(event.name)
            return row | {"kind": "python", "name": f"{frame[1]}({frame[2]}): {frame[3]}" if frame else event.name[1:]}
        return row

    def _build_slices(
        self, table: str, rows: Iterator[tuple[XEvent, dict[str, Any]]], columns: Mapping[str, pa.DataType]
    ) -> Rows:
        """Yield (table, batch) of the rows, with slice ids and times added.

        Rows with an impossible time are counted and left out.
        """
        waiting: list[tuple[XEvent, dict[str, Any]]] = []
        for event, row in rows:
            if not 0 <= event.start <= event.end < 2 * _TIME_LIMIT:
                self._notes[_NO_TIME] += 1
                continue
            waiting.append((event, row))
            if len(waiting) == _BATCH_ROWS:
                yield table, self._build_batch(table, waiting, columns)
                waiting = []
        if waiting:
            yield table, self._build_batch(table, waiting, columns)

    def _build_batch(
        self, table: str, rows: Sequence[tuple[XEvent, dict[str, Any]]], columns: Mapping[str, pa.DataType]
    ) -> pa.RecordBatch:
        first, self.slices = self.slices, self.slices + len(rows)
        ts = np.array([event.start for event, _ in rows], np.int64)
        dur = np.array([event.end for event, _ in rows], np.int64) - ts
        self._first = int(ts.min()) if self._first is None else min(self._first, int(ts.min()))
        made = {
            name: self._notes.fit_column(table, name, [row.get(name) for _, row in rows], type_)
            for name, type_ in columns.items()
        }
        made |= {"slice_id": pa.array(np.arange(first, self.slices)), "ts": pa.array(ts), "dur": pa.array(dur)}
        return pa.RecordBatch.from_pydict(made)

    def _build_gpu_marks(self) -> Rows:
        """Yield the steps of a GPU's plane as CPU slices "traceq.step#NUMBER" on a thread of their own."""
        thread = len(self._threads)
        self._threads.append({"thread_id": thread, "pid": None, "tid": None, "thread_name": "steps of the GPU"})
        rows = (
            (step, {"thread_id": thread, "kind": "annotation", "name": f"traceq.step#{step.name}"})
            for step in self._steps
        )
        yield from self._build_slices("cpu_slice", rows, _COLUMNS)

    def _trace_row(self, space: Space) -> dict[str, Any]:
        """Return the row of table trace; the machine's name becomes a pseudonym, None unless there is exactly one machine."""
        hosts = sorted(set(space.hosts))
        about = next((plane.stats for plane in space.planes if plane.name == "Task Environment"), {})
        began = about.get("profile_start_time")
        is_absolute = self._first is not None and self._first > _ABSOLUTE
        return {
            "producer": "XProf",
            "host": pseudonym_of(hosts[0]) if len(hosts) == 1 else None,
            "utc_origin_ns": 0 if is_absolute else began if isinstance(began, int) and began > _ABSOLUTE else None,
        }


def _find_outer_calls(plane: Plane, line: XLine) -> set[tuple[int, int]]:
    """Return the (start, end) of calls of jitted functions that lie in no other such call.

    JAX writes a call as two nested ranges.
    """
    if not any(name.startswith(_JITTED) for name in plane.events.values()):
        return set()
    calls = sorted(
        ((event.start, event.end) for event in plane.read_events(line) if event.name.startswith(_JITTED)),
        key=lambda call: (call[0], -call[1]),
    )
    outer: set[tuple[int, int]] = set()
    until = -1
    for start, end in calls:
        if end > until:
            outer.add((start, end))
            until = end
    return outer


# What joins an event with its column, or with others that traceq joins by other means.
_LINKS = {"correlation_id", "device_id", "_pt", "_p", "_ct", "_c", "_r", "group_id"}
