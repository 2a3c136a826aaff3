"""traceq demo: from nothing to a report, without a GPU, a network or a trace."""

from __future__ import annotations

import os
import shlex
import tempfile
from importlib import resources
from pathlib import Path

import click

from traceq.cli import completion

_DATABASE = "traceq-demo.duckdb"
_TRACE = "app/demo/training.pt.trace.json.gz"


@click.command(short_help="Report on a trace that comes with traceq.")
@click.option(
    "-o",
    "--output",
    metavar="DB",
    shell_complete=completion.complete_files,
    help=f"Database to make. [default: {_DATABASE}]",
)
@click.pass_context
def demo(context: click.Context, output: str | None) -> None:
    """Report on a trace that comes with traceq.

    The trace has a few steps of one GPU of a training job, recorded by the PyTorch profiler. Needs no GPU and no network;
    keeps the database for more questions (in a temporary directory if the current one is not writable).
    """
    from traceq.app.ingest import ingest
    from traceq.cli.ingest import summarize
    from traceq.cli.report import report

    database = output or default_database()
    with resources.as_file(resources.files("traceq").joinpath(_TRACE)) as trace:
        click.echo(summarize(ingest([trace], database)))
    click.echo()
    with report.make_context("report", [database], parent=context.parent) as inner:
        report.invoke(inner)
    click.echo(f"\n{next_steps(database)}")


def default_database() -> str:
    """Return the path for the demo's database: in the current directory, or in a new temporary one if that is not writable."""
    if os.access(Path.cwd(), os.W_OK):
        return _DATABASE
    return str(Path(tempfile.mkdtemp(prefix="traceq-")) / _DATABASE)


def next_steps(database: str) -> str:
    """Return text with three commands to try on the database."""
    quoted = shlex.quote(database)
    return f"Also try:\n  traceq sql {quoted} --task kernels\n  traceq shell {quoted}\n  traceq help tasks"
