"""traceq beside other tools on the same files, in turns, in one run: what each does, best wall time, CPU time and peak memory.

Others live in environments of their own; those that are not named are left out:

    python -m venv DIR && DIR/bin/pip install HolisticTraceAnalysis==0.5.0 polars   # --peers-python DIR/bin/python
    apt-get download nsight-systems-target && dpkg-deb -x nsight-systems-target_*.deb DIR   # --nsys DIR/.../nsys
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import grow_chrome
import grow_nsys
from benchmark_files import CHROME, NSYS, grown, options, stem
from measure import Cost, alternate, cost, ingest, megabytes, tell, traceq, warm

_LOAD = "import json, sys; json.load(open(sys.argv[1]))"
_POLARS = "import polars, sys; polars.read_json(sys.argv[1])"
_HTA = """
import sys
from hta.common.trace import Trace
path, folder = sys.argv[1:]
Trace(trace_files={0: path}, trace_dir=folder).parse_traces(use_multiprocessing=False)
"""

_Rows = Sequence[tuple[str, Callable[[], Cost]]]


def _tell(rows: _Rows, times: int) -> None:
    """Run the commands in turns and print a line for each; the first is what the others are compared with."""
    found = alternate(times, *(action for _, action in rows))
    base = min(each.wall for each in found[0])
    tell(f"{'':<44}{'wall':>9}{'CPU':>9}{'peak':>13}{'first / this':>14}")
    for (name, _), costs in zip(rows, found, strict=True):
        wall, cpu = min(each.wall for each in costs), min(each.cpu for each in costs)
        peak = megabytes(max(each.peak for each in costs))
        tell(f"{name:<44}{wall:>7.2f} s{cpu:>7.2f} s{peak:>13}{base / wall:>14.2f}")
    tell()


def _page(trace: Path, database: Path) -> Cost:
    """What it costs to ingest a trace with rules and to write its page, as one."""
    first = ingest(trace, database)
    second = traceq("report", database, "-o", database.with_suffix(".html"))
    return Cost(first.wall + second.wall, first.cpu + second.cpu, max(first.peak, second.peak), "")


def _chrome(trace: Path, database: Path, peers: Path | None) -> _Rows:
    rows = [
        ("json.load", lambda: cost([sys.executable, "-c", _LOAD, trace])),
        ("traceq ingest, rules included", lambda: ingest(trace, database)),
        ("traceq ingest and HTML report", lambda: _page(trace, database)),
    ]
    if peers:
        rows += [
            ("polars.read_json (no times, no nesting)", lambda: cost([peers, "-c", _POLARS, trace])),
            ("HTA 0.5.0, load only", lambda: cost([peers, "-c", _HTA, trace, trace.parent])),
        ]
    return rows


def _nsys(trace: Path, database: Path, nsys: Path | None) -> _Rows:
    rows = [
        ("traceq ingest, rules included", lambda: ingest(trace, database)),
        ("traceq ingest and HTML report", lambda: _page(trace, database)),
    ]
    if nsys:
        rows.insert(0, ("nsys stats and nsys analyze, as they come", lambda: _stats_and_analyze(nsys, trace)))
    return rows


def _stats_and_analyze(nsys: Path, trace: Path) -> Cost:
    both = [cost([nsys, verb, "--force-export=false", trace]) for verb in ("stats", "analyze")]
    return Cost(sum(each.wall for each in both), sum(each.cpu for each in both), max(each.peak for each in both), "")


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__, CHROME, times=5)
    parser.add_argument("--mb", type=float, nargs="*", default=[210], help="sizes of Chrome traces, in 10^6 bytes")
    parser.add_argument("--nsys-source", type=Path, default=NSYS, help="export to grow")
    parser.add_argument("--rows", type=int, nargs="*", default=[300_000, 1_500_000], help="sizes of nsys exports")
    parser.add_argument("--peers-python", type=Path, help="the Python of an environment with HTA 0.5.0 and polars")
    parser.add_argument("--nsys", type=Path, help="the nsys of an unpacked nsight-systems-target")
    arguments = parser.parse_args()
    work, source, nsys_source = arguments.work, arguments.source, arguments.nsys_source
    database = work / "side_by_side.duckdb"
    for size in arguments.mb:
        make = partial(grow_chrome.grow, source, int(size * 1e6))
        trace = grown(source, work, f"{stem(source)}-{size:g}MB.json", make)
        warm(trace)
        tell(f"{trace.name}, {megabytes(trace.stat().st_size)}")
        _tell(_chrome(trace, database, arguments.peers_python), arguments.times)
    for rows in arguments.rows:
        make = partial(grow_nsys.grow, nsys_source, rows)
        trace = grown(nsys_source, work, f"{stem(nsys_source)}-{rows}rows.sqlite", make)
        warm(trace)
        tell(f"{trace.name}, {megabytes(trace.stat().st_size)}")
        # nsys may write beside what it reads.
        copy = Path(shutil.copyfile(trace, work / "for_nsys.sqlite"))
        _tell(_nsys(copy, database, arguments.nsys), arguments.times)
        copy.unlink()
    for left in work.glob("side_by_side.*"):
        left.unlink()


if __name__ == "__main__":
    main()
