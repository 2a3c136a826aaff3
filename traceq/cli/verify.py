"""traceq verify: check whether a fix saved what its finding predicted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import (
    FILE,
    Several,
    document_options,
    noise_option,
    print_note,
    rank_option,
    read_options,
    runs_option,
)
from traceq.cli._output import write_view

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions, Which


@click.command(cls=Several, short_help="Check whether a fix saved what its finding predicted.")
@click.argument("finding", metavar="FINDING", shell_complete=completion.complete_findings)
@runs_option("--before", "Runs before the fix.", completion.complete_files, required=True)
@runs_option("--after", "Runs after the fix.", completion.complete_files, required=True)
@click.option(
    "--append",
    type=FILE,
    metavar="FILE",
    help="Add the result to a file of checked predictions, e.g. docs/calibration.jsonl.",
)
@click.option(
    "--program",
    metavar="NAME",
    help="With --append: any name for the program, so that all its fixes count as one program; only its hash is kept.",
)
@click.option(
    "--log",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also add the result to the log in DIR, which traceq log shows.",
)
@document_options()
@rank_option("Compare")
@noise_option
@click.option("--anyway", is_flag=True, help="Measure the saving even if GPUs, shapes or settings differ.")
@read_options
def verify(
    *,
    finding: str,
    before: tuple[str, ...],
    after: tuple[str, ...],
    append: Path | None,
    program: str | None,
    log: Path | None,
    output: Path | None,
    format_: str,
    which: Which,
    noise: str | None,
    anyway: bool,
    read: ReadOptions,
) -> None:
    """Say whether FINDING is gone after a fix, how much the fix saved, and whether that matches the prediction.

    FINDING is a finding of the first run before the fix, as `traceq report` names it: F1, its id or its rule. The saving is
    the difference of the mean steps, with an interval; the prediction is right if the interval
    overlaps the finding's bounds.

    \b
    Examples:
      traceq verify F1 --before w0.duckdb --after w4.duckdb
      traceq verify item-read --before a1.duckdb a2.duckdb --after b1.duckdb b2.duckdb --append calibration.jsonl
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.verify import verify as verify_runs

    view = verify_runs(
        finding, before, after, which, read.with_writes(output, append), noise=noise, anyway=anyway, calibration=append
    )
    if append is not None and (reason := view.append_to(append, program)) is not None:
        print_note(reason)
    if log is not None:
        from traceq.app.program_log import keep_verification

        keep_verification(view.content, log, before, after)
    write_view(view, format_, output)
