"""Export: a trace with what was found in it for Perfetto, call paths for other viewers, or tables as files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

import duckdb
from duckdb import ColumnExpression, ConstantExpression

from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.source import Source, open_source
from traceq.app.trace_selection import select_traces
from traceq.common import signals
from traceq.common.files import atomic_write, name_part, write_packed
from traceq.common.units import some
from traceq.database import catalogue
from traceq.database.catalogue import CatalogueTable
from traceq.database.user_sql import lock, run_interruptibly
from traceq.diagnosis import user_rules
from traceq.diagnosis.cache import load_judgements
from traceq.diagnosis.choose import choose
from traceq.diagnosis.packs import is_of_extra
from traceq.diagnosis.record import EXTRA
from traceq.diagnosis.subject import Goal
from traceq.errors import StoreError, WrongUse
from traceq.exports.chakra import write_chakra
from traceq.exports.folded import write_folded
from traceq.exports.pprof import write_pprof
from traceq.exports.result import WRITERS, result_of
from traceq.exports.speedscope import write_speedscope
from traceq.exports.stacks import MEASURE_WORDS, MEASURES, Measure
from traceq.exports.trace_file import MOST_OF_FINDING, Written, read_traces, write_finding, write_trace
from traceq.reports.build_stacks import build_stacks

Format = Literal["perfetto", "chrome", "folded", "speedscope", "pprof", "chakra", "parquet", "csv"]

_TABLE = ("parquet", "csv")
_STACKS = ("folded", "speedscope", "pprof")
# The first that fits.
_FORMAT_OF_SUFFIX: dict[str, Format] = {
    ".speedscope.json": "speedscope",
    ".speedscope.json.gz": "speedscope",
    ".folded": "folded",
    ".pb.gz": "pprof",
    ".et": "chakra",
    ".json": "perfetto",
    ".json.gz": "perfetto",
    ".parquet": "parquet",
    ".csv": "csv",
}


def export(
    source: Source,
    output: str | Path,
    read: ReadOptions = AS_FOUND,
    *,
    format: Format | None = None,  # noqa: A002 - the name of the option
    finding: str | None = None,
    measure: Measure | None = None,
    traces: Sequence[int] = (),
    rank: int | None = None,
    ranks: Sequence[int] = (),
    tables: Sequence[str] = (),
    goal: Goal = "throughput",
    rules: Sequence[str | Path] = (),
) -> Written | None:
    """Write a trace with its findings for Perfetto, call paths, or tables as files; traceq.app.api.export has the parameters.

    Returns how many events or call paths were written, None for tables. Raises ValueError for options that do not fit together,
    StoreError for unreadable or unwritable files, QueryError for a missing table.
    """
    output = Path(output)
    name = format or _format_of(output)
    _check(name, output, finding, measure, tables)
    chosen_rules = user_rules.load_rules([*rules, EXTRA] if finding is not None and is_of_extra(finding) else rules)

    # tables include finding, which a temporary database has as these rules fill it
    judging = (goal, chosen_rules) if name in _TABLE else None
    with open_source(source, "exported", read.with_writes(output), judging) as connection:
        if rules:
            lock(connection)
        chosen = list(select_traces(connection, traces, rank, ranks))
        if name in _TABLE:
            run_interruptibly(connection, lambda: _write_tables(connection, name, output, tables, chosen))
            return None
        if name == "chakra":
            return run_interruptibly(connection, lambda: _write_chakra(connection, source, output, chosen))
        if name in _STACKS:
            return run_interruptibly(
                connection, lambda: _write_stacks(connection, name, source, output, measure, chosen)
            )
        # Of a job of many ranks those that are named are asked all rules, as in a report.
        named = chosen if traces or ranks or rank is not None else None

        def write_findings() -> Written:
            judged = load_judgements(connection, goal, chosen_rules, named)
            findings = {subject.trace_id: judge().every_finding for subject, judge in judged}
            shown = None if finding is None else choose(finding, findings)
            with write_packed(output) as file:
                if shown is not None:
                    return write_finding(connection, shown, findings, file, MOST_OF_FINDING)
                return write_trace(connection, chosen, findings, file)

        return run_interruptibly(connection, write_findings)


def _format_of(output: Path) -> Format:
    """Return the format that the file's suffix names. Raises WrongUse for any other suffix."""
    for known, name in _FORMAT_OF_SUFFIX.items():
        if output.name.lower().endswith(known):
            return name
    raise WrongUse(f"{output}: no format has this suffix ({', '.join(_FORMAT_OF_SUFFIX)}); give --format.")


def _check(name: Format, output: Path, finding: str | None, measure: Measure | None, tables: Sequence[str]) -> None:
    """Raise WrongUse for options that do not fit together, and for an output directory that exists."""
    if finding is not None and name in (*_TABLE, *_STACKS, "chakra"):
        raise WrongUse("--finding is for a trace: -o FILE.json.")
    if measure is not None and name != "folded":
        raise WrongUse("--measure is for folded stacks; other files hold every measure.")
    if name in _TABLE:
        if str(output) == "-":
            raise WrongUse("tables are written to files: name a file or a directory.")
        if not _is_one_file(output) and output.exists() and not (output.is_dir() and not any(output.iterdir())):
            raise WrongUse(f"{output} already exists: name a new directory.")
    else:
        if tables:
            raise WrongUse("--table is for parquet and csv; other files have no tables.")
        if output.is_dir():
            raise WrongUse(f"{output} is a directory: name a file in it.")
    if _is_one_file(output) and len(tables) != 1:
        raise WrongUse(f"{output} holds one table: choose it with --table, or name a directory.")


