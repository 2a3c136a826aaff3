"""A first report on made-up traces with very many of something, N and 4 N: what it costs, and how often that of N.

The last column leaves out what a trace with a single launch costs: about 4 where cost is proportional to the size, 16
where it grows with the square.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from benchmark_files import add_checkouts, checkout, options
from ledger_shapes import PERIOD, SHAPES, Event, launched, make_slice, write_events
from measure import ROOT, alternate, first_report, megabytes, tell

_LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_OS_CALLS = ("poll", "read", "ioctl", "pthread_cond_wait", "futex", "sched_yield")
_OS_THREADS = 8
_THREAD = 1 << 48 | 111 << 24 | 222
_NSYS = """
create table StringIds (id integer primary key, value text not null);
create table TARGET_INFO_GPU (id integer, name text);
create table OSRT_API (start integer, end integer, globalTid integer, nameId integer, eventClass integer, returnValue integer);
create table CUPTI_ACTIVITY_KIND_RUNTIME (start integer, end integer, globalTid integer, correlationId integer, nameId integer);
create table CUPTI_ACTIVITY_KIND_KERNEL (
    start integer, end integer, deviceId integer, contextId integer, streamId integer, globalPid integer,
    correlationId integer, demangledName integer, shortName integer
);
"""


def _same_times(count: int) -> Iterator[Event]:
    """Operators, calls and kernels at the same time and of the same length, each of its kind."""
    times = {"cpu_op": (0, 12), "cuda_runtime": (3, 4), "kernel": (8, 12)}
    for event in launched(count):
        ts, dur = times[event["cat"]]
        yield event | {"ts": ts, "dur": dur}


def _around_all(count: int) -> Iterator[Event]:
    """Annotations that all begin and end together, around all launches."""
    yield from (make_slice("user_annotation", "same", 1, 0, count * PERIOD) for _ in range(count))
    yield from launched(count)


def _with(category: str, name: str, begin: float, length: float) -> Callable[[int], Iterator[Event]]:
    """Launches with one more slice of the host in each period."""

    def events(count: int) -> Iterator[Event]:
        for number in range(count):
            yield make_slice(category, name, 1, number * PERIOD + begin, length)
        yield from launched(count)

    return events


_CHROME: dict[str, Callable[[int], Iterable[Event]]] = {
    "plain": launched,
    "streams": lambda count: launched(count, lambda number: {"stream": 7 + number}),
    "same ts and dur": _same_times,
    "around all": _around_all,
    "steps (1.5 N)": lambda count: SHAPES["a step a kernel"](6 * count),
    "64 GPUs": lambda count: launched(count, lambda number: {"device": number % 64}),
    "300 GPUs": lambda count: launched(count, lambda number: {"device": number % 300}),
    "waits of streams": lambda count: SHAPES["a wait before every kernel"](6 * count),
    "waits of the host": _with("cuda_runtime", "cudaStreamSynchronize", 14, 5),
    "loader": _with("user_annotation", _LOADER, -5, 4),
    "annotations": _with("user_annotation", "layer", -1, 16),
    "2,000 threads": lambda count: launched(count, thread=lambda number: number % 2000),
}
_NSYS_SHAPE = "OS calls of nsys (8 N)"


def _write_nsys(count: int, path: Path) -> None:
    """Launches, each with calls of the operating system on some threads, among them the launching one."""
    names = dict(enumerate(("kernel", "cudaLaunchKernel", *_OS_CALLS)))
    period = PERIOD * 1000
    calls = (
        (begin, begin + 800, _THREAD + at % _OS_THREADS, 2 + at % len(_OS_CALLS), 27, 0)
        for at in range(count * 8)
        for begin in [at // 8 * period + 7000 + at % 8 * 1500]
    )
    launches = ((n * period + 3000, n * period + 7000, _THREAD, n + 1, 1) for n in range(count))
    kernels = ((n * period + 8000, n * period + 20000, 0, 1, 7, _THREAD >> 24 << 24, n + 1, 0, 0) for n in range(count))
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_NSYS)
        connection.execute("insert into TARGET_INFO_GPU values (0, 'made up')")
        connection.executemany("insert into StringIds values (?, ?)", names.items())
        connection.executemany("insert into OSRT_API values (?, ?, ?, ?, ?, ?)", calls)
        connection.executemany("insert into CUPTI_ACTIVITY_KIND_RUNTIME values (?, ?, ?, ?, ?)", launches)
        connection.executemany("insert into CUPTI_ACTIVITY_KIND_KERNEL values (?, ?, ?, ?, ?, ?, ?, ?, ?)", kernels)
        connection.commit()


def _trace(shape: str, count: int, work: Path) -> Path:
    """A trace of a shape, written now."""
    path = work / f"many-{count}.{'sqlite' if shape == _NSYS_SHAPE else 'json'}"
    if shape == _NSYS_SHAPE:
        _write_nsys(count, path)
    else:
        write_events(_CHROME[shape](count), path)
    return path


def _least(folder: Path, traces: Iterable[Path], times: int) -> tuple[list[float], int]:
    """The least CPU seconds of a first report on each trace, and the highest peak."""
    found = alternate(times, *(lambda trace=trace: first_report(folder, trace) for trace in traces))
    return [min(each.cpu for each in costs) for costs in found], max(each.peak for costs in found for each in costs)


def main() -> None:
    """Run from the command line."""
    shapes = [*_CHROME, _NSYS_SHAPE]
    parser = options(__doc__, times=1)
    parser.add_argument("--number", type=int, default=5000, metavar="N", help="launches of the smaller trace")
    parser.add_argument("--shapes", nargs="*", choices=shapes, default=shapes, metavar="SHAPE", help="which ones")
    add_checkouts(parser)
    arguments = parser.parse_args()
    work, number, times = arguments.work, arguments.number, arguments.times
    work.mkdir(parents=True, exist_ok=True)
    for folder in arguments.checkout or [checkout(ROOT)]:
        tell(f"{folder}\n{'':<24}{'MB':>7}{'CPU of N':>12}{'CPU of 4 N':>12}{'peak':>13}{'ratio':>8}{'beyond one':>12}")
        for shape in arguments.shapes:
            traces = [_trace(shape, count, work) for count in (1, number, 4 * number)]
            (one, few, many), peak = _least(folder, traces, times)
            size, beyond = traces[1].stat().st_size / 1e6, (many - one) / (few - one)
            columns = f"{size:>7.1f}{few:>10.2f} s{many:>10.2f} s{megabytes(peak):>13}{many / few:>8.2f}{beyond:>12.2f}"
            tell(f"{shape:<24}{columns}")
            for trace in traces:
                trace.unlink()


if __name__ == "__main__":
    main()
