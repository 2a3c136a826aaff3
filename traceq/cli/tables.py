"""traceq tables: the data dictionary, read from the comments in the catalogue."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

import click

from traceq.cli import completion
from traceq.cli._options import json_option
from traceq.cli._output import write_json

if TYPE_CHECKING:
    from traceq.database.catalogue import CatalogueTable

_INTRODUCTION = """\
# Tables

What a trace database holds. Times are integer nanoseconds on the trace's own clock, intervals are half-open
[ts, ts + dur), sizes are bytes, shares (0..1) end in `_share`. Every table has `trace_id`; ids of slices are
unique within their trace and the same on every ingest of the same file.

Macros take names, as text, of tables, views or common table expressions. Those of intervals read the columns ts and
ts_end. All other columns are keys: intervals meet only where these are the same, NULL being the same as NULL, and
the result has them. Select the keys that you mean; trace_id belongs to them where the database holds several traces:

```sql
with
busy as (select trace_id, device, ts, ts_end from kernel),
copying as (select trace_id, device, ts, ts_end from memcpy)
select device, dur, pairs from interval_overlap('busy', 'copying')
```

Intervals that touch are one in a union and leave no gap, and share no time. Intervals without length (ts_end = ts), that
end before they start, or whose start or end is NULL are left out; without intervals there are no rows.

Those of stacks say what the host was in, as "train.py(3): main > aten::mm > cudaLaunchKernel": around a call, where GPU
work was launched (of a CUDA graph also where it was captured), or at a moment. The view `gap_stack` has it for the
moments at which the GPU ran dry, and `launch.line` the innermost line of the program for each kernel. `backtrace` has
what nsys recorded of C and C++ functions around long calls of the system and, with `--cudabacktrace`, of CUDA:

```sql
with longest as (select trace_id, slice_id, name, dur from kernel order by dur desc limit 10)
select name, dur, line, stack, backtrace from stack_of('longest') order by dur desc
```

This page is what `traceq tables --format md` prints.

"""


@click.command(short_help="Show the data dictionary: tables, views, columns and macros.")
@click.argument("name", required=False, shell_complete=completion.complete_tables)
@json_option("json: with all columns.", "md")
def tables(name: str | None, format_: str) -> None:
    """Show the data dictionary: tables, views, columns and macros.

    Without NAME one line for each table, view and macro (in Markdown and JSON: the whole dictionary), with NAME
    its columns. Needs no database; in a trace database the same text stands in DuckDB's catalogue
    (duckdb_columns()).

    \b
    Examples:
      traceq tables
      traceq tables gpu_slice
    """  # noqa: D301 - click wants the backspace itself
    from traceq.database import catalogue

    with catalogue.empty_database() as connection:
        known = catalogue.list_all(connection)
    file = sys.stdout.buffer
    if format_ == "json":
        write_json(known if name is None else [catalogue.find(known, name)])
    elif name is not None:
        write_columns(catalogue.find(known, name), file, format_)
    elif format_ == "md":
        file.write(write_dictionary(known).encode())
    else:
        write_overview(known, file, format_)


def write_overview(known: Sequence[CatalogueTable], file: BinaryIO, format_: str) -> None:
    """Write a line for each table, view and macro (name, kind, what a row is) to `file`, as Markdown if `format_` is md."""
    rows = [(table.name, table.kind, table.comment) for table in known]
    _write(("name", "kind", "one row"), rows, file, format_)


def write_columns(table: CatalogueTable, file: BinaryIO, format_: str) -> None:
    """Write to `file` what a row of `table` is, then a line for each column; a macro's parameters are in its comment.

    `format_` is md for Markdown, anything else for aligned columns.
    """
    from traceq.common.text import markdown, printable

    comment = markdown(table.comment) if format_ == "md" else printable(table.comment)
    file.write(f"{comment}\n".encode())
    if not table.columns:
        return
    file.write(b"\n")
    rows = [(column.name, column.type.lower(), column.comment) for column in table.columns]
    _write(("column", "type", "meaning"), rows, file, format_)


def write_dictionary(known: Sequence[CatalogueTable]) -> str:
    """Return the whole data dictionary as one Markdown page."""
    page = io.BytesIO()
    page.write(_INTRODUCTION.encode())
    write_overview(known, page, "md")
    for table in known:
        page.write(f"\n## {table.name}\n\n".encode())
        write_columns(table, page, "md")
    return page.getvalue().decode()


def _write(header: Sequence[str], rows: Sequence[Sequence[str]], file: BinaryIO, format_: str) -> None:
    """Write the rows under their header as Markdown if `format_` is md, else in aligned columns."""
    from traceq.cli._table import write_markdown, write_plain

    write_table = write_markdown if format_ == "md" else write_plain
    write_table(header, rows, [False] * len(header), file)
