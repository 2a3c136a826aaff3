"""Ingest of a big Chrome trace: against HTA's load of the same file in the same run, and the size of the database.

HTA lives in an environment of its own (python -m venv DIR && DIR/bin/pip install HolisticTraceAnalysis==0.5.0); without
--hta-python only traceq is measured.
"""

from __future__ import annotations

import re
import statistics
from functools import partial
from pathlib import Path

from benchmark_files import CHROME, grown, options, stem
from grow_chrome import compressed_size, grow
from measure import Cost, alternate, cost, describe, ingest, megabytes, tell, warm

# HTA's own time, without the import of its libraries.
_HTA = """
import sys, time
from hta.common.trace import Trace
path, folder = sys.argv[1:]
begin = time.perf_counter()
Trace(trace_files={0: path}, trace_dir=folder).parse_traces(use_multiprocessing=False)
print(f"\\nhta_seconds={time.perf_counter() - begin}")
"""
_HTA_SECONDS = re.compile(r"^hta_seconds=([0-9.]+)$", re.MULTILINE)


def _hta(python: Path, trace: Path) -> Cost:
    """What HTA's load costs; `wall` is without start and imports."""
    whole = cost([python, "-c", _HTA, trace, trace.parent])
    found = _HTA_SECONDS.search(whole.output)
    if not found:
        raise SystemExit(f"HTA did not say how long it took:\n{whole.output}")
    return Cost(float(found[1]), whole.cpu, whole.peak, whole.output)


def _tell_speed(trace: Path, ours: list[Cost], theirs: list[Cost]) -> None:
    size = trace.stat().st_size / 1e6
    for name, costs in (("traceq", ours), ("HTA", theirs)):
        if costs:
            walls = [each.wall for each in costs]
            tell(describe(name, costs))
            tell(f"{'':<12} best {size / min(walls):.1f} MB/s, median {size / statistics.median(walls):.1f} MB/s")
    if theirs:
        best = min(each.wall for each in theirs) / min(each.wall for each in ours)
        median = statistics.median(each.wall for each in theirs) / statistics.median(each.wall for each in ours)
        tell(f"traceq is {best:.2f} times as fast as HTA (best of each), {median:.2f} times (median of each)")


def _tell_sizes(trace: Path, database: Path, level: int) -> None:
    stored, plain = database.stat().st_size, trace.stat().st_size
    packed = compressed_size(trace, level)
    tell(f"database {megabytes(stored)}: {stored / plain:.3f} of .json ({megabytes(plain)})")
    tell(f"{'':<12} {stored / packed:.3f} of .json.gz ({megabytes(packed)} at level {level})")


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__, CHROME, times=3)
    parser.add_argument("--mb", type=float, default=500, help="size of the grown trace, in MB of 10^6 bytes")
    parser.add_argument("--hta-python", type=Path, help="the Python of an environment with HTA 0.5.0")
    parser.add_argument("--gzip-level", type=int, default=9, help="9 is what PyTorch writes .json.gz with")
    arguments = parser.parse_args()
    name = f"{stem(arguments.source)}-{arguments.mb:g}MB.json"
    trace = grown(arguments.source, arguments.work, name, partial(grow, arguments.source, int(arguments.mb * 1e6)))
    database = arguments.work / "chrome_ingest.duckdb"
    warm(trace)
    actions = [lambda: ingest(trace, database)]
    if arguments.hta_python:
        actions.append(lambda: _hta(arguments.hta_python, trace))
    ours, *theirs = alternate(arguments.times, *actions)
    _tell_speed(trace, ours, theirs[0] if theirs else [])
    _tell_sizes(trace, database, arguments.gzip_level)
    database.unlink()


if __name__ == "__main__":
    main()
