"""Rows that all of ROCm's profilers have: kernels, copies, fills, calls, ranges, with threads and devices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from traceq.importers.rows import Batches, Notes, batches_of, repeat_text

Rows = Iterator[tuple[str, pa.RecordBatch]]

_INT32, _INT64, _TEXT = pa.int32(), pa.int64(), pa.string()
_WORK = {"device": _INT32, "stream": _INT64, "name": _TEXT, "pid": _INT64, "correlation_id": _INT64}
_AXES = {f"{size}_{axis}": _INT32 for size in ("grid", "block") for axis in "xyz"}

# By kind of row: its table, what is the same in all of them, and the columns of each after start and end.
KINDS: dict[str, tuple[str, Mapping[str, str], Mapping[str, pa.DataType]]] = {
    "kernel": (
        "gpu_slice",
        {"kind": "kernel"},
        {**_WORK, **_AXES, "registers_per_thread": _INT32, "shared_memory": _INT64},
    ),
    "memcpy": (
        "gpu_slice",
        {"kind": "memcpy"},
        {
            **_WORK,
            **dict.fromkeys(("copy_kind", "src_memory", "dst_memory"), _TEXT),
            **dict.fromkeys(("src_device", "dst_device"), _INT32),
            "bytes": _INT64,
        },
    ),
    "memset": ("gpu_slice", {"kind": "memset"}, _WORK),
    "call": (
        "cpu_slice",
        {"kind": "runtime"},
        {"thread_id": _INT32, "category": _TEXT, "name": _TEXT, "correlation_id": _INT64},
    ),
    "range": (
        "cpu_slice",
        {"kind": "annotation"},
        {"thread_id": _INT32, "category": _TEXT, "name": _TEXT, "is_async": pa.bool_()},
    ),
    "other": ("cpu_slice", {}, {"thread_id": _INT32, "kind": _TEXT, "category": _TEXT, "name": _TEXT}),
}

# 36 years in ns: no clock since boot shows more.
_TIME_LIMIT = 1 << 60

NO_TIME = ("data_loss", "no_start_time", "records without a usable start were left out")
BACKWARD = ("info", "negative_duration", "records that end before they start: their duration is 0")
NO_END = ("data_loss", "no_end_time", "records without a usable end: their duration is 0")
NO_DEVICE = ("data_loss", "missing_device", "copies and kernels that name no GPU are on device -1")


class RowBuilder(msgspec.Struct):
    """Builder of the rows of one file, for all of ROCm's formats: it numbers threads and slices, and counts notes and devices."""

    notes: Notes = msgspec.field(default_factory=Notes)
    devices: dict[int, dict[str, Any]] = msgspec.field(default_factory=dict)
    """Rows of device by number."""
    _threads: dict[tuple[int | None, int | None], int] = msgspec.field(default_factory=dict)
    _programs: dict[int | None, str] = msgspec.field(default_factory=dict)
    _next_id: int = 0

    def number_thread(self, pid: int | None, tid: int | None) -> int:
        """Return the number of a thread, which is its thread_id in the rows; a new thread gets the next number."""
        return self._threads.setdefault((pid, tid), len(self._threads))

    def name_program(self, pid: int | None, command: str | None) -> None:
        """Set the name of the process `pid` to the file name in `command`, without its path, which may be private.

        Does nothing without a command.
        """
        if command:
            self._programs[pid] = re.split(r"[/\\]", command)[-1]

    def build_batches(self, kind: str, rows: Sequence[tuple[Any, ...]]) -> Batches:
        """Return the batch of rows of a kind of KINDS, as [(table, batch)]; empty if there are none.

        A row is (start, end, the kind's columns in order), in ns. Rows without a usable start are left out; without a
        usable end, or with one before the start, they last 0. Notes count both, and values that no column can hold.
        """
        usable = [row for row in rows if _is_time(row[0])]
        self.notes[NO_TIME] += len(rows) - len(usable)
        if not usable:
            return []
        table, same, columns = KINDS[kind]
        starts, ends, *values = zip(*usable, strict=True)
        ts = np.array(starts, np.int64)
        found = [end if _is_time(end) else start for start, end in zip(starts, ends, strict=True)]
        dur = np.array(found, np.int64) - ts
        self.notes[NO_END] += sum(not _is_time(end) for end in ends)
        self.notes[BACKWARD] += int((dur < 0).sum())
        first, self._next_id = self._next_id, self._next_id + len(usable)
        made = {
            name: self.notes.fit_column(table, name, column, type_)
            for (name, type_), column in zip(columns.items(), values, strict=True)
        }
        if "device" in made:
            made["device"] = made["device"].fill_null(-1)
            self._note_devices(made["device"])
        made |= {name: repeat_text(value, len(ts)) for name, value in same.items()}
        made |= {
            "slice_id": pa.array(np.arange(first, self._next_id)),
            "ts": pa.array(ts),
            "dur": pa.array(dur.clip(0)),
        }
        return [(table, pa.RecordBatch.from_pydict(made))]

    def _note_devices(self, numbers: pa.Array) -> None:
        """Add a row for each device number that has work; count work on device -1 (unknown) in a note."""
        counts = numbers.value_counts().to_pylist()
        for count in counts:
            self.devices.setdefault(count["values"], {"device": count["values"], "source": "unknown"})
            if count["values"] < 0:
                self.notes[NO_DEVICE] += count["counts"]

    def finish(self) -> Batches:
        """Return (table, batch) of the rows that depend on the whole file: devices, threads and notes."""
        columns = dict.fromkeys(key for row in self.devices.values() for key in row)
        devices = [{key: row.get(key) for key in columns} for _, row in sorted(self.devices.items())]
        threads = [
            {"thread_id": number, "pid": pid, "tid": tid, "process_name": self._programs.get(pid)}
            for number, (pid, tid) in enumerate(self._threads)
        ]
        return [*batches_of("device", devices), *batches_of("thread", threads), *self.notes.batches()]


