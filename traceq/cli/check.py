"""traceq check: budgets and a baseline as a gate for CI."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli.blocks import write_blocks
from traceq.cli.ingest import check_regex
from traceq.cli.share import ShareType
from traceq.cli.source import write

if TYPE_CHECKING:
    import duckdb

    from traceq.budgets.budget import Budget, Check, Compare, Judged, Measured, State
    from traceq.budgets.read import BudgetFile
    from traceq.comparisons.comparison import Comparison
    from traceq.runs.run import Run

EXIT: dict[State, int] = {"pass": 0, "fail": 3, "cannot judge": 4}

_FORMATS = ("text", "md", "json")
_FORMAT_OF_SUFFIX = {".txt": "text", ".md": "md", ".json": "json"}
_LOCK = (
    "set errors_as_json = true",  # they say line and column
    "set enable_external_access = false",
    "set lock_configuration = true",
)


@click.command(short_help="Fail when a budget is exceeded, or a baseline is missed.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--budgets",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The budgets. [default: traceq.toml, if it is there]",
)
@click.option("--baseline", metavar="NAME_OR_FILE", help="Compare with this baseline, trace or trace database.")
@click.option(
    "--max-regression",
    type=ShareType(),
    help="How much slower the step may be. [default: fail at any regression that compare is sure of]",
)
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write JUnit XML.")
@click.option("--sarif", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write SARIF 2.1.0.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option("--format", "format_", type=click.Choice(_FORMATS), help="[default: by the suffix of -o, else text]")
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="Check this rank. [default: the lowest]")
@click.option("--step-range", metavar="REGEX", help="The annotations whose names match are the steps; for traces only.")
@click.pass_context
def check(
    ctx: click.Context,
    *,
    sources: tuple[str, ...],
    budgets: Path | None,
    baseline: str | None,
    max_regression: float | None,
    junit: Path | None,
    sarif: Path | None,
    output: Path | None,
    format_: str | None,
    rank: int | None,
    step_range: str | None,
) -> None:
    """Fail when budgets are exceeded, or when the step is slower than in a baseline.

    SOURCE is a trace database, what `traceq ingest` accepts, or a baseline; several are runs of the same program,
    judged together. Budgets are in traceq.toml: for the step, parts of the ledger, findings, and numbers that SQL of
    your own returns (docs/check.md). A regression fails when the steps show it; --max-regression allows some.

    Exit status: 0 all pass, 3 one fails, 4 none fails but one cannot be judged; 1 an error, 2 wrong usage.

    \b
    Examples:
      traceq check profile.duckdb
      traceq check run1.duckdb run2.duckdb --baseline main --max-regression 3%
      traceq check profile.sqlite --junit junit.xml --sarif traceq.sarif -o check.md
    """  # noqa: D301 - click wants the backspace itself
    name = format_ or _format_of(output)
    check_regex(step_range)
    file, against = _asked(budgets, baseline, max_regression)
    outputs = [each for each in (junit, sarif, output) if each is not None]
    _check_outputs(
        outputs, [*sources, *([file.path] if file else []), *([against.baseline] if against.baseline else [])]
    )
    measured = _measured(sources, file.budgets if file else (), rank, outputs, step_range)
    if not measured:
        raise click.UsageError(f"There is no trace in {', '.join(sources)}: nothing to check.")
    content = _judge(file, against, measured, rank)
    _write(content, junit, sarif, name, output)
    ctx.exit(EXIT[content.state])


def _format_of(output: Path | None) -> str:
    if output is None:
        return "text"
    try:
        return _FORMAT_OF_SUFFIX[output.suffix.lower()]
    except KeyError:
        known = ", ".join(_FORMAT_OF_SUFFIX)
        raise click.UsageError(f"{output}: no format has this suffix ({known}); say --format.") from None


def _asked(
    budgets: Path | None, baseline: str | None, max_regression: float | None
) -> tuple[BudgetFile | None, Compare]:
    """The file of budgets, and what to compare with: the command line comes before the file."""
    from dataclasses import replace

    from traceq.budgets.budget import Compare
    from traceq.budgets.read import NAME, read

    path = budgets or (Path(NAME) if Path(NAME).is_file() else None)
    file = read(path) if path else None
    against = file.compare if file else Compare()
    if baseline is not None:
        against = replace(against, baseline=baseline)
    elif file is not None and against.baseline is not None:
        against = replace(against, baseline=_beside(file.path, against.baseline))
    if max_regression is not None:
        if against.baseline is None:
            raise click.UsageError("--max-regression needs a baseline: say --baseline NAME_OR_FILE.")
        # Not what the file says: it has no line there.
        against = replace(against, max_regression=Fraction(repr(max_regression)), line=None)
    if against.baseline is not None:
        _check_baseline(against.baseline)
    if not against.is_asked and (file is None or not file.budgets):
        raise click.UsageError(
            f"{path} has no budgets: docs/check.md says how to write them; or say --baseline NAME."
            if path
            else f"Nothing to check: there is no {NAME} here; write one (docs/check.md), or say --baseline NAME."
        )
    return file, against


def _beside(file: str, baseline: str) -> str:
    """A baseline of a file of budgets is a name, or a path from where the file is."""
    path = Path(file).parent / baseline
    return str(path) if path.is_file() else baseline


def _check_baseline(baseline: str) -> None:
    """Say that there is none before sources are read."""
    from traceq import baselines
    from traceq.errors import UnusableBaseline

    if not Path(baseline).exists() and not any(mark in baseline for mark in "*?[") and baselines.find(baseline) is None:
        raise UnusableBaseline(baselines.missing(baseline))


def _check_outputs(outputs: Sequence[Path], inputs: Sequence[str]) -> None:
    """Refuse to write what is read, or one file twice, and refuse before reading what cannot be written after."""
    from traceq.cli.runs import check_outputs

    check_outputs(outputs, inputs)
    if len({each.resolve() for each in outputs}) < len(outputs):
        raise click.UsageError("Two options name the same file to write: name another.")


def _keep(outputs: Sequence[Path], read: Sequence[Path]) -> None:
    inputs = {each.resolve() for each in read}
    for output in outputs:
        if output.resolve() in inputs:
            raise click.UsageError(f"{output} is one of the files that are read: name another file to write.")


def _measured(
    sources: Sequence[str], budgets: Sequence[Budget], rank: int | None, outputs: Sequence[Path], step_range: str | None
) -> list[Measured]:
    """The runs of all sources, one rank of each, with what the queries of the budgets return."""
    return [each for source in sources for each in _of_source(source, budgets, rank, outputs, step_range)]


def _of_source(
    source: str, budgets: Sequence[Budget], rank: int | None, outputs: Sequence[Path], step_range: str | None
) -> list[Measured]:
    from traceq.budgets.budget import Measured
    from traceq.cli.runs import every_run, of_rank
    from traceq.sql.facts import rows

    asked: list[Measured] = []

    def ask(connection: duckdb.DuckDBPyConnection, runs: list[Run]) -> None:
        traces = rows(connection, "trace")
        # Relative to here, or to the database.
        _keep(outputs, [path for row in traces for path in (Path(row["path"]), Path(source).parent / row["path"])])
        chosen = {id(run) for run in of_rank(runs, rank, source)}
        for setting in _LOCK:
            connection.execute(setting)
        for run, trace in zip(runs, traces, strict=True):
            if id(run) in chosen:
                answers = _answers(connection, budgets, run, trace["trace_id"])
                asked.append(Measured(run, trace["trace_id"], answers))

    runs = every_run(source, None, step_range, ask)
    return asked or [Measured(run) for run in of_rank(runs, rank, source)]


def _answers(
    connection: duckdb.DuckDBPyConnection, budgets: Sequence[Budget], run: Run, trace_id: int
) -> dict[str, Fraction | str]:
    """Queries are anybody's: they read their database and nothing else, and may take for ever."""
    from traceq.budgets.sql import ask
    from traceq.queries import interruptible

    return {
        budget.name: interruptible(connection, partial(ask, connection, budget.query, run, trace_id))
        for budget in budgets
        if budget.query is not None
    }


