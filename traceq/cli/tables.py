"""traceq tables: the data dictionary, read from the comments in the catalogue."""

from __future__ import annotations

import io
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

import click

from traceq.cli import completion
from traceq.cli._options import json_option
from traceq.cli._output import write_json
from traceq.cli.sql import terminal_width

if TYPE_CHECKING:
    from traceq.database.catalogue import CatalogueTable
    from traceq.database.questions import Question

_HINT = "traceq tables NAME shows the columns of one; traceq tables --task lists common queries."

# Columns of a terminal for what a column means, however narrow it is.
_LEAST_MEANING = 30

_BEGINNING = """\
# Tables

What a trace database holds, and how to query it. Queries for common questions come first: `traceq sql TRACE --task gaps`
runs the one called gaps, and `traceq tables --task gaps` prints it. Then come all
[tables, views and macros](#tables-views-and-macros). `traceq tables --format md` prints this page.

## By task

"""

_INTRODUCTION = """\

## Tables, views and macros

Times are integer nanoseconds on the trace's own clock, intervals are half-open [ts, ts + dur), sizes are bytes, shares
(0..1) end in `_share`. Every table has `trace_id`; ids of slices are unique within their trace and the same on every
ingest of the same file.

To make results readable, ms(dur) and us(dur) convert a time, ms_in_step(trace_id, step, ts) and ms_in_trace(trace_id, ts)
say when something happened, and short_name(name) shortens the name of a kernel:

```sql
select step, ms_in_step(trace_id, step, ts) as at_ms, us(dur) as dur_us, short_name(name, 40) as kernel
from kernel
order by dur desc
limit 10
```

Other macros take the name of a table, view or common table expression, as text. Interval macros read the columns ts and
ts_end. All other columns are keys: intervals are combined only if their keys are equal (NULL equals NULL), and the
result has the keys. Select only the keys you need, with trace_id if the database holds several traces:

```sql
with
busy as (select trace_id, device, ts, ts_end from kernel),
copying as (select trace_id, device, ts, ts_end from memcpy)
select device, dur, pairs from interval_overlap('busy', 'copying')
```

Intervals that touch become one in a union, have no gap between them and do not overlap. Intervals without length
(ts_end = ts), that end before they start, or whose start or end is NULL are left out; without intervals there are no rows.

Stack macros show what the host was executing, as "train.py(3): main > aten::mm > cudaLaunchKernel": around a call, where
GPU work was launched (for a CUDA graph, also where it was captured), or at a moment. The view `gap_stack` has the stack
of the host slice that explains a gap of the GPU, and `launch_line` the innermost line of the program for each kernel.
`backtrace` has the C and C++ functions that nsys recorded around long system calls and, with `--cudabacktrace`, CUDA
calls:

```sql
with longest as (select trace_id, slice_id, name, dur from kernel order by dur desc limit 10)
select name, dur, line, stack, backtrace from stack_of('longest') order by dur desc
```

"""


@click.command(short_help="Show the data dictionary: tables, views, columns and macros.")
@click.argument("name", required=False, shell_complete=completion.complete_tables)
@click.option(
    "--task",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    shell_complete=completion.complete_tasks,
    help="Print the query for a task; without NAME list the tasks.",
)
@json_option("json: with all columns.", "md")
def tables(name: str | None, task: str | None, format_: str) -> None:
    """Show the data dictionary: tables, views, columns and macros.

    Without NAME one line for each table, view and macro (in Markdown and JSON: the whole dictionary), with NAME
    its columns. --task lists queries for common questions. Needs no database; DuckDB's catalogue in a trace database
    (duckdb_columns()) has the same text.

    \b
    Examples:
      traceq tables
      traceq tables gpu_slice
      traceq tables --task
      traceq tables --task gaps
    """  # noqa: D301 - click wants the backspace itself
    if task is not None:
        if name is not None:
            raise click.UsageError("Give NAME or --task, not both.")
        _print_tasks(task, format_)
        return
    from traceq.database import catalogue

    with catalogue.empty_database() as connection:
        known = catalogue.list_all(connection)
    file, width = sys.stdout.buffer, terminal_width()
    if format_ == "json":
        write_json(known if name is None else [catalogue.find(known, name)])
    elif name is not None:
        write_columns(catalogue.find(known, name), file, format_, width)
    elif format_ == "md":
        file.write(write_dictionary(known).encode())
    else:
        write_overview(known, file, format_, width)
        file.write(f"\n{_HINT}\n".encode())