def _is_time(value: object) -> bool:
    return isinstance(value, int) and 0 < value < _TIME_LIMIT


def count_blocks(grid: Sequence[Any], group: Sequence[Any]) -> tuple[Any, ...]:
    """Return (blocks in x, y, z; threads per block in x, y, z) of a kernel's launch, None for each that is unknown.

    `grid` has the sizes in work items (threads), `group` those of a workgroup (block). What is no number stays as it is.
    """
    return (*(_count_parts(whole, part) for whole, part in zip(grid, group, strict=True)), *group)


def _count_parts(whole: object, part: object) -> object:
    """Return into how many parts the whole falls, None where one of them is unknown or 0; what is no size as it is."""
    odd = (value for value in (whole, part) if value is not None and (not isinstance(value, int) or value < 0))
    if not (isinstance(whole, int) and isinstance(part, int) and min(whole, part) > 0):
        return next(odd, None)
    return -(-whole // part)


def kernel_name(name: str | None, number: object) -> str:
    """Return a kernel's name without the suffix of its descriptor (".kd", " [clone .kd]"); "kernel NUMBER" without a name."""
    return re.sub(r"( \[clone \.kd\]|\.kd)$", "", name) if name else f"kernel {number}"


# Both tools' names: CopyHostToDevice, MEMORY_COPY_DEVICE_TO_HOST.
_COPY = re.compile(r"(?i)copy_?(host|device)_?to_?(host|device)")
_COPY_KINDS = {"hd": "h2d", "dh": "d2h", "dd": "d2d", "hh": "h2h"}


def describe_copy(
    name: str, source: int | None = None, target: int | None = None
) -> tuple[str, str | None, str | None, str | None]:
    """Return (PyTorch's name, copy_kind, src_memory, dst_memory) of a copy; only the name as it is if it tells no direction.

    `source` and `target` are device numbers, None for a host: a copy between two devices is "p2p". A memory is
    "device", or None for a host's.
    """
    match = _COPY.search(name)
    if match is None:
        return name, None, None, None
    sides = [side.capitalize() for side in match.groups()]
    kind = _COPY_KINDS["".join(side[0].lower() for side in sides)]
    if kind == "d2d" and source is not None and target is not None and source != target:
        return "Memcpy PtoP (Device -> Device)", "p2p", "device", "device"
    memories = ["device" if side == "Device" else None for side in sides]
    return f"Memcpy {sides[0][0]}to{sides[1][0]} ({' -> '.join(sides)})", kind, memories[0], memories[1]


class _Bank(msgspec.Struct):
    size_in_bytes: int = 0


class Agent(msgspec.Struct, kw_only=True):
    """rocprofiler-sdk's description of an agent (GPU or CPU), as far as table device has columns for it; 0 or "" for unknown."""

    name: str = ""
    product_name: str = ""
    cu_count: int = 0
    wave_front_size: int = 0
    max_waves_per_cu: int = 0
    lds_size_in_kb: int = 0
    mem_banks: list[_Bank] = []


def build_gpu_row(number: int, agent: Agent) -> dict[str, Any]:
    """Return the row of table device for a GPU agent; each die of a card with two dies is an agent."""
    return {
        "device": number,
        "name": agent.product_name or agent.name or None,
        "sm_count": agent.cu_count or None,
        "memory_bytes": sum(bank.size_in_bytes for bank in agent.mem_banks) or None,
        "warp_size": agent.wave_front_size or None,
        "max_threads_per_sm": agent.max_waves_per_cu * agent.wave_front_size or None,
        "shared_memory_per_sm": agent.lds_size_in_kb * 1024 or None,
        "source": "trace",
    }


# Calls of roctx that are ranges: pushed and popped on one thread, or started and stopped anywhere. Marks are instants.
_RANGES = re.compile(r"roctx(RangePush|ThreadRange|Mark)A?")
_FREE_RANGES = re.compile(r"roctx(RangeStart|ProcessRange)A?")


def range_of(operation: str, message: str | None, times: tuple[int, int], thread: int) -> tuple[Any, ...] | None:
    """Return the row (start, end, thread, "roctx", text, is_async) of a roctx call that is a range or a mark.

    `operation` is the name of the call, `message` the text that the program gave, `times` its (start, end) in ns. None
    for calls that end, name or pause something.
    """
    is_free = _FREE_RANGES.fullmatch(operation) is not None
    if not is_free and not _RANGES.fullmatch(operation):
        return None
    start, end = times
    return start, start if "Mark" in operation else end, thread, "roctx", message or operation, is_free
