"""Peak memory of ingest over the size of the trace: it must not grow with it. The big files are removed in the end."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import grow_chrome
import grow_nsys
from benchmark_files import CHROME, NSYS, grown, options, stem
from measure import ingest, megabytes, tell


def _measure(trace: Path, database: Path, limit: str | None) -> None:
    """Ingest a trace, print a line of the table, and remove both files."""
    size = trace.stat().st_size
    try:
        spent = ingest(trace, database, *(("--memory-limit", limit) if limit else ()))
        stored = database.stat().st_size
    finally:
        trace.unlink()
        database.unlink(missing_ok=True)
    columns = (megabytes(size), megabytes(spent.peak), f"{spent.wall:.1f} s", megabytes(stored))
    tell(f"{trace.suffix[1:]:<8}" + "".join(f"{column:>15}" for column in columns))


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__, CHROME)
    parser.add_argument(
        "--gb", type=float, nargs="*", default=[0.5, 1, 2, 5], help="sizes of Chrome traces, in 10^9 bytes"
    )
    parser.add_argument("--nsys-source", type=Path, default=NSYS, help="export to grow for --nsys-rows")
    parser.add_argument("--nsys-rows", type=int, nargs="*", default=[], help="sizes of nsys exports, in rows of events")
    parser.add_argument("--memory-limit", metavar="SIZE", help="of the ingests: 2GiB")
    arguments = parser.parse_args()
    limit: str | None = arguments.memory_limit
    work, source, nsys = arguments.work, arguments.source, arguments.nsys_source
    database = work / "memory.duckdb"
    tell(f"{'format':<8}{'trace':>15}{'peak memory':>15}{'wall':>15}{'database':>15}")
    for size in arguments.gb:
        make = partial(grow_chrome.grow, source, int(size * 1e9))
        _measure(grown(source, work, f"memory-{stem(source)}-{size:g}GB.json", make), database, limit)
    for rows in arguments.nsys_rows:
        make = partial(grow_nsys.grow, nsys, rows)
        _measure(grown(nsys, work, f"memory-{stem(nsys)}-{rows}rows.sqlite", make), database, limit)


if __name__ == "__main__":
    main()
