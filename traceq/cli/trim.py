"""traceq trim: a part of a trace as a trace of the same format."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.app.read_options import ReadOptions
from traceq.cli import completion
from traceq.cli._options import cache_option, force_option, memory_option, ranks_option, within_limits
from traceq.common.text import printable
from traceq.common.units import some


@click.command(short_help="Cut a trace down to some of its steps.")
@click.argument("source", metavar="TRACE", shell_complete=completion.complete_files)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE; or to DIR."
)
@click.option("--steps", metavar="N..N", help="The steps to keep: 3..5, or 3; numbered as in a report.")
@click.option(
    "--window", metavar="A..B", help="The time to keep: 3.2s..4s (from the first GPU work), NAME..NAME, or gpu."
)
@ranks_option
@memory_option
@cache_option
@force_option
@within_limits
def trim(
    *,
    source: str,
    output: Path,
    steps: str | None,
    window: str | None,
    ranks: tuple[int, ...],
    cache: bool,
    force: bool,
) -> None:
    """Cut a trace down to some of its steps.

    TRACE is a trace of the PyTorch profiler or an export of nsys; a directory of them is a job. The file keeps whole
    what ran or was launched in the steps, and as much around it as the numbers of the steps depend on: traceq reports the
    same about these steps as from the whole trace. Other tools read it like the whole trace.

    \b
    Examples:
      traceq trim profile.pt.trace.json.gz --steps 3..5 -o small.json.gz
      traceq trim report.sqlite --window 3.2s..4s -o small.sqlite
      traceq trim traces/ --ranks 0,3 --steps 10 -o small/
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.trim import trim as write_part

    read = ReadOptions(window=window, cache=cache)
    for written in write_part(source, output, read, steps=steps, ranks=ranks, force=force):
        click.echo(
            printable(
                f"{written.path}: {some(written.steps, 'step')}, {written.records:,} records,"
                f" {written.size:,} of {written.whole:,} bytes"
            )
        )
