"""traceq ingest: trace files into a trace database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from traceq.cli._options import bar, memory_option, step_options
from traceq.common.text import printable
from traceq.common.units import some

if TYPE_CHECKING:
    from traceq.loading.ingest import IngestResult


@click.command(short_help="Read trace files into a trace database.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-o",
    "--output",
    "database",
    metavar="DB",
    help="Database to make or add to. [default: SOURCE's name, .duckdb, here]",
)
@click.option("--run", metavar="NAME", help="Name of the run the traces belong to.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to use. [default: all usable CPUs]")
@click.option("--force", is_flag=True, help="Replace traces whose content is in the database already.")
@step_options
@memory_option
def ingest(*, jobs: int | None, **options: Any) -> None:
    """Read trace files into a trace database.

    SOURCE is a trace file (an Nsight Systems export made with `nsys export --type sqlite`, or a trace of the
    PyTorch profiler, gzipped or not; or a memory snapshot of PyTorch), a directory that holds traces, or a quoted
    glob. The format is found by content, not by name. Content that is in the database already is skipped, so running
    it again changes nothing. An ingest that fails or is interrupted leaves the database as it was. Finally the rules
    run; reports read their findings from the table finding.

    \b
    Examples:
      traceq ingest profile.sqlite
      traceq ingest traces/ -o job.duckdb --run baseline --jobs 8
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.ingest import ingest
    from traceq.common.process import usable_cpus

    click.echo(summary(ingest(jobs=jobs or usable_cpus(), progress=bar(), **options)))


def summary(result: IngestResult) -> str:
    """What an ingest did to its database, in one line; a note on stderr if the rules could not run."""
    if result.not_judged is not None:
        click.echo(f"traceq: note: every report will run the rules again: {result.not_judged}", err=True)
    new, skipped = result.ingested, len(result.skipped)
    if not new:
        return printable(f"{result.database}: already there, nothing to do")
    parts = [
        some(len(new), "trace"),
        some(sum(each.gpu_slices for each in new), "GPU slice"),
        some(sum(each.cpu_slices for each in new), "host slice"),
        some(sum(each.notes for each in new), "note"),
    ]
    if skipped:
        parts.append(f"{skipped:,} already there")
    return printable(f"{result.database}: {', '.join(parts)}")