def _print_tasks(name: str, format_: str) -> None:
    """Print the query of the task called `name`; a line for each task if `name` is empty."""
    from traceq.database.questions import find_question, list_questions

    chosen = (find_question(name),) if name else list_questions()
    if format_ == "json":
        write_json(chosen)
    elif format_ == "md":
        sys.stdout.buffer.write(_format_section(chosen[0]).encode() if name else write_index(chosen).encode())
    elif name:
        click.echo(f"-- {chosen[0].title}\n-- {chosen[0].note}\n{chosen[0].query}")
    else:
        write_tasks(chosen, sys.stdout.buffer)


def write_tasks(questions: Sequence[Question], file: BinaryIO) -> None:
    """Write a line for each task with a query to `file`: its name, and the question that it answers."""
    rows = [(question.name, question.title) for question in questions]
    _write(("task", "question"), rows, file, "text")


def write_index(questions: Sequence[Question]) -> str:
    """Return the tasks as Markdown: a list of links, then a section for each, with its query."""
    links = "".join(
        f"* [{question.title}](#{_make_anchor(question.title)}): `{question.name}`\n" for question in questions
    )
    return links + "".join(f"\n{_format_section(question)}" for question in questions)


def _format_section(question: Question) -> str:
    """Return the question as a section of a Markdown page."""
    return f"### {question.title}\n\n{question.note}\n\n```sql\n{question.query}\n```\n"


def _make_anchor(title: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def write_overview(known: Sequence[CatalogueTable], file: BinaryIO, format_: str, width: int | None = None) -> None:
    """Write a line for each table, view and macro (name, kind, what a row is) to `file`, as Markdown if `format_` is md.

    With `width` (terminal columns) what a row is is cut to one line.
    """
    rows = [(table.name, table.kind, table.comment) for table in known]
    _write(("name", "kind", "one row"), rows, file, format_, width)


def write_columns(table: CatalogueTable, file: BinaryIO, format_: str, width: int | None = None) -> None:
    """Write to `file` what a row of `table` is, then a line for each column; a macro's parameters are in its comment.

    `format_` is md for Markdown, anything else for aligned columns. With `width` (terminal columns) what is longer goes on in
    further lines.
    """
    from traceq.common.text import markdown, printable

    comment = markdown(table.comment) if format_ == "md" else printable(table.comment)
    file.write(f"{textwrap.fill(comment, width) if width else comment}\n".encode())
    if not table.columns:
        return
    file.write(b"\n")
    rows = [(column.name, column.type.lower(), column.comment) for column in table.columns]
    _write(("column", "type", "meaning"), rows if width is None else _wrap_last_cells(rows, width), file, format_)


def _wrap_last_cells(rows: Sequence[tuple[str, str, str]], width: int) -> list[tuple[str, str, str]]:
    """Return the rows with a third cell that does not fit into `width` columns continued in rows of its own."""
    margin = max(len(first) for first, _, _ in rows) + max(len(second) for _, second, _ in rows) + 4
    wrapped = []
    for first, second, third in rows:
        begin, *others = textwrap.wrap(third, max(width - margin, _LEAST_MEANING)) or [""]
        wrapped += [(first, second, begin), *(("", "", line) for line in others)]
    return wrapped


def write_dictionary(known: Sequence[CatalogueTable]) -> str:
    """Return the whole data dictionary as one Markdown page, which begins with the index by task."""
    from traceq.database.questions import list_questions

    page = io.BytesIO()
    page.write(f"{_BEGINNING}{write_index(list_questions())}{_INTRODUCTION}".encode())
    write_overview(known, page, "md")
    for table in known:
        page.write(f"\n## {table.name}\n\n".encode())
        write_columns(table, page, "md")
    return page.getvalue().decode()


def _write(
    header: Sequence[str], rows: Sequence[Sequence[str]], file: BinaryIO, format_: str, width: int | None = None
) -> None:
    """Write the rows under their header as Markdown if `format_` is md, else in aligned columns, cut to `width` if given."""
    from traceq.cli._table import write_markdown, write_plain

    numeric = [False] * len(header)
    if format_ == "md":
        write_markdown(header, rows, numeric, file)
    else:
        write_plain(header, rows, numeric, file, width)
