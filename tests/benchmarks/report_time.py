"""The report on an ingested trace with very many GPU slices: wall time and peak memory."""

from __future__ import annotations

import math
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import grow_chrome
import grow_nsys
from benchmark_files import TRACES, grown, is_sqlite, options, stem
from measure import ROOT, alternate, describe, ingest, megabytes, tell, traceq

# Many GPU slices for its size, with operators and steps.
SOURCE = TRACES / "torch" / "hta_sampled_rank0.json.gz"


def gpu_slices(database: Path) -> int:
    """Number of GPU slices in a trace database."""
    sys.path.insert(0, str(ROOT))
    import traceq as library

    with closing(library.open(database)) as traces:
        found = traces.sql("select count(*) from gpu_slice").fetchall()
    return int(found[0][0])


def _grow(source: Path, copies: int, output: Path) -> None:
    """Repeat a trace of either format a number of times."""
    if is_sqlite(source):
        rows = grow_nsys.grow(source, 1, output)
        grow_nsys.grow(source, rows * copies, output)
    else:
        size = len(grow_chrome.split(source).events)
        grow_chrome.grow(source, size * copies, output)


def _database(source: Path, wanted: int, work: Path) -> Path:
    """A database of about `wanted` GPU slices; the trace it was made from is removed."""
    path = work / f"report-{stem(source)}-{wanted}.duckdb"
    work.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return path
    ingest(source, path)
    single = gpu_slices(path)
    path.unlink()
    if not single:
        raise SystemExit(f"{source}: has no GPU slices; take another trace")
    copies = math.ceil(wanted / single)
    trace = grown(source, work, f"report-{stem(source)}-{copies}copies", partial(_grow, source, copies))
    try:
        ingest(trace, path)
    finally:
        trace.unlink()
    return path


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__, SOURCE, times=3)
    parser.add_argument("--gpu-slices", type=int, default=1_000_000, help="GPU slices to report on")
    parser.add_argument("--format", default="text", help="format of the report")
    parser.add_argument("--keep", action="store_true", help="keep the database for the next run")
    arguments = parser.parse_args()
    database = _database(arguments.source, arguments.gpu_slices, arguments.work)
    output = arguments.work / "report_time.txt"
    (costs,) = alternate(
        arguments.times, lambda: traceq("report", database, "--format", arguments.format, "-o", output)
    )
    tell(f"{gpu_slices(database):,} GPU slices, database {megabytes(database.stat().st_size)}")
    tell(describe("report", costs))
    output.unlink()
    if not arguments.keep:
        database.unlink()


if __name__ == "__main__":
    main()
