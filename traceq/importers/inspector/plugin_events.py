"""Events of NCCL's example of a profiler plugin: pairs of begin ("b") and end ("e") of Chrome's format, one a line.

Operations are of the categories COLL and P2P; what follows one until its end is of its channels and network. Durations are
those of the GPU's clock where its channels were recorded (KernelCh), else those of the host, which end with the launch
unless the proxy was recorded. Early versions wrote values without quotes, and none closes the list when the program is killed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from traceq.importers.inspector.reading import keep_possible, make_record_batch, open_packed
from traceq.importers.rows import Notes

TOOL = "the profiler plugin"

_OPERATIONS = ("COLL", "P2P")
_UNQUOTED = re.compile(rb"(:\s*)(ncclU?[A-Za-z]\w*|0x[0-9a-fA-F]+|\(nil\))(?=\s*[,}])")
_SIZES = {
    "ncclInt8": 1, "ncclChar": 1, "ncclUint8": 1, "ncclFloat8e4m3": 1, "ncclFloat8e5m2": 1, "ncclFloat16": 2,
    "ncclHalf": 2, "ncclBfloat16": 2, "ncclInt32": 4, "ncclInt": 4, "ncclUint32": 4, "ncclFloat32": 4, "ncclFloat": 4,
    "ncclInt64": 8, "ncclUint64": 8, "ncclFloat64": 8, "ncclDouble": 8,
}  # fmt: skip
_ROWS = 50_000
_LONGEST_LINE = 1 << 20


def has_records(head: str) -> bool:
    """Return whether the text holds events of NCCL's operations, as pairs of begin and end."""
    return re.search(r'"cat":\s*"(GROUP_API|COLL_API|P2P_API|COLL|P2P)",\s*"ph":\s*"[be]"', head) is not None


def read_rows(path: Path, file: int, notes: Notes) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield batches of inspected_record; operations without an end, and lines that are no event, are counted in `notes`."""
    rows: list[dict[str, Any]] = []
    reader = _EventReader(file)
    with open_packed(path) as stream:
        while line := stream.readline(_LONGEST_LINE):
            rows += reader.read_line(line)
            if len(rows) >= _ROWS:
                yield from _yield_rows(rows, notes)
                rows = []
    yield from _yield_rows(rows, notes)
    notes.data_loss(
        "inspector_damaged", reader.damaged, "Lines of a profiler plugin that are no event; they are left out."
    )
    text = "Operations of a profiler plugin without an end; they are left out."
    notes.data_loss("inspector_unfinished", len(reader.begun), text)


def _yield_rows(rows: list[dict[str, Any]], notes: Notes) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows as a batch of inspected_record, without those that cannot be true."""
    kept, lost = keep_possible(make_record_batch(rows))
    notes.data_loss("inspector_damaged", lost, "Records of collectives that are cut or damaged; they are left out.")
    if kept.num_rows:
        yield "inspected_record", kept


class _Begun(msgspec.Struct):
    """An operation that has begun: its event, and the first start and the longest time of its channels by the GPU's clock."""

    event: dict[str, Any]
    gpu_start: int | None = None
    gpu_dur: int | None = None


class _EventReader:
    """Reads lines one by one and pairs begin and end of operations; `begun` are those without an end so far."""

    def __init__(self, file: int) -> None:
        self.begun: dict[tuple[Any, ...], _Begun] = {}
        self.damaged = 0
        self._file = file
        self._latest: dict[Any, _Begun] = {}

    def read_line(self, line: bytes) -> list[dict[str, Any]]:
        """Return the row of the operation that ends with this line, as a list of one; else an empty list."""
        text = line.strip().rstrip(b",").lstrip(b"[").rstrip(b"]").strip().rstrip(b",")
        if text in (b"", b"{}"):
            return []
        try:
            event = msgspec.json.decode(_UNQUOTED.sub(rb'\1"\2"', text))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.damaged += 1
            return []
        if not isinstance(event, dict):
            self.damaged += 1
            return []
        return self._read_event(event)

    def _read_event(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        """Take one event into account; return the row of the operation that it ends, as a list of one."""
        category, phase, process = event.get("cat"), event.get("ph"), _make_hashable(event.get("pid"))
        given = event.get("args")
        args = given if isinstance(given, dict) else {}
        if category == "GPU" and event.get("name") == "KernelCh" and phase == "b" and process in self._latest:
            _add_channel(self._latest[process], args)
        if category not in _OPERATIONS:
            return []
        key = (category, process, _make_hashable(event.get("tid")), _make_hashable(event.get("id")))
        if phase == "b":
            self.begun[key] = self._latest[process] = _Begun({**event, "args": args})
            return []
        begun = self.begun.pop(key, None)
        return [] if begun is None else [self._make_row(begun, event)]

    def _make_row(self, begun: _Begun, end: dict[str, Any]) -> dict[str, Any]:
        """Return an operation as a row of inspected_record."""
        event, args = begun.event, begun.event["args"]
        times = [time for time in (event.get("ts"), end.get("ts")) if isinstance(time, int | float)]
        on_host = round((times[1] - times[0]) * 1000) if len(times) == 2 else None  # noqa: PLR2004 - begin and end
        count, size = args.get("Count"), _SIZES.get(str(args.get("Datatype")))
        communicator = args.get("CommHash")
        return {
            "file": self._file,
            "pid": event.get("pid"),
            "communicator": hex(communicator) if isinstance(communicator, int) else None,
            "communicator_rank": args.get("Rank"),
            "op": event.get("name"),
            # point-to-point operations have no number of their own: the plugin's count of events orders them
            "sequence": args.get("SeqNum", event.get("id")),
            "peer": args.get("Peer"),
            "message_bytes": count * size if isinstance(count, int) and size else None,
            "dur": on_host if begun.gpu_dur is None else begun.gpu_dur,
            "timing": "collective_cpu" if begun.gpu_dur is None else "kernel_gpu",
            "algorithm": args.get("Algorithm"),
            "protocol": args.get("Protocol"),
            "utc_ns": begun.gpu_start,
            "utc_source": None if begun.gpu_start is None else "kernel",
        }


def _add_channel(begun: _Begun, args: dict[str, Any]) -> None:
    """Add a channel's time by the GPU's clock (ns) to its operation; 0 says that the clock was not read."""
    start, stop = args.get("StartGpuClk"), args.get("StopGpuClk")
    if isinstance(start, int) and isinstance(stop, int) and 0 < start < stop:
        begun.gpu_start = min(start, begun.gpu_start or start)
        begun.gpu_dur = max(stop - start, begun.gpu_dur or 0)


def _make_hashable(value: Any) -> Any:
    return value if isinstance(value, int | str) else None
