"""traceq verify: whether a fix won what its finding had said."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.cli.blocks import write_blocks
from traceq.cli.ingest import check_regex
from traceq.cli.report import FORMATS, format_of
from traceq.cli.runs import check_outputs, side
from traceq.cli.several import Several
from traceq.cli.source import write


@click.command(cls=Several, short_help="Say whether a fix won what its finding said.")
@click.argument("finding", metavar="FINDING")
@click.option("--before", multiple=True, required=True, metavar="SOURCE...", help="Runs before the fix.")
@click.option("--after", multiple=True, required=True, metavar="SOURCE...", help="Runs after it.")
@click.option(
    "--append",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Add the result to a file of checked predictions, e.g. docs/calibration.jsonl.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="[default: by the suffix of -o, else text]")
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="Compare this rank. [default: the lowest]")
@click.option("--anyway", is_flag=True, help="Measure what was won although GPUs, shapes or settings differ.")
@click.option("--step-range", metavar="REGEX", help="The annotations whose names match are the steps; for traces only.")
def verify(
    *,
    finding: str,
    before: tuple[str, ...],
    after: tuple[str, ...],
    append: Path | None,
    output: Path | None,
    format_: str | None,
    rank: int | None,
    anyway: bool,
    step_range: str | None,
) -> None:
    """Say whether FINDING is gone after a fix, how much was won, and whether that is what was predicted.

    FINDING is the id of a finding of the runs before, as `traceq report` gives it, or its rule. What was won is the
    difference of the mean steps, with an interval; the prediction is right when it may lie between the finding's bounds.

    \b
    Examples:
      traceq verify synchronous-loader --before w0.duckdb --after w4.duckdb
      traceq verify item-read --before a1.duckdb a2.duckdb --after b1.duckdb b2.duckdb --append calibration.jsonl
    """  # noqa: D301 - click wants the backspace itself
    name = format_ or format_of(output, default="text")
    check_regex(step_range)
    check_outputs([output, append], [*before, *after])
    from traceq.verification.calibration import append as append_line
    from traceq.verification.calibration import calibrated
    from traceq.verification.verify import verify as verify_runs

    sides = [side(sources, rank, output, step_range) for sources in (before, after)]
    verification = verify_runs(finding, *sides, anyway=anyway)
    line = calibrated(verification)
    if append is not None and line is None:
        click.echo(f"traceq: note: nothing is added to {append}: the prediction cannot be judged", err=True)
    elif append is not None and line is not None and not append_line(append, line):
        click.echo(f"traceq: note: {append} has this pair already", err=True)
    if name == "json":
        from traceq.reports.verification_to_json import verification_to_json

        write(verification_to_json(verification), output)
    else:
        from traceq.reports.compose_verification import compose_verification

        write_blocks(compose_verification(verification), name, output)
