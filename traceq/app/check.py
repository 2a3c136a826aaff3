"""Check: budgets and a baseline as a gate for CI."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from traceq.app.check_history import check_history
from traceq.app.noise import read_known_noise
from traceq.app.read_options import AS_FOUND, LOWEST, KnownNoiseOf, ReadOptions, Which
from traceq.app.source import Source, Sources, as_list, check_writes, is_trace, open_runs, read_runs_of
from traceq.app.view import T, View
from traceq.common.limits import limits
from traceq.database.user_sql import run_interruptibly, too_long
from traceq.errors import QueryError, UnusableBaseline, WrongUse
from traceq.reports.check.check import compose_check
from traceq.reports.comparison.job import name_moved
from traceq.reports.comparison.verdict import describe_cause
from traceq.reports.document import Block
from traceq.reports.renderers.check_to_code_quality import check_to_code_quality
from traceq.reports.renderers.check_to_json import check_to_json
from traceq.reports.renderers.check_to_junit import check_to_junit
from traceq.reports.renderers.check_to_sarif import check_to_sarif
from traceq.runs import baselines
from traceq.runs.budgets.budget import SHARE, Budget, Check, Compare, JudgedBudget, Limit, MeasuredBudget, State
from traceq.runs.budgets.judge import ask_number, evaluate
from traceq.runs.budgets.read import NAME, BudgetFile
from traceq.runs.budgets.read import read as read_budgets
from traceq.runs.budgets.regression import judge_regression
from traceq.runs.compare.compare import FLOOR, LEVEL, SENSITIVITY, compare
from traceq.runs.compare.comparison import Comparison
from traceq.runs.compare.jobs import compare_jobs, jobs_of
from traceq.runs.run import Run
from traceq.runs.sources import file_of

if TYPE_CHECKING:
    import duckdb


class CiView(View[T]):
    """The result of `traceq check` or `compare`, which can also be written for CI systems (JUnit, SARIF, Code Quality)."""

    @abstractmethod
    def _check(self) -> Check:
        """Return the result as a check of budgets, for the formats of CI systems."""

    def to_junit(self) -> str:
        """Return the result as JUnit XML: a test case for each budget, or one for the comparison."""
        return check_to_junit(self._check())

    def to_sarif(self, root: str | Path = ".") -> str:
        """Return the result as SARIF 2.1.0 (JSON), with paths relative to `root`."""
        return check_to_sarif(self._check(), Path(root).resolve())

    def to_code_quality(self, root: str | Path = ".") -> str:
        """Return the result as a Code Quality report for GitLab (JSON), with paths relative to `root`."""
        return check_to_code_quality(self._check(), Path(root))


class CheckView(CiView[Check]):
    """The result of a check of budgets; `content` is the result as plain data."""

    @property
    def state(self) -> State:
        """The state of the check: pass, fail, or cannot judge."""
        return self.content.state

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_check(self.content)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs; docs/check.md describes the keys."""
        return check_to_json(self.content)

    def _check(self) -> Check:
        return self.content


def check(
    sources: Sources,
    which: Which = LOWEST,
    read: ReadOptions = AS_FOUND,
    *,
    budgets: str | Path | None = None,
    baseline: str | Path | None = None,
    max_regression: float | None = None,
    noise: KnownNoiseOf | None = None,
    fail_on_likely: bool = False,
    history: str | Path | None = None,
    quantities: Sequence[str] = (),
    program: str | None = None,
) -> CheckView:
    """Check budgets, and the step against a baseline or a history; traceq.app.api.check describes the parameters.

    Raises ValueError if neither is given, WrongUse without a trace or for `fail_on_likely` without a baseline,
    UnusableBudget and UnusableBaseline.
    """
    sources = as_list(sources)
    if history is None and (quantities or program is not None):
        raise WrongUse("--quantity and --program are for --against history.")
    of_baseline = None if history is not None and baseline is None else max_regression
    named = None if baseline is None else str(baseline)
    file, against = _read_request(budgets, named, of_baseline, noise, is_asked=history is not None)
    if fail_on_likely:
        if against.baseline is None:
            raise WrongUse("--fail-on-likely needs a baseline: give --baseline NAME_OR_FILE.")
        against = replace(against, fail_on_likely=True)
    inputs: list[Source] = [*sources, *([file.path] if file else []), *([against.baseline] if against.baseline else [])]
    check_writes(read.writes, inputs)
    measured = [result for source in sources for result in _measure(source, file.budgets if file else (), which, read)]
    if not measured:
        raise WrongUse(f"There is no trace in {', '.join(map(str, sources))}: nothing to check.")
    runs = [result.run for result in measured]
    comparison = None if against.baseline is None else _compare_with(against.baseline, against, runs, which, read)
    judged = list(evaluate(file.budgets, measured)) if file else []
    if against.is_asked:
        allowed = against.max_regression
        bounds = () if allowed is None else (Limit("at most", allowed, SHARE),)
        budget = Budget("compare", against.baseline or "a baseline", bounds, against.line)
        found = judge_regression(budget, comparison, fail_on_likely=against.fail_on_likely)
        judged.append(with_cause(found, comparison))
    if history is not None:
        allowed = None if max_regression is None else Fraction(repr(max_regression))
        judged += check_history(
            sources, Path(history), read, quantities=quantities, max_regression=allowed, program=program
        )
    against_file = file_of(against.baseline) if against.baseline else None
    return CheckView(
        Check(
            path=file.path if file else None,
            runs=tuple(runs),
            judged=tuple(judged),
            baseline=against.baseline,
            baseline_path=str(against_file) if against_file and against_file.exists() else None,
            comparison=comparison,
        )
    )


