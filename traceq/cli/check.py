"""traceq check: budgets and a baseline as a gate for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from traceq.cli import completion
from traceq.cli._options import (
    FILE,
    SHARE,
    document_options,
    noise_option,
    rank_option,
    reading,
    reading_options,
    timeout_option,
)
from traceq.cli._output import write, write_view
from traceq.common.text import printable
from traceq.reports import SUFFIXES

EXIT = {"pass": 0, "fail": 3, "cannot judge": 4}

_FORMATS = {suffix: name for suffix, name in SUFFIXES.items() if name != "html"}


@click.command(short_help="Fail when a budget is exceeded, or a baseline is missed.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=completion.files)
@click.option(
    "--budgets",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The budgets. [default: traceq.toml, if it is there]",
)
@click.option(
    "--baseline",
    metavar="NAME_OR_FILE",
    shell_complete=completion.baselines,
    help="Compare with this baseline, trace or trace database.",
)
@click.option(
    "--max-regression",
    type=SHARE,
    help="How much slower the step may be. [default: fail at any regression that compare is sure of]",
)
@noise_option
@click.option("--junit", type=FILE, metavar="FILE", help="Write JUnit XML.")
@click.option("--sarif", type=FILE, metavar="FILE", help="Write SARIF 2.1.0.")
@click.option("--code-quality", type=FILE, metavar="FILE", help="Write a Code Quality report for GitLab.")
@document_options(_FORMATS)
@rank_option("Check")
@timeout_option("the query of a budget")
@reading_options
@click.pass_context
def check(
    ctx: click.Context,
    /,
    *,
    sources: tuple[str, ...],
    junit: Path | None,
    sarif: Path | None,
    code_quality: Path | None,
    output: Path | None,
    format_: str,
    **options: Any,
) -> None:
    """Fail when budgets are exceeded, or when the step is slower than in a baseline.

    SOURCE is a trace database, a file that `traceq ingest` accepts, or a baseline; several are runs of the same program,
    judged together. Budgets are in traceq.toml: for the step, parts of the ledger, findings, and numbers that SQL of
    your own returns (docs/check.md). A regression fails when the steps show it; --max-regression allows some.

    Exit status: 0 all pass, 3 one fails, 4 none fails but one cannot be judged; 1 an error, 2 wrong usage.

    \b
    Examples:
      traceq check profile.duckdb
      traceq check run1.duckdb run2.duckdb --baseline main --max-regression 3%
      traceq check profile.sqlite --junit junit.xml --sarif traceq.sarif -o check.md
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.check import check as check_runs
    from traceq.reports.check.words import sentence

    view = check_runs(sources, **options, **reading(junit, sarif, code_quality, output))
    if junit is not None:
        write(view.to_junit(), junit)
    if sarif is not None:
        write(view.to_sarif(), sarif)
    if code_quality is not None:
        write(view.to_code_quality(), code_quality)
    write_view(view, format_, output)
    if output is not None:
        click.echo(printable(f"traceq check: {sentence(view.content)} See {output}."), err=True)
    ctx.exit(EXIT[view.state])
