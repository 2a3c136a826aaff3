"""traceq beside other tools on the same files, in turns, in one run and one table: CPU time, wall time and peak memory.

What traceq does is a first report with all that it needs, from the start of Python: ingest, analyses and rules, with an
empty cache. The last two columns say how often that is `json.load` of the same file, or `nsys stats` and `nsys analyze`.
Others live in environments of their own; those that are not named are left out:

    python -m venv DIR && DIR/bin/pip install HolisticTraceAnalysis==0.5.0 polars   # --peers-python DIR/bin/python
    apt-get download nsight-systems-target && dpkg-deb -x nsight-systems-target_*.deb DIR   # --nsys DIR/.../nsys

With --growth: what each further event costs traceq, of nsys exports and of Kineto traces with as many slices.
"""

from __future__ import annotations

import mmap
import re
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import grow_chrome
import grow_nsys
from benchmark_files import CHROME, NSYS, add_checkouts, checkout, grown, is_sqlite, options, stem
from measure import ROOT, Cost, alternate, cost, first_report, megabytes, tell, warm

_LOAD = "import json, sys; json.load(open(sys.argv[1]))"
_POLARS = "import polars, sys; polars.read_json(sys.argv[1])"
_HTA = """
import sys
from hta.common.trace import Trace
path, folder = sys.argv[1:]
Trace(trace_files={0: path}, trace_dir=folder).parse_traces(use_multiprocessing=False)
"""
_SLICE = re.compile(rb'"ph"\s*:\s*"X"')
_MEGABYTES = (210, 500)
_ROWS = (1_500_000, 6_100_000)
_GROWTH = (100_000, 400_000, 1_500_000, 6_100_000)


@dataclass(frozen=True)
class Best:
    """The least wall and CPU time and the highest peak of some runs."""

    wall: float
    cpu: float
    peak: int

    def __str__(self) -> str:
        return f"{self.cpu:>9.2f} s{self.wall:>9.2f} s{megabytes(self.peak):>14}"


_HEADING = f"{'CPU':>11}{'wall':>11}{'peak':>14}"
_Command = tuple[str, Callable[[], Cost]]


def _best(times: int, actions: Sequence[Callable[[], Cost]]) -> list[Best]:
    """Run the actions in turns; the best of each."""
    found = alternate(times, *actions)
    return [
        Best(min(each.wall for each in costs), min(each.cpu for each in costs), max(each.peak for each in costs))
        for costs in found
    ]


def _compare(traces: Sequence[Path], arguments: Namespace) -> None:
    """Print a table of what all commands cost on these traces; the first of a trace is the base if it is another tool."""
    commands = {trace: list(_commands(trace, arguments)) for trace in traces}
    every = [command for of_trace in commands.values() for command in of_trace]
    found = iter(_best(arguments.times, [action for _, action in every]))
    width = max(len(name) for name, _ in every) + 2
    for trace, of_trace in commands.items():
        bests = [next(found) for _ in of_trace]
        base = bests[0] if not of_trace[0][0].startswith("traceq") else None
        tell(f"{trace.name}, {megabytes(trace.stat().st_size)}")
        tell(f"{'':<{width}}{_HEADING}" + (f"{'x CPU':>9}{'x wall':>9}" if base else ""))
        for (name, _), best in zip(of_trace, bests, strict=True):
            ratios = f"{best.cpu / base.cpu:>9.2f}{best.wall / base.wall:>9.2f}" if base else ""
            tell(f"{name:<{width}}{best}{ratios}")
        tell()


def _commands(trace: Path, arguments: Namespace) -> Iterator[_Command]:
    """The commands that read a trace, by name."""
    peers, nsys, sqlite = arguments.peers_python, arguments.nsys, is_sqlite(trace)
    if sqlite and nsys:
        yield "nsys stats and nsys analyze", partial(_stats_and_analyze, nsys, trace)
    elif not sqlite:
        yield "json.load", partial(cost, [sys.executable, "-c", _LOAD, trace])
    for folder in arguments.checkout:
        yield f"traceq report{_of(folder, arguments)}", partial(first_report, folder, trace)
        yield f"traceq report -o x.html{_of(folder, arguments)}", partial(first_report, folder, trace, page=True)
    if peers and not sqlite:
        yield "polars.read_json (no times, no nesting)", partial(cost, [peers, "-c", _POLARS, trace])
        yield "HTA 0.5.0, load only", partial(cost, [peers, "-c", _HTA, trace, trace.parent])


