"""From trace to ledger on made-up traces of extreme shapes: none may cost much more an event than the plain one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmark_files import options
from ledger_time import TITLES, measure, tell_ledger
from measure import tell, warm

Event = dict[str, Any]
_HOST = 1000
# Microseconds from one launch to the next, and of a kernel.
PERIOD = 20
_KERNEL = 12


def make_slice(category: str, name: str, tid: int, ts: float, dur: float, pid: int = _HOST, **args: Any) -> Event:
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def _call(number: int, tid: int = 1) -> Event:
    return make_slice("cuda_runtime", "cudaLaunchKernel", tid, number * PERIOD + 3, 4, correlation=number + 1)


def _kernel(number: int, device: int = 0, stream: int = 7) -> Event:
    place = {"device": device, "stream": stream, "correlation": number + 1}
    return make_slice("kernel", f"kernel_{number % 50}", stream, number * PERIOD + 8, _KERNEL, device, **place)


def _operator(number: int, tid: int = 1) -> Event:
    return make_slice("cpu_op", f"aten::op_{number % 30}", tid, number * PERIOD, 12)


def launched(
    count: int, place: Callable[[int], dict[str, int]] = lambda _: {}, thread: Callable[[int], int] = lambda _: 1
) -> Iterator[Event]:
    """Operators that launch a kernel each, somewhere on the GPUs and from a thread."""
    for number in range(count):
        tid = thread(number)
        yield from (_operator(number, tid), _call(number, tid), _kernel(number, **place(number)))


def _plain(count: int) -> Iterator[Event]:
    yield from launched(count // 3)


def _deep(count: int) -> Iterator[Event]:
    """Towers of a thousand slices, each inside the one before, around some launches."""
    launches = max(count // 1020, 1) * 20
    yield from launched(launches)
    for tower in range(launches // 20):
        begin, length = tower * 20 * PERIOD, 20 * PERIOD
        for depth in range(1000):
            yield make_slice("python_function", f"frame_{depth}", 1, begin - 1 + depth / 1000, length - 0.002 * depth)


def _many_ranges(count: int) -> Iterator[Event]:
    """Annotations on one thread, two inside each other, a hundred times as many as kernels."""
    yield from launched(count // 100)
    period = PERIOD / 100
    for number in range(count // 2):
        yield make_slice("user_annotation", f"layer_{number % 97}", 1, number * period * 2, period * 1.5)
        yield make_slice("user_annotation", "inner", 1, number * period * 2 + 0.05, period)


def _streams(count: int) -> Iterator[Event]:
    yield from launched(count // 3, lambda number: {"stream": 7 + number % 100})


def _devices(count: int) -> Iterator[Event]:
    yield from launched(count // 3, lambda number: {"device": number % 8})


def _one_annotation(count: int) -> Iterator[Event]:
    yield make_slice("user_annotation", "training", 1, -1, count * PERIOD)
    yield from launched(count // 3)


def _steps(count: int) -> Iterator[Event]:
    """A step a kernel."""
    for number in range(count // 4):
        yield make_slice("user_annotation", f"ProfilerStep#{number}", 1, number * PERIOD - 1, PERIOD - 1)
    yield from launched(count // 4)


def _gpu_only(count: int) -> Iterator[Event]:
    for number in range(count):
        yield _kernel(number)


def _waits(count: int) -> Iterator[Event]:
    """An event recorded on one stream and waited for by the other before every kernel."""
    for number in range(count // 6):
        yield from (_operator(number), _call(number), _kernel(number, stream=7 + number % 2))
        record, wait, start = 10**8 + number, 2 * 10**8 + number, number * PERIOD
        yield make_slice("cuda_runtime", "cudaEventRecord", 1, start + 1, 0.5, correlation=record)
        yield make_slice("cuda_runtime", "cudaStreamWaitEvent", 1, start + 2, 0.5, correlation=wait)
        args = {
            "device": 0,
            "stream": 7 + number % 2,
            "correlation": wait,
            "wait_on_stream": 7 + (number + 1) % 2,
            "wait_on_cuda_event_record_corr_id": record,
        }
        yield make_slice("cuda_sync", "Stream Wait Event", 7, start + 2, 0.5, 0, **args)


def _one_gap(count: int) -> Iterator[Event]:
    """All that the host does lies in the only gap."""
    yield from (_operator(0), _call(0), _kernel(0))
    for number in range(2, count):
        yield _operator(number)
    yield from (_operator(count), _call(count), _kernel(count))


SHAPES: dict[str, Callable[[int], Iterable[Event]]] = {
    "plain": _plain,
    "nested a thousand deep": _deep,
    "annotations on one thread": _many_ranges,
    "100 streams": _streams,
    "8 devices": _devices,
    "one annotation around all": _one_annotation,
    "a step a kernel": _steps,
    "no launches": _gpu_only,
    "a wait before every kernel": _waits,
    "one gap": _one_gap,
}


def write_events(events: Iterable[Event], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        between = ""
        for event in events:
            file.write(between + json.dumps(event))
            between = ",\n"
        file.write("\n]}\n")


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__)
    parser.add_argument("--events", type=int, default=600_000, metavar="N", help="events of each trace, about")
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=[*SHAPES], metavar="SHAPE", help="which ones")
    parser.add_argument("--parts", action="store_true", help="say what each part took")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    trace, database = arguments.work / "ledger_shapes.json", arguments.work / "ledger_shapes.duckdb"
    tell(f"{'':<28}" + "".join(f"{title:>14}" for title in TITLES))
    for name in arguments.shapes:
        write_events(SHAPES[name](arguments.events), trace)
        warm(trace)
        tell_ledger(f"{name:<28}", measure(trace, database), each_part=arguments.parts)
    trace.unlink()
    database.unlink()


if __name__ == "__main__":
    main()
