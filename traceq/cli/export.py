"""traceq export: a trace with what was found in it for Perfetto, the time around a finding, or tables as files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

import click

from traceq.cli.rules import rules_option
from traceq.cli.source import check_output, opened, unreadable
from traceq.errors import StoreError

if TYPE_CHECKING:
    import duckdb

    from traceq.catalogue import Table
    from traceq.claims.subject import Goal
    from traceq.exports.trace_file import Written
    from traceq.findings import Finding
    from traceq.rules.registry import Rule

    Findings = Mapping[int, Sequence[Finding]]

_TRACE, _TABLE = ("perfetto", "chrome"), ("parquet", "csv")
_FORMAT_OF_SUFFIX = {".json": "perfetto", ".json.gz": "perfetto", ".parquet": "parquet", ".csv": "csv"}

# Of the queries that make a trace; sorts that need more go to disk.
_MEMORY = "512MiB"


@click.command(short_help="Write a trace with its findings for Perfetto, or tables as files.")
@click.argument("source", metavar="SOURCE_OR_DB")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE; or to DIR."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice((*_TRACE, *_TABLE)),
    help="perfetto and chrome are the same.  [default: by the suffix of -o]",
)
@click.option("--finding", metavar="ID", help="Only the time around this finding: its id, its rule, or F1, F2, ...")
@click.option(
    "--trace", "traces", type=int, multiple=True, metavar="N", help="Only the trace with this trace_id; repeatable."
)
@click.option("--table", "names", multiple=True, metavar="NAME", help="Only this table or view; repeatable.")
@click.option(
    "--goal",
    type=click.Choice(("throughput", "latency")),
    default="throughput",
    show_default=True,
    help="What the advice is to serve, as for traceq report.",
)
@rules_option
def export(
    *,
    source: str,
    output: Path,
    format_: str | None,
    finding: str | None,
    traces: tuple[int, ...],
    names: tuple[str, ...],
    goal: Literal["throughput", "latency"],
    rules: tuple[Path, ...],
) -> None:
    """Write a trace with its findings for Perfetto, or tables as files.

    SOURCE_OR_DB is a trace database, or what `traceq ingest` accepts. A .json or .json.gz file is a Chrome trace for
    ui.perfetto.dev and chrome://tracing: the threads and streams as they were recorded, with arrows from launches to what
    they launched, and beside them the steps, the ledger of each GPU and the findings. With --finding it holds the time
    around the worst piece of one finding, in less than 1 MB. .parquet and .csv hold one table; with --format and a new
    directory for -o every table and view that has rows becomes a file of its own.

    \b
    Examples:
      traceq export profile.duckdb -o profile.json.gz
      traceq export profile.duckdb --finding F1 -o first.json
      traceq export profile.duckdb --table step -o steps.csv
      traceq export profile.duckdb --format parquet -o tables
    """  # noqa: D301 - click wants the backspace itself
    name = format_ or _format_of(output)
    _check(name, output, finding, names)
    check_output(output, Path(source))
    from traceq.diagnosis import user
    from traceq.queries import interruptible

    judges = user.rules(rules)
    with _scratch() as scratch, opened(source, output, None) as connection, unreadable(source, "exported"):
        connection.execute("set temp_directory = ?", [scratch])
        # As for a report: rules of the user's own read the database and nothing else.
        connection.execute("set enable_external_access = false")
        chosen = _traces(connection, traces)
        if name in _TABLE:
            judged = lambda: _judged(_findings(connection, chosen, goal, judges), scratch)  # noqa: E731
            interruptible(connection, lambda: _write_tables(connection, name, output, names, chosen, judged))
            return
        findings = interruptible(connection, lambda: _findings(connection, chosen, goal, judges))
        connection.execute("set memory_limit = ?", [_MEMORY])
        written = interruptible(connection, lambda: _write_trace(connection, output, finding, chosen, findings))
    click.echo(f"{output}: {written.events:,} events, {output.stat().st_size:,} bytes", err=True)
    if written.left_out is not None:
        click.echo(f"left out to stay small: {written.left_out}", err=True)


def _format_of(output: Path) -> str:
    suffix = "".join(output.suffixes[-2:]) if output.suffix.lower() == ".gz" else output.suffix
    for known, name in _FORMAT_OF_SUFFIX.items():
        if suffix.lower().endswith(known):
            return name
    raise click.UsageError(f"{output}: no format has this suffix ({', '.join(_FORMAT_OF_SUFFIX)}); say --format.")


def _check(name: str, output: Path, finding: str | None, names: Sequence[str]) -> None:
    """Refuse what does not go together, and a directory that is there already."""
    if name in _TRACE and names:
        raise click.UsageError("--table is for parquet and csv; a trace has no tables.")
    if name in _TABLE and finding is not None:
        raise click.UsageError("--finding is for a trace: -o FILE.json.")
    if name in _TABLE and str(output) == "-":
        raise click.UsageError("tables are written to files: name a file or a directory.")
    if name in _TRACE and output.is_dir():
        raise click.UsageError(f"{output} is a directory: name a file in it.")
    if _is_one_file(output) and len(names) != 1:
        raise click.UsageError(f"{output} can hold one table: say which with --table, or name a directory.")
    if name in _TABLE and not _is_one_file(output) and output.exists() and not _is_empty(output):
        raise click.UsageError(f"{output} is there already: name a new directory.")


def _is_one_file(output: Path) -> bool:
    return _FORMAT_OF_SUFFIX.get(output.suffix.lower()) in _TABLE


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


@contextmanager
def _scratch() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="traceq-") as folder:
        yield folder


def _traces(connection: duckdb.DuckDBPyConnection, wanted: Sequence[int]) -> list[int]:
    """The trace ids to export, in the order of ingest."""
    known = [row[0] for row in connection.execute("select trace_id from trace order by trace_id").fetchall()]
    missing = [str(each) for each in wanted if each not in known]
    if missing:
        listed = ", ".join(map(str, known))
        raise StoreError(f"no trace has the trace_id {', '.join(missing)}; the database has {listed or 'none'}")
    return [each for each in known if each in wanted] if wanted else known


def _findings(
    connection: duckdb.DuckDBPyConnection, traces: Sequence[int], goal: Goal, rules: Sequence[Rule]
) -> Findings:
    """The findings of each trace, ranked as in its report."""
    from traceq.diagnosis.kept import judged_or_kept

    judged = judged_or_kept(connection, goal, rules)
    return {subject.trace_id: judge().findings for subject, judge in judged if subject.trace_id in traces}


def _write_trace(
    connection: duckdb.DuckDBPyConnection,
    output: Path,
    finding: str | None,
    traces: Sequence[int],
    findings: Findings,
) -> Written:
    from traceq.exports.choose import choose
    from traceq.exports.trace_file import MOST_OF_FINDING, write_finding, write_trace

    chosen = None if finding is None else choose(finding, findings)
    with _file(output) as file:
        if chosen is not None:
            return write_finding(connection, chosen, findings, file, MOST_OF_FINDING)
        return write_trace(connection, traces, findings, file)


@contextmanager
def _file(output: Path) -> Iterator[BinaryIO]:
    """The file, compressed if its name says so. No name and time in it: the same input makes the same bytes."""
    from isal import igzip

    from traceq.written import written

    with written(output) as file:
        if output.suffix.lower() != ".gz":
            yield file
            return
        with igzip.IGzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed:  # type: ignore[no-untyped-call]
            yield cast("BinaryIO", compressed)


def _write_tables(
    connection: duckdb.DuckDBPyConnection,
    format_: str,
    output: Path,
    names: Sequence[str],
    traces: Sequence[int],
    judged: Callable[[], duckdb.DuckDBPyConnection],
) -> None:
    """Write tables and views, those with rows unless they are named. `judged` gives a database with findings of now."""
    from traceq import catalogue
    from traceq.cli.tables import named
    from traceq.written import written

    known = catalogue.tables(connection)
    wanted = [named(known, name) for name in dict.fromkeys(names)] or known
    if _is_one_file(output):
        with written(output) as file:
            _write_table(format_, file, wanted[0], *_asked(connection, wanted[0], traces, judged))
        return
    with _folder(output) as folder:
        for table in wanted:
            asked, rows = _asked(connection, table, traces, judged)
            if names or _has_rows(rows):
                with (folder / f"{table.name}.{format_}").open("wb") as file:
                    _write_table(format_, file, table, asked, rows)


@contextmanager
def _folder(output: Path) -> Iterator[Path]:
    """A directory that is there in full or not at all."""
    part = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        part.mkdir()
        yield part
        part.replace(output)
    except OSError as error:
        raise StoreError(
            f"{output}: cannot be written: {error.strerror or error}; choose another directory with -o"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _asked(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    traces: Sequence[int],
    judged: Callable[[], duckdb.DuckDBPyConnection],
) -> tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation]:
    """The rows of a table, and where they are: of findings those that a report kept, else those of now."""
    if table.name == "finding" and not _has_rows(_of(connection, table, traces)):
        connection = judged()
    return connection, _of(connection, table, traces)


def _judged(findings: Findings, scratch: str) -> duckdb.DuckDBPyConnection:
    """A database in which the findings are kept, and nothing else."""
    from traceq import store
    from traceq.store.database import create_database
    from traceq.store.findings import save_findings

    path = Path(scratch) / "findings.duckdb"
    create_database(path)
    save_findings(path, (row for ranked in findings.values() for row in enumerate(ranked, 1)))
    # Opening leaves a result half read, which a relation does not forgive.
    return store.connect(path).cursor()


def _of(connection: duckdb.DuckDBPyConnection, table: Table, traces: Sequence[int]) -> duckdb.DuckDBPyRelation:
    """The rows of some traces."""
    from duckdb import ColumnExpression, ConstantExpression

    relation = connection.table(table.name)
    if traces and any(column.name == "trace_id" for column in table.columns):
        return relation.filter(ColumnExpression("trace_id").isin(*map(ConstantExpression, traces)))
    return relation


def _has_rows(relation: duckdb.DuckDBPyRelation) -> bool:
    return bool(relation.limit(1).fetchall())


def _write_table(
    format_: str,
    file: BinaryIO,
    table: Table,
    connection: duckdb.DuckDBPyConnection,
    rows: duckdb.DuckDBPyRelation,
) -> None:
    from duckdb import ColumnExpression

    from traceq.cli.result import FORMATS, result_of

    # Rows of a view come in any order, and the same input is to make the same bytes.
    ordered = rows.sort(*map(ColumnExpression, rows.columns)) if table.kind == "view" else rows
    FORMATS[format_](result_of(connection, ordered), file)
