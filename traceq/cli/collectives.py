"""traceq collectives: what NCCL's and RCCL's Inspector recorded while a job ran."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.cli import completion
from traceq.cli._options import document_options, memory_option, within_limits
from traceq.cli._output import write_view


@click.command("collectives", short_help="Report on NCCL's own records of a job.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=completion.complete_files)
@document_options()
@memory_option
@within_limits
def show_collectives(*, files: tuple[str, ...], output: Path | None, format_: str) -> None:
    """Report on what NCCL or RCCL recorded of a job's collectives on its own, over thousands of steps; no trace is needed.

    FILE is a file of the Inspector plugin (JSON or Prometheus text, also an answer of Prometheus to query_range), of NCCL's
    example of a profiler plugin, a folder of them, or a glob. Shows bandwidth by size and group, how it changed, links
    that are slow, and ranks that come late, for which the files of all ranks are needed. `traceq ingest TRACE --with FILE`
    compares a trace with them.

    \b
    Examples:
      traceq collectives nccl-inspector-4711/
      traceq collectives nccl-inspector-4711/ -o collectives.html
      traceq collectives 'node-*.log' --format json
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.collectives import report_collectives

    write_view(report_collectives(files, [] if output is None else [output]), format_, output)
