"""traceq kernels: the hot kernels of a trace, and the command lines that run a kernel profiler on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import document_options, read_options_with_logs
from traceq.cli._output import write_view

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions


@click.command("kernels", short_help="List the hot kernels, and how to profile each of them.")
@click.argument("source", metavar="SOURCE_OR_DB", shell_complete=completion.complete_files)
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Kernels to list.")
@click.option("--ncu", "profiler", flag_value="ncu", help="Print the commands that run Nsight Compute on them.")
@click.option(
    "--rocprof-compute", "profiler", flag_value="rocprof-compute", help="Print the commands that run AMD's profiler."
)
@click.option(
    "--program",
    default="PROGRAM",
    show_default=True,
    metavar="COMMAND",
    shell_complete=completion.complete_files,
    help='As in the commands: "python train.py".',
)
@click.option("--trace", type=int, metavar="N", help="Use the trace with this trace_id. [default: the first]")
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="Use the trace of this rank.")
@document_options()
@read_options_with_logs
def list_kernels(
    *,
    source: str,
    top: int,
    profiler: str | None,
    program: str,
    trace: int | None,
    rank: int | None,
    output: Path | None,
    format_: str,
    read: ReadOptions,
) -> None:
    """List the kernels with most time, by launch geometry: the operator that launched each, and how near its ceiling it is.

    With --ncu or --rocprof-compute it prints the commands that measure one launch of each in a steady step, and export it as
    CSV. Given back with --with, the CSV says what limits each kernel and what its warps wait for (docs/kernel-reports.md).

    \b
    Examples:
      traceq kernels trace.json
      traceq kernels trace.json --top 3 --ncu --program "python train.py"
      traceq kernels trace.json --with hot_kernels.csv
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.kernels import list_kernels as list_them

    view = list_them(
        source, top=top, profiler=profiler, program=program, trace=trace, rank=rank, read=read.with_writes(output)
    )
    write_view(view, format_, output)
