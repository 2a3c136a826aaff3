"""traceq hang: why a job hangs, from the flight recorders of its ranks."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.cli import completion
from traceq.cli._options import document_options, memory_option, within_limits
from traceq.cli._output import write_view


@click.command(short_help="Say why a job hangs, from the flight recorders of its ranks.")
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...", shell_complete=completion.complete_files)
@click.option("--world-size", metavar="N", type=int, help="How many ranks the job has, where the dumps do not tell.")
@document_options()
@memory_option
@within_limits
def hang(*, dumps: tuple[str, ...], world_size: int | None, output: Path | None, format_: str) -> None:
    """Say in which group of ranks a hang begins, which rank is missing there or called something else, and where it is.

    A DUMP is what PyTorch's flight recorder wrote of a rank (pickle or JSON), a folder of them, or a glob. Needs no
    trace and no GPU; nothing in a dump is run.

    \b
    Examples:
      traceq hang /tmp/nccl_trace_rank_*
      traceq hang dumps/ -o hang.html
      traceq hang dumps/ --world-size 16 --format json
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.hang import explain_hang

    write_view(explain_hang(dumps, world_size=world_size), format_, output)
