"""traceq verify: whether a fix saved what its finding predicted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from traceq.cli import completion
from traceq.cli._options import FILE, Several, document_options, noise_option, rank_option, reading, reading_options
from traceq.cli._output import write_view
from traceq.common.text import printable


@click.command(cls=Several, short_help="Check whether a fix saved what its finding predicted.")
@click.argument("finding", metavar="FINDING", shell_complete=completion.findings)
@click.option(
    "--before",
    multiple=True,
    required=True,
    metavar="SOURCE...",
    shell_complete=completion.files,
    help="Runs before the fix.",
)
@click.option(
    "--after",
    multiple=True,
    required=True,
    metavar="SOURCE...",
    shell_complete=completion.files,
    help="Runs after it.",
)
@click.option(
    "--append",
    type=FILE,
    metavar="FILE",
    help="Add the result to a file of checked predictions, e.g. docs/calibration.jsonl.",
)
@click.option(
    "--program",
    metavar="NAME",
    help="With --append: any name of the program, of which a hash is kept, so that all its fixes count as one program.",
)
@document_options()
@rank_option("Compare")
@noise_option
@click.option("--anyway", is_flag=True, help="Measure the saving although GPUs, shapes or settings differ.")
@reading_options
def verify(*, append: Path | None, program: str | None, output: Path | None, format_: str, **options: Any) -> None:
    """Say whether FINDING is gone after a fix, how much that saved, and whether that is what was predicted.

    FINDING is a finding of the first run before as `traceq report` names it: F1, its id or its rule. The saving is the
    difference of the mean steps, with an interval; the prediction is right when it may lie between the finding's bounds.

    \b
    Examples:
      traceq verify F1 --before w0.duckdb --after w4.duckdb
      traceq verify item-read --before a1.duckdb a2.duckdb --after b1.duckdb b2.duckdb --append calibration.jsonl
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.verify import verify as verify_runs

    view = verify_runs(calibration=append, **options, **reading(output, append))
    note = None if append is None else view.append_to(append, program)
    if note is not None:
        click.echo(f"traceq: note: {printable(note)}", err=True)
    write_view(view, format_, output)