def _judge(file: BudgetFile | None, against: Compare, measured: Sequence[Measured], rank: int | None) -> Check:
    from traceq.budgets.budget import Check
    from traceq.budgets.evaluate import evaluate

    runs = tuple(each.run for each in measured)
    judged = list(evaluate(file.budgets, measured)) if file else []
    comparison = None
    if against.baseline is not None:
        comparison = _compared(against, runs, rank)
    if against.is_asked:
        judged.append(_regression(against, comparison))
    return Check(
        path=file.path if file else None,
        runs=runs,
        judged=tuple(judged),
        baseline=against.baseline,
        baseline_path=_path_of(against.baseline) if against.baseline else None,
        comparison=comparison,
    )


def _compared(against: Compare, runs: Sequence[Run], rank: int | None) -> Comparison:
    from traceq.cli.runs import side
    from traceq.comparisons.compare import FLOOR, LEVEL, SENSITIVITY, compare

    allowed = against.max_regression
    return compare(
        side([str(against.baseline)], rank),
        runs,
        level=LEVEL if against.level is None else against.level,
        # A regression of the size that fails is not too small, and steps that could not show it are no proof that there is none.
        floor_share=FLOOR if allowed is None else min(FLOOR, float(allowed)),
        sensitivity_share=SENSITIVITY if allowed is None else min(SENSITIVITY, float(allowed)),
    )


def _regression(against: Compare, comparison: Comparison | None) -> Judged:
    from traceq.budgets.budget import SHARE, Budget, Limit
    from traceq.budgets.regression import regression

    allowed = against.max_regression
    limits = () if allowed is None else (Limit("at most", allowed, SHARE),)
    return regression(Budget("compare", against.baseline or "a baseline", limits, against.line), comparison)


def _path_of(baseline: str) -> str | None:
    """The file of a baseline that was given by name or path."""
    from traceq import baselines

    if Path(baseline).exists():
        return baseline
    path = baselines.path_of(baseline)
    return str(path) if path.is_file() else None


def _write(content: Check, junit: Path | None, sarif: Path | None, name: str, output: Path | None) -> None:
    if junit is not None:
        from traceq.reports.check_to_junit import check_to_junit

        write(check_to_junit(content), junit)
    if sarif is not None:
        from traceq.reports.check_to_sarif import check_to_sarif

        write(check_to_sarif(content, Path.cwd()), sarif)
    if name == "json":
        from traceq.reports.check_to_json import check_to_json

        write(check_to_json(content), output)
    else:
        from traceq.reports.compose_check import compose_check

        write_blocks(compose_check(content), name, output)
    if output is not None:
        from traceq.reports.check_words import sentence

        click.echo(f"traceq check: {sentence(content)} See {output}.", err=True)
