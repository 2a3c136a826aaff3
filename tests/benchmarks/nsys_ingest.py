"""Ingest of a big nsys export: against Python's sqlite3 reading the same columns in the same run, and the database's size."""

from __future__ import annotations

import json
import sqlite3
import statistics
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from benchmark_files import NSYS, grown, options, stem
from grow_nsys import grow
from measure import ROOT, Cost, alternate, cost, describe, ingest, megabytes, tell, warm

_ROWS_PER_FETCH = 65_536
# Not events: what the numbers in the other tables mean.
_DESCRIPTIONS = ("StringIds",)
_READ = "--read-with-sqlite3"


def queries(trace: Path) -> dict[str, str]:
    """What the importer reads, found by watching it: a query for each table of events."""
    sys.path.insert(0, str(ROOT))
    from traceq.importers.nsys import reader
    from traceq.importers.nsys.source import NsysExport

    found: dict[str, str] = {}

    class Watched(NsysExport):
        """The importer's view of the file, which keeps what is asked for."""

        def read(
            self, table: str, integers: Any, texts: Any = (), computed: Any = None, order: str = "rowid"
        ) -> Iterator[Any]:
            """Keep the columns and read them."""
            names = [f'"{name}"' for name in (*integers, *texts) if name in self.columns_of(table)]
            picked = [*names, *(computed or {}).values()]
            if names and table not in _DESCRIPTIONS:
                found[table] = f'select {", ".join(picked)} from "{table}" order by {order}'
            return super().read(table, integers, texts, computed, order)

    with mock.patch.object(reader, "Source", Watched):
        deque(reader.read(trace), maxlen=0)
    return found


def read_with_sqlite3(trace: str, statements: str) -> None:
    """Read the answers to the queries into Python, in a process of its own."""
    with closing(sqlite3.connect(f"{Path(trace).as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        for query in json.loads(Path(statements).read_text()):
            cursor = connection.execute(query)
            while cursor.fetchmany(_ROWS_PER_FETCH):
                pass


def _sqlite3(trace: Path, statements: Path) -> Cost:
    return cost([sys.executable, __file__, _READ, trace, statements])


def _count(trace: Path, tables: list[str]) -> int:
    with closing(sqlite3.connect(trace)) as connection:
        return sum(connection.execute(f'select count(*) from "{table}"').fetchone()[0] for table in tables)


def _tell(trace: Path, database: Path, rows: int, ours: list[Cost], theirs: list[Cost]) -> None:
    tell(f"{rows:,} rows of events imported")
    for name, costs in (("traceq", ours), ("sqlite3", theirs)):
        walls = [each.wall for each in costs]
        tell(describe(name, costs))
        tell(f"{'':<12} best {rows / min(walls):,.0f} rows/s, median {rows / statistics.median(walls):,.0f} rows/s")
    best = min(each.wall for each in theirs) / min(each.wall for each in ours)
    median = statistics.median(each.wall for each in theirs) / statistics.median(each.wall for each in ours)
    tell(
        f"traceq is {best:.2f} times as fast as sqlite3 only reading (best of each), {median:.2f} times (median of each)"
    )
    stored, plain = database.stat().st_size, trace.stat().st_size
    tell(f"database {megabytes(stored)}: {stored / plain:.3f} of .sqlite ({megabytes(plain)})")


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__, NSYS, times=3)
    parser.add_argument("--rows", type=int, default=3_000_000, help="rows of events of the grown export")
    arguments = parser.parse_args()
    name = f"{stem(arguments.source)}-{arguments.rows}rows.sqlite"
    trace = grown(arguments.source, arguments.work, name, partial(grow, arguments.source, arguments.rows))
    wanted = queries(arguments.source)
    database = arguments.work / "nsys_ingest.duckdb"
    warm(trace)
    with tempfile.TemporaryDirectory() as folder:
        statements = Path(folder) / "queries.json"
        statements.write_text(json.dumps(list(wanted.values())))
        ours, theirs = alternate(
            arguments.times, lambda: ingest(trace, database), lambda: _sqlite3(trace.resolve(), statements)
        )
    _tell(trace, database, _count(trace, list(wanted)), ours, theirs)
    database.unlink()


if __name__ == "__main__":
    if sys.argv[1:2] == [_READ]:
        read_with_sqlite3(*sys.argv[2:])
    else:
        main()
