"""traceq ingest: trace files into a trace database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from traceq.cli import completion
from traceq.cli._options import axes_option, logs_option, print_note, trace_options, wait_option
from traceq.common.text import printable
from traceq.common.units import some

if TYPE_CHECKING:
    from traceq.loading.ingest import Failure, IngestResult
    from traceq.loading.options import TraceOptions


@click.command(short_help="Read trace files into a database to query.")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", shell_complete=completion.complete_files)
@click.option(
    "-o",
    "--output",
    "database",
    metavar="DB",
    shell_complete=completion.complete_files,
    help="Database to make or add to; a name that ends in a slash, or an address, makes a dataset."
    " [default: SOURCE's name with .duckdb, in the current directory]",
)
@click.option("--run", metavar="NAME", help="Name of the run the traces belong to.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to use. [default: all usable CPUs]")
@logs_option
@click.option("--force", is_flag=True, help="Replace traces whose content is in the database already.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Read on the workers of this dask.distributed scheduler: tcp://host:8786, or a scheduler file; for datasets only.",
)
@wait_option
@axes_option
@trace_options
def ingest(
    *,
    sources: tuple[str, ...],
    database: str | None,
    run: str | None,
    logs: tuple[Path, ...],
    offset: float | None,
    log_formats: tuple[Path, ...],
    force: bool,
    cluster: str | None,
    wait: int,
    axes: str | None,
    options: TraceOptions,
) -> None:
    """Read trace files into a database to query.

    SOURCE is a trace file (an Nsight Systems export made with `nsys export --type sqlite`, or a trace of the
    PyTorch profiler, gzipped or not; or a memory snapshot of PyTorch), a directory that holds traces, or a quoted
    glob. The format is found by content, not by name. Content that is in the database already is skipped, so running
    it again changes nothing. Logs of monitors become rows of the table counter, on the trace's clock
    (docs/monitors.md); training logs say where the captured steps lie among all of the run (docs/run-logs.md); logs of
    requests to a server are joined with its steps (docs/requests.md). An ingest that fails or is interrupted leaves the
    database as it was. Finally the rules run; reports read their findings from the table finding.

    A dataset (docs/scale.md) takes the traces that can be read; the others are named on stderr, and the exit status
    is 1. An interrupted ingest into a dataset continues where it stopped when run again.

    \b
    Examples:
      traceq ingest profile.sqlite
      traceq ingest traces/ -o job.duckdb --run baseline --jobs 8
      traceq ingest traces/ -o job.duckdb --axes tp=8,dp=4
      traceq ingest decode.json.gz --capture graph_capture.json.gz
      traceq ingest profile.sqlite --with gpu.csv --with iostat.json
      traceq ingest traces/ -o job/ --cluster tcp://head:8786
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.ingest import ingest

    result = ingest(
        sources,
        database,
        replace(options, axes=axes),
        run=run,
        force=force,
        logs=logs,
        offset=offset,
        log_formats=log_formats,
        cluster=cluster,
        wait=wait / 1e9,
        failed=_print_failure,
    )
    click.echo(summarize(result))
    if (options.capture or options.inductor) and result.skipped:
        print_note(
            "traces that were in the database already are unchanged: --force reads them again, with --capture and --inductor."
        )
    if result.failures:
        click.get_current_context().exit(1)


def _print_failure(failure: Failure) -> None:
    # click.echo would write past the bar, which is drawn over it then
    """Print on stderr why a trace could not be added, also beside a progress bar."""
    sys.stderr.write(f"traceq: failed: {printable(failure.reason)}\n")


def summarize(result: IngestResult) -> str:
    """Return one line on what an ingest added to its database; print a note on stderr if the rules could not run."""
    if result.not_judged is not None:
        click.echo(printable(f"traceq: note: every report will run the rules again: {result.not_judged}"), err=True)
    new, skipped = result.ingested, len(result.skipped)
    if not new and not result.failures:
        return printable(f"{result.database}: already there, nothing to do")
    parts = [some(len(new), "trace")]
    if new:
        parts += [
            some(sum(trace.gpu_slices for trace in new), "GPU slice"),
            some(sum(trace.cpu_slices for trace in new), "host slice"),
            some(sum(trace.notes for trace in new), "note"),
        ]
    if result.resumed:
        parts.append(f"{result.resumed:,} of them read by an earlier ingest")
    if result.moved:
        parts.append(f"{len(result.moved):,} moved from run {', '.join(sorted(set(result.moved)))}")
    if skipped:
        parts.append(f"{skipped:,} already there")
    if result.failures:
        parts.append(f"{len(result.failures):,} failed")
    return printable(f"{result.database}: {', '.join(parts)}")