def _is_one_file(output: Path) -> bool:
    """Return whether the output is a single file of one table, by its suffix."""
    return _FORMAT_OF_SUFFIX.get(output.suffix.lower()) in _TABLE


def _write_stacks(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    source: Source,
    output: Path,
    measure: Measure | None,
    chosen: Sequence[int],
) -> Written:
    """Write the call paths of the traces; folded stacks hold one `measure`, by default host time.

    Raises StoreError if the counted steps have no such time.
    """
    stacks = build_stacks(connection, {trace.trace_id: trace.short_name for trace in read_traces(connection, chosen)})
    there = [known for known in MEASURES if stacks.sum_time(known)]
    if not there:
        raise StoreError(f"{source}: nothing ran in its counted steps; traceq doctor {source} says what it holds")
    wanted = measure or "host"
    if name == "folded" and wanted not in there:
        choices = " or ".join(f"--measure {known}" for known in there)
        raise StoreError(f"{source}: has no {MEASURE_WORDS[wanted]} in its counted steps; give {choices}")
    # pprof's are compressed, whatever the name
    with (atomic_write if name == "pprof" else write_packed)(output) as file:
        if name == "pprof":
            count = write_pprof(stacks, Path(source).name, file)
        elif name == "speedscope":
            count = write_speedscope(stacks, Path(source).name, file)
        else:
            count = write_folded(stacks, wanted, file)
    return Written(count, unit="call paths")


def _write_chakra(
    connection: duckdb.DuckDBPyConnection, source: Source, output: Path, chosen: Sequence[int]
) -> Written:
    """Write the dependency graph of one trace for simulators. Raises WrongUse for several traces, StoreError without a graph."""
    if len(chosen) != 1:
        raise WrongUse(
            f"{output} is of one rank, and {source} has {len(chosen)} traces: choose one with --rank, a file each;"
            " ASTRA-sim takes job.0.et, job.1.et, ..."
        )
    if not connection.execute("from dependency where trace_id = ? limit 1", chosen).fetchone():
        raise StoreError(
            f"{source}: has no dependency graph, as no work of a GPU is in its counted steps; traceq doctor {source} says what"
            " it holds"
        )
    with write_packed(output) as file:
        counts = write_chakra(connection, chosen[0], file)
    unknown = counts.unknown_communication
    remark = (
        f"communication that the trace does not describe is computation of its recorded length: {some(unknown, 'node')}"
    )
    return Written(counts.nodes, unit="nodes", remark=remark if unknown else None)


def _write_tables(
    connection: duckdb.DuckDBPyConnection, name: str, output: Path, names: Sequence[str], traces: Sequence[int]
) -> None:
    """Write the named tables and views to files; all that have rows if `names` is empty."""
    known = catalogue.list_tables(connection)
    wanted = [catalogue.find(known, name) for name in dict.fromkeys(names)] or known
    if _is_one_file(output):
        with atomic_write(output) as file:
            _write_table(connection, name, file, wanted[0], traces)
        return
    with _write_folder(output) as folder:
        for table in wanted:
            if names or _select_rows(connection, table, traces).limit(1).fetchall():
                # others may have made the database, and `../x` is a name in it
                stem = re.sub(r'[/\\:%<>|?*"\x00-\x1f]', lambda found: f"%{ord(found[0]):02X}", table.name)
                with (folder / f"{stem}.{name}").open("wb") as file:
                    _write_table(connection, name, file, table, traces)


@contextmanager
def _write_folder(output: Path) -> Iterator[Path]:
    """Yield a temporary directory to fill, which becomes `output` after the block.

    Raises StoreError if it cannot be written.
    """
    part = name_part(output)
    try:
        with signals.remove_on_signal(part):
            part.mkdir()
            yield part
            part.replace(output)
    except OSError as error:
        raise StoreError(
            f"{output}: cannot be written: {error.strerror or error}; choose another directory with -o"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _select_rows(
    connection: duckdb.DuckDBPyConnection, table: CatalogueTable, traces: Sequence[int]
) -> duckdb.DuckDBPyRelation:
    """Return the table's rows of these traces; all rows if `traces` is empty or the table has no trace_id."""
    relation = connection.table(table.name)
    if traces and any(column.name == "trace_id" for column in table.columns):
        return relation.filter(ColumnExpression("trace_id").isin(*map(ConstantExpression, traces)))
    return relation


def _write_table(
    connection: duckdb.DuckDBPyConnection, name: str, file: BinaryIO, table: CatalogueTable, traces: Sequence[int]
) -> None:
    """Write the table's rows of these traces (all if empty) to the open file in the format `name`.

    Rows of views are sorted.
    """
    rows = _select_rows(connection, table, traces)
    # Rows of a view come in any order, and the same input is to make the same bytes.
    ordered = rows.sort(*map(ColumnExpression, rows.columns)) if table.kind == "view" else rows
    WRITERS[name](result_of(connection, ordered, name), file)