def _read_request(
    budgets: str | Path | None,
    baseline: str | None,
    max_regression: float | None,
    noise: KnownNoiseOf | None,
    *,
    is_asked: bool = False,
) -> tuple[BudgetFile | None, Compare]:
    """Return the budget file, if any, and what to compare with; arguments override the file's table [compare].

    `is_asked` says that there is something else to check.
    Raises WrongUse when there is nothing to check or an argument needs a baseline, UnusableBaseline when that is
    missing.
    """
    path = Path(budgets) if budgets else Path(NAME) if Path(NAME).is_file() else None
    file = read_budgets(path) if path else None
    against = file.compare if file else Compare()
    if baseline is not None:
        against = replace(against, baseline=baseline)
    elif file is not None and against.baseline is not None:
        # A name, or a path from where the file is.
        beside = Path(file.path).parent / against.baseline
        against = replace(against, baseline=str(beside) if beside.is_file() else against.baseline)
    if max_regression is not None:
        if against.baseline is None:
            raise WrongUse("--max-regression needs a baseline: give --baseline NAME_OR_FILE.")
        # Not what the file says: it has no line there.
        against = replace(against, max_regression=Fraction(repr(max_regression)), line=None)
    if noise is not None:
        if against.baseline is None:
            raise WrongUse("--noise needs a baseline: give --baseline NAME_OR_FILE.")
        against = replace(against, noise=str(noise))
    name = against.baseline or "."
    if not Path(name).exists() and not any(mark in name for mark in "*?[") and baselines.find(name) is None:
        raise UnusableBaseline(baselines.explain_missing(name))  # before sources are read
    if not is_asked and not against.is_asked and (file is None or not file.budgets):
        raise WrongUse(
            f"{path} has no budgets: docs/check.md says how to write them; or give --baseline NAME."
            if path
            else f"Nothing to check: there is no {NAME} here; write one (docs/check.md), or give --baseline NAME."
        )
    return file, against


def _measure(source: Source, budgets: Sequence[Budget], which: Which, read: ReadOptions) -> list[MeasuredBudget]:
    """Return the runs of a source, each with the results of the budgets' SQL queries."""
    with open_runs(source, which, read) as (connection, runs):
        if connection is None:
            return [MeasuredBudget(run) for run in runs.values()]
        connection.execute("set errors_as_json = true")  # they say line and column
        return [
            MeasuredBudget(
                run,
                trace_id,
                {
                    budget.name: _run_query(connection, partial(ask_number, connection, budget.query, run, trace_id))
                    for budget in budgets
                    if budget.query is not None
                },
            )
            for trace_id, run in runs.items()
        ]


def _run_query(connection: duckdb.DuckDBPyConnection, asked: Callable[[], Fraction | str]) -> Fraction | str:
    """Return the number or text that `asked` returns, run within the user's time limit; the error's text if it fails."""
    timeout = limits().timeout
    try:
        return run_interruptibly(connection, asked, timeout, too_long("the query", timeout))
    except QueryError as error:
        return str(error)


def _compare_with(baseline: str, against: Compare, runs: Sequence[Run], which: Which, read: ReadOptions) -> Comparison:
    """Compare the runs with the baseline: as jobs if both sides are jobs of several ranks and none was named."""
    allowed = against.max_regression
    base = read_runs_of(baseline, Which(which.rank), read if is_trace(baseline) else AS_FOUND)
    are_jobs = not which.is_named and jobs_of(base) and jobs_of(runs)
    return (compare_jobs if are_jobs else compare)(
        base,
        runs,
        level=LEVEL if against.level is None else against.level,
        # A regression of the size that fails is not too small, and steps that could not show it are no proof that there is none.
        floor_share=FLOOR if allowed is None else min(FLOOR, float(allowed)),
        sensitivity_share=SENSITIVITY if allowed is None else min(SENSITIVITY, float(allowed)),
        noise=read_known_noise(against.noise, which.rank),
    )


def with_cause(judged: JudgedBudget, comparison: Comparison | None) -> JudgedBudget:
    """Return a failed regression with its likely cause added to the reason; for a job, the ranks that moved it."""
    if judged.state != "fail" or comparison is None:
        return judged
    if comparison.job is not None and comparison.job.moved:
        return replace(judged, reason=f"{judged.reason}. The change comes from {name_moved(comparison.job)}")
    if not comparison.named:
        return judged
    return replace(judged, reason=f"{judged.reason}. Most of it is {''.join(describe_cause(comparison.named[0]))}")
