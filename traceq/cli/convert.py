"""traceq convert: a database becomes a dataset, a dataset a database."""

from __future__ import annotations

import click

from traceq.cli import completion
from traceq.cli._options import memory_option, print_note, wait_option, within_limits
from traceq.common.text import printable
from traceq.common.units import some


@click.command(short_help="Turn a database into a dataset, or a dataset into a database.")
@click.argument("source", metavar="DB_OR_DATASET", shell_complete=completion.complete_files)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="TARGET",
    shell_complete=completion.complete_files,
    help="The dataset or database to make.",
)
@wait_option
@memory_option
@within_limits
def convert(*, source: str, output: str, wait: int) -> None:
    """Turn a trace database into a dataset, or a dataset into a trace database. The traces are not needed.

    TARGET must be new: a folder or an address (s3://bucket/job) for a dataset, a file for a database. Rows, trace_ids and
    reports stay the same. Traces that were ingested without --run are listed under the name of the folder that holds them.

    \b
    Examples:
      traceq convert job.duckdb -o job/
      traceq convert s3://bucket/job -o job.duckdb
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.convert import convert as make

    done = make(source, output, wait=wait / 1e9)
    if done.not_judged is not None:
        print_note(f"every report will run the rules again: {done.not_judged}")
    click.echo(printable(f"{done.target}: {some(done.traces, 'trace')}"))
