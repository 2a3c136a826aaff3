"""traceq compile-log: what torch.compile did, from its structured logs."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.cli import completion
from traceq.cli._options import FILE, document_options, memory_option, within_limits
from traceq.cli._output import write_view


@click.command("compile-log", short_help="Show compile time, graph breaks and recompilations.")
@click.argument(
    "logs",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="LOG...",
    shell_complete=completion.complete_files,
)
@click.option("--save", type=FILE, metavar="FILE.duckdb", help="Keep the tables of the logs, for traceq sql.")
@document_options()
@memory_option
@within_limits
def show_compile_log(*, logs: tuple[Path, ...], save: Path | None, output: Path | None, format_: str) -> None:
    """Show what torch.compile did, from its structured logs alone: no trace is needed.

    Each LOG is a log that PyTorch writes into the folder that the environment variable TORCH_TRACE names, or that folder
    (docs/compile.md): which functions took how long to compile, which lines break graphs, which guards failed so that a
    function was compiled again, and what caches on disk had. What graph breaks cost in each step takes a trace of the same
    run: traceq report TRACE --with LOG.

    \b
    Examples:
      TORCH_TRACE=compile_logs python train.py
      traceq compile-log compile_logs
      traceq report trace.json --with compile_logs
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.compile_log import summarise_compile_logs

    write_view(summarise_compile_logs(logs, save=save, writes=[output] if output else []), format_, output)
