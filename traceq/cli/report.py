"""traceq report: where the time of each step went, as text, Markdown, HTML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from traceq.cli._options import document_options, goal_option, reading, reading_options, rules_option
from traceq.cli._output import write_view
from traceq.reports import DRAWN, all_suffixes


@click.command(short_help="Report where the time of each step went.")
@click.argument("source", metavar="SOURCE_OR_DB")
@document_options(all_suffixes(), None)
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Findings to show.")
@reading_options
@goal_option("What the advice is to serve: samples per second, or the time of a step.")
@click.option("--ticket", is_flag=True, help="To be shown to others: hosts, users and paths are replaced. [format: md]")
@click.option("--charts", is_flag=True, help="With -o FILE.md: charts as PNG files beside it.")
@rules_option
@click.option("--save", "store", is_flag=True, help="Keep all findings in the table finding of the database.")
def report(
    *,
    source: str,
    output: Path | None,
    format_: str | None,
    ticket: bool,
    charts: bool,
    **options: Any,
) -> None:
    """Report where the time of each step went.

    SOURCE_OR_DB is a trace database, or what `traceq ingest` accepts: a trace is then ingested into a
    temporary database, which is gone afterwards. The report says what was captured, how long steps take,
    where their time went on each GPU, and which of it could be won back by what change, with the query behind each
    number. `traceq explain RULE` says how each finding is made.

    \b
    Examples:
      traceq report profile.duckdb
      traceq report profile.duckdb -o report.html
      traceq report profile.sqlite --step-range "^train_step" --ticket -o ticket.md --charts
    """  # noqa: D301 - click wants the backspace itself
    name = format_ or ("md" if ticket else "text")
    if charts and (name != "md" or output is None):
        raise click.UsageError("--charts is for Markdown in a file, beside which the pictures lie: say -o FILE.md.")
    from traceq.app.report import report as make_report

    view = make_report(source, drawn=name in DRAWN, ticket=ticket, **options, **reading(output))
    if charts and output is not None:
        view.save_with_charts(output)
    else:
        write_view(view, name, output)