def _of(folder: Path, arguments: Namespace) -> str:
    """Which checkout, where several are compared."""
    return f" of {folder}" if len(arguments.checkout) > 1 else ""


def _stats_and_analyze(nsys: Path, trace: Path) -> Cost:
    both = [cost([nsys, verb, "--force-export=false", trace]) for verb in ("stats", "analyze")]
    return Cost(sum(each.wall for each in both), sum(each.cpu for each in both), max(each.peak for each in both), "")


def _grow(traces: Sequence[Path], arguments: Namespace) -> None:
    """Print what a first report costs as a trace grows, and each further event: nsys and Kineto each for itself."""
    sized = [(is_sqlite(trace), _count(trace), trace) for trace in traces]
    runs = sorted((sqlite, folder, count, trace) for folder in arguments.checkout for sqlite, count, trace in sized)
    found = _best(arguments.times, [partial(first_report, folder, trace) for _, folder, _, trace in runs])
    before: tuple[bool, Path] | None = None
    fewer, less = 0, 0.0
    for (sqlite, folder, count, _), best in zip(runs, found, strict=True):
        if before == (sqlite, folder):
            tell(f"{count:>12,}{best}{(best.cpu - less) / (count - fewer) * 1e6:>12.2f} us")
        else:
            tell(f"{'nsys' if sqlite else 'Kineto'}{_of(folder, arguments)}")
            tell(f"{'events':>12}{_HEADING}{'further event':>15}")
            tell(f"{count:>12,}{best}")
        before, fewer, less = (sqlite, folder), count, best.cpu


def _count(trace: Path) -> int:
    """The rows of events of an nsys export, or the slices of a Chrome trace."""
    if is_sqlite(trace):
        with closing(sqlite3.connect(f"file:{trace}?mode=ro", uri=True)) as connection:
            return grow_nsys.count_rows(connection, grow_nsys.find_tables(connection))
    with trace.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return sum(1 for _ in _SLICE.finditer(text))


def _kineto(source: Path, slices: int, output: Path) -> None:
    """Repeat a Kineto trace until it has that many slices."""
    text = grow_chrome.split(source)
    single = sum(1 for _ in _SLICE.finditer(text.events))
    copies = -(-slices // single)
    grow_chrome.grow(source, len(text.head) + len(text.events) * copies, output)


def _traces(arguments: Namespace) -> Iterator[Path]:
    """The traces to measure: those named, or grown ones."""
    if arguments.traces:
        yield from (trace.resolve() for trace in arguments.traces)
        return
    work, source, nsys_source = arguments.work, arguments.source, arguments.nsys_source
    rows = arguments.rows if arguments.rows is not None else _GROWTH if arguments.growth else _ROWS
    if arguments.growth:
        for count in rows:
            yield grown(source, work, f"{stem(source)}-{count}slices.json", partial(_kineto, source, count))
    else:
        for size in arguments.mb:
            make = partial(grow_chrome.grow, source, int(size * 1e6))
            yield grown(source, work, f"{stem(source)}-{size:g}MB.json", make)
    for count in rows:
        make = partial(grow_nsys.grow, nsys_source, count)
        yield grown(nsys_source, work, f"{stem(nsys_source)}-{count}rows.sqlite", make)


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__, CHROME, times=3)
    parser.add_argument(
        "traces", type=Path, nargs="*", help="traces as they are, not compressed, instead of grown ones"
    )
    parser.add_argument("--mb", type=float, nargs="*", default=_MEGABYTES, help="sizes of Chrome traces, in 10^6 bytes")
    parser.add_argument("--nsys-source", type=Path, default=NSYS, help="export to grow")
    parser.add_argument("--rows", type=int, nargs="*", help=f"sizes of nsys exports; {_ROWS}, {_GROWTH} with --growth")
    parser.add_argument("--peers-python", type=Path, help="the Python of an environment with HTA 0.5.0 and polars")
    parser.add_argument("--nsys", type=Path, help="the nsys of an unpacked nsight-systems-target")
    parser.add_argument("--growth", action="store_true", help="measure how CPU grows instead")
    add_checkouts(parser)
    arguments = parser.parse_args()
    arguments.checkout = arguments.checkout or [checkout(ROOT)]
    traces = list(_traces(arguments))
    for trace in traces:
        warm(trace)
    (_grow if arguments.growth else _compare)(traces, arguments)


if __name__ == "__main__":
    main()
