"""traceq check: budgets and a baseline as a gate for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._ci_files import CiFiles, ci_options
from traceq.cli._options import SHARE, document_options, noise_option, rank_option, read_options, timeout_option
from traceq.cli._output import write_view
from traceq.common.text import printable
from traceq.reports import SUFFIXES

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions, Which

EXIT = {"pass": 0, "fail": 3, "cannot judge": 4}

_FORMATS = {suffix: name for suffix, name in SUFFIXES.items() if name != "html"}


@click.command(short_help="Fail if a run exceeds a budget, or is slower than a baseline.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=completion.complete_files)
@click.option(
    "--budgets",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The file of budgets. [default: traceq.toml, if there is one]",
)
@click.option(
    "--baseline",
    metavar="NAME_OR_FILE",
    shell_complete=completion.complete_baselines,
    help="Compare with this baseline, trace or trace database.",
)
@click.option(
    "--against",
    metavar="history[:FILE]",
    shell_complete=completion.complete_files,
    help="Compare with a history of reports (traceq history): a creep or a lasting change since it was accepted fails.",
)
@click.option(
    "--quantity",
    "quantities",
    multiple=True,
    metavar="NAME",
    help="With --against: judge this quantity; repeatable. [default: the step]",
)
@click.option("--program", metavar="NAME", help="With --against: the program, where the history has several.")
@click.option(
    "--max-regression",
    type=SHARE,
    help="How much slower the step may be. [default: fail at any regression the steps prove; of a history 2%]",
)
@click.option("--fail-on-likely", is_flag=True, help="Also fail at a likely regression.")
@noise_option
@ci_options("Write JUnit XML.")
@document_options(_FORMATS)
@rank_option("Check")
@timeout_option("the query of a budget")
@read_options
@click.pass_context
def check(
    ctx: click.Context,
    /,
    *,
    sources: tuple[str, ...],
    budgets: Path | None,
    baseline: str | None,
    against: str | None,
    quantities: tuple[str, ...],
    program: str | None,
    max_regression: float | None,
    fail_on_likely: bool,
    noise: str | None,
    ci: CiFiles,
    output: Path | None,
    format_: str,
    which: Which,
    read: ReadOptions,
) -> None:
    """Fail when budgets are exceeded, or when the step is slower than in a baseline or over a history.

    SOURCE is a trace database, a file that `traceq ingest` accepts, or a baseline; several are runs of the same program,
    judged together. Budgets are in traceq.toml: for the step, parts of the ledger, findings, and numbers that your own
    SQL returns (docs/check.md). A regression fails if the steps prove it; --max-regression allows some.

    Exit status: 0 all pass, 3 one fails, 4 none fails but one cannot be judged; 1 an error, 2 wrong usage.

    \b
    Examples:
      traceq check profile.duckdb
      traceq check run1.duckdb run2.duckdb --baseline main --max-regression 3%
      traceq check profile.sqlite --junit junit.xml --sarif traceq.sarif -o check.md
      traceq check profile.duckdb --against history
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.check import check as check_runs
    from traceq.app.check_history import parse_against
    from traceq.reports.check.words import outcome_sentence

    view = check_runs(
        sources,
        which,
        read.with_writes(*ci, output),
        budgets=budgets,
        baseline=baseline,
        max_regression=max_regression,
        fail_on_likely=fail_on_likely,
        noise=noise,
        history=None if against is None else parse_against(against),
        quantities=quantities,
        program=program,
    )
    ci.write(view)
    write_view(view, format_, output)
    if output is not None:
        click.echo(printable(f"traceq check: {outcome_sentence(view.content)} See {output}."), err=True)
    ctx.exit(EXIT[view.state])
