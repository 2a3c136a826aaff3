"""Made-up captures of a healthy program, which tests damage as public bug reports say that real files are damaged.

A step takes 10 ms: the host launches 20 matrix products of 400 us in its first 0.6 ms and waits for them; then the GPU has
nothing to do for 2 ms. Times of Chrome traces are microseconds, of nsys exports nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from chrome_trace import make_event
from nsys_export import KERNEL, RUNTIME, write

Event = dict[str, Any]

STEPS, KERNELS = 6, 20
STEP, KERNEL_TIME = 10_000, 400
H100 = {
    "id": 0,
    "name": "NVIDIA H100 80GB HBM3",
    "totalGlobalMem": 85_029_158_912,
    "computeMajor": 9,
    "computeMinor": 0,
    "numSms": 132,
    "warpSize": 32,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerMultiprocessor": 65_536,
    "sharedMemPerMultiprocessor": 233_472,
}
TWO = {"deviceProperties": [H100, H100 | {"id": 1}]}


def launch_kernels(
    step: int, *, names: Iterable[str] = ("gemm_bf16_128x128",) * KERNELS, pid: int = 1, device: int = 0
) -> list[Event]:
    """Return a step's operators, launches and kernels, and the wait for these; kernels follow one another on stream 7."""
    begin, events, names = step * STEP, [], list(names)
    for number, name in enumerate(names):
        at, key = begin + 10 + 30 * number, step * 100 + number + 1
        place = {"External id": key, "correlation": key}
        on_gpu = {"device": device, "stream": 7, "grid": [1056, 1, 1], "block": [128, 1, 1]}
        events += [
            make_event("cpu_op", "aten::mm", at, 25, {"External id": key}, pid=pid, tid=pid),
            make_event("cuda_runtime", "cudaLaunchKernel", at + 5, 8, place, pid=pid, tid=pid),
            make_event(
                "kernel", name, begin + 25 + KERNEL_TIME * number, KERNEL_TIME, on_gpu | place, pid=device, tid=7
            ),
        ]
    asked, done = begin + 15 + 30 * len(names), begin + 25 + KERNEL_TIME * len(names)
    wait = {"correlation": step * 100 + 99}
    events.append(make_event("cuda_runtime", "cudaDeviceSynchronize", asked, done + 5 - asked, wait, pid=pid, tid=pid))
    return events


def launch_graph(
    step: int,
    nodes: Iterable[tuple[str, float, float, int]],
    *,
    begin: float | None = None,
    pid: int = 1,
    device: int = 0,
) -> list[Event]:
    """Return a step that replays one graph: each node is (kernel, us after the launch, us, stream)."""
    begin = step * STEP if begin is None else begin
    launch = {"correlation": step + 1}
    events = [make_event("cuda_runtime", "cudaGraphLaunch", begin + 20, 12, launch, pid=pid, tid=pid)]
    done = begin
    for number, (name, at, dur, stream) in enumerate(nodes):
        place = launch | {"device": device, "stream": stream, "graph id": 3, "graph node id": (3 << 32) + number}
        events.append(make_event("kernel", name, begin + at, dur, place, pid=device, tid=stream))
        done = max(done, begin + at + dur)
    wait = {"correlation": step + 101}
    return [
        *events,
        make_event("cuda_runtime", "cudaDeviceSynchronize", begin + 60, done - begin - 55, wait, pid=pid, tid=pid),
    ]


def mark_step(step: int, *, ts: float | None = None, dur: float = STEP, pid: int = 1) -> Event:
    """Return the profiler's mark of a step."""
    return make_event(
        "user_annotation", f"ProfilerStep#{step}", step * STEP if ts is None else ts, dur, pid=pid, tid=pid
    )


def make_program(*, marked: bool = True, of_step: Callable[[int], list[Event]] = launch_kernels) -> list[Event]:
    """Return the events of the healthy program, its steps marked."""
    return [event for step in range(STEPS) for event in ([mark_step(step)] if marked else []) + of_step(step)]


def call_frame(name: str, ts: float, dur: float, number: int = 0) -> Event:
    """Return a Python frame on the main thread."""
    return make_event("python_function", name, ts, dur, {"Python id": number}, pid=1, tid=1)


def render_trace(events: Iterable[Event], **members: Any) -> str:
    """Return the text of a Chrome trace of one H100; `members` stand beside the list of events."""
    return json.dumps({"schemaVersion": 1, "deviceProperties": [H100], **members, "traceEvents": list(events)})


def save(folder: Path, text: str) -> Path:
    """Write the text of a Chrome trace into the folder; return the file."""
    path = folder / "trace.json"
    path.write_text(text)
    return path


class NsysCapture:
    """Rows of a tiny nsys export, times in ns."""

    def __init__(self, gpus: int = 1) -> None:
        self._numbers: dict[str, int] = {}
        self._tables: dict[str, list[dict[str, Any]]] = {KERNEL: [], RUNTIME: [], "NVTX_EVENTS": [], "PROCESSES": []}
        self._tables["TARGET_INFO_GPU"] = [
            {"id": gpu, "name": H100["name"], "cuDevice": gpu, "smCount": 132, "computeMajor": 9, "computeMinor": 0}
            for gpu in range(gpus)
        ]

    def name(self, text: str) -> int:
        """Return the number of the text in StringIds."""
        return self._numbers.setdefault(text, len(self._numbers) + 1)

    def call(self, thread: int, name: str, start: int, end: int, correlation: int) -> None:
        """Add a call of the runtime on the thread of this globalTid."""
        row = {"start": start, "end": end, "globalTid": thread, "correlationId": correlation, "nameId": self.name(name)}
        self._tables[RUNTIME].append(row)

    def kernel(self, process: int, name: str, start: int, end: int, correlation: int, device: int = 0) -> None:
        """Add a kernel on stream 7 that the process of this globalPid launched."""
        row = {"start": start, "end": end, "deviceId": device, "contextId": 1, "streamId": 7, "globalPid": process}
        text = self.name(name)
        self._tables[KERNEL].append(row | {"correlationId": correlation, "shortName": text, "demangledName": text})

    def range(self, thread: int, text: str, start: int, end: int, domain: int = 0) -> None:
        """Add a push/pop range of NVTX."""
        row = {"start": start, "end": end, "eventType": 59, "text": text, "globalTid": thread, "domainId": domain}
        self._tables["NVTX_EVENTS"].append(row)

    def process(self, process: int, pid: int, name: str = "python") -> None:
        """Add a process."""
        self._tables["PROCESSES"].append({"globalPid": process, "pid": pid, "name": name})

    def save(self, folder: Path) -> Path:
        """Write the export into the folder; return the file."""
        tables = {name: rows for name, rows in self._tables.items() if rows}
        return write(folder / "trace.sqlite", {number: text for text, number in self._numbers.items()}, **tables)
