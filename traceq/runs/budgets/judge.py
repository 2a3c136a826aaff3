"""Judge each budget: of the step, its ledger, findings, jobs, and numbers of the user's own SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from traceq.common.text import printable
from traceq.common.units import duration, short, some
from traceq.database.query import Setting, literal
from traceq.database.sql import statement
from traceq.database.user_sql import check_depth, one_line_errors, split_statements, writes_within
from traceq.diagnosis.subject import WORTH_LISTING
from traceq.errors import QueryError
from traceq.runs.budgets.budget import ANY, NANOSECONDS, SHARE, SUMS, Budget, JudgedBudget, MeasuredBudget, State
from traceq.runs.compare.side import step_ns
from traceq.runs.job.job import JobOfRun
from traceq.runs.run import TRIM, FindingKept, PartKept, Run

if TYPE_CHECKING:
    import duckdb


def judge_by_limits(budget: Budget, measured: Fraction, *, reason: str = "", query: str | None = None) -> JudgedBudget:
    """Return a pass if `measured` (in the budget's unit) is within all limits of the budget, else a fail.

    `query` is SQL with which a user can measure it again.
    """
    state: State = "pass" if all(limit.holds(measured) for limit in budget.limits) else "fail"
    return JudgedBudget(budget, state, measured, reason, query)


def cannot_judge(
    budget: Budget, reason: str, *, measured: Fraction | None = None, query: str | None = None
) -> JudgedBudget:
    """Return the result `cannot judge`, with the reason and what was measured."""
    return JudgedBudget(budget, "cannot judge", measured, reason, query)


def reproducing_query(measured: Sequence[MeasuredBudget], name: str, **values: Setting) -> str | None:
    """Return the SQL text of the package's file `name`, with its parameters filled in, so that a user can run it.

    None for several runs, and for a run without a database.
    """
    if len(measured) != 1 or measured[0].trace_id is None:
        return None
    return literal(statement(name), trace_id=measured[0].trace_id, **values)


# Below so many steps the longest few decide, and a percentile is one of them.
LEAST_STEPS = {"p90": 10, "p95": 20, "p99": 100}
_QUANTILES = {"p50": Fraction(50, 100), "p90": Fraction(90, 100), "p95": Fraction(95, 100), "p99": Fraction(99, 100)}

NO_STEPS = "no steps were found; mark them, or ingest with --step-range"


def judge_step(budget: Budget, measured: Sequence[MeasuredBudget]) -> JudgedBudget:
    """Judge a statistic of the duration of counted steps.

    For `typical` and `mean` all runs weigh the same, for percentiles and `max` all steps. Cannot judge with too few
    steps.
    """
    durations = sorted(step.dur for one in measured for step in one.run.counted)
    reason = explain_no_steps(measured)
    least = LEAST_STEPS.get(budget.name, 1)
    if reason or len(durations) < least:
        counted = some(len(durations), "step counts", "steps count")
        return cannot_judge(budget, reason or f"{counted}, too few for {budget.name}: at least {least} are needed")
    query = "runs/budgets/typical.sql" if budget.name == "typical" else "analysis/steps/statistics.sql"
    return judge_by_limits(
        budget, _step_duration(budget.name, durations, measured), query=reproducing_query(measured, query)
    )


def judge_throughput(budget: Budget, measured: Sequence[MeasuredBudget]) -> JudgedBudget:
    """Judge the work per second (samples, tokens, ...) that payload marks count, over the mean step.

    All runs weigh the same. Cannot judge unless every run has steps with these marks.
    """
    reason = explain_no_steps(measured)
    lacking = next((one.run for one in measured if budget.name not in one.run.payload), None)
    if lacking is not None and not reason:
        there = ", ".join(sorted(lacking.payload)) or "none; traceq.annotate.payload makes them"
        reason = f"{lacking.file} has no payload mark {budget.name!r} in its steps (there: {there})"
    mean = Fraction(0) if reason else step_ns([one.run for one in measured], "mean")
    if reason or not mean:
        return cannot_judge(budget, reason or "steps have no duration")
    work = sum((Fraction(repr(one.run.payload[budget.name])) for one in measured), Fraction(0)) / len(measured)
    return judge_by_limits(
        budget,
        work * 1_000_000_000 / mean,
        query=reproducing_query(measured, "analysis/steps/throughput.sql", top=1_000),
    )


def judge_ledger(budget: Budget, measured: Sequence[MeasuredBudget]) -> JudgedBudget:
    """Judge the time (or share) of one or several ledger categories in the mean step; all runs weigh the same."""
    runs = [one.run for one in measured]
    reason = explain_no_steps(measured)
    if budget.unit == SHARE and all(run.is_window for run in runs):
        reason = ""  # of a window there are shares
    without = next((run for run in runs if not any(step.gpu_ledger for step in run.counted)), None)
    if not reason and without is not None:
        reason = f"{without.file} has no GPU ledger: no GPU work was recorded in its steps"
    mean = Fraction(0) if reason else step_ns(runs, "mean")
    if reason or not mean:
        return cannot_judge(budget, reason or "steps have no duration")
    categories = SUMS.get(budget.name, (budget.name,))
    time = sum((_per_step(run, categories) for run in runs), Fraction(0)) / len(runs)
    return judge_by_limits(
        budget,
        time / mean if budget.unit == SHARE else time,
        query=reproducing_query(measured, "analysis/ledger/ledger.sql"),
    )


def _per_step(run: Run, categories: Sequence[str]) -> Fraction:
    """Return the run's time in the categories per counted step, ns, exactly."""
    held = sum(step.ledger.get(category, 0) for step in run.counted for category in categories)
    return Fraction(held, len(run.counted))


def explain_no_steps(measured: Sequence[MeasuredBudget]) -> str:
    """Return why there are no durations of steps to judge: a run has no steps, or none that counts.

    Empty if all runs have them.
    """
    if any(one.run.is_window for one in measured):
        return NO_STEPS
    without = next((one.run for one in measured if not one.run.counted), None)
    return f"{without.file} has no steps that count" if without else ""


def _step_duration(name: str, durations: Sequence[int], measured: Sequence[MeasuredBudget]) -> Fraction:
    """Return the statistic `name` of the step, ns; `durations` are those of all counted steps, sorted."""
    runs = [one.run for one in measured]
    if name == "typical":
        return step_ns(runs, "typical")
    if name == "mean":
        return step_ns(runs, "mean")
    return Fraction(durations[-1]) if name == "max" else interpolate_quantile(durations, _QUANTILES[name])


def interpolate_quantile(ordered: Sequence[int], share: Fraction) -> Fraction:
    """Return the quantile `share` (0..1) of sorted numbers, interpolated linearly, as DuckDB's quantile_cont does."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def judge_findings(budget: Budget, measured: Sequence[MeasuredBudget]) -> JudgedBudget:
    """Judge the likely saving per step of a rule's findings, in the run where it is largest.

    For ANY, of the largest finding. Without a limit any finding fails. Cannot judge where the rule could not judge a
    run.
    """
    runs = [one.run for one in measured]
    reason = _explain_unfit(budget, runs)
    if reason:
        return cannot_judge(budget, reason)
    worst, found = max(((_sum_savings(budget, run), run) for run in runs), key=lambda pair: pair[0])
    named = list(_findings_of(budget, found))
    said = "; ".join(f"{each.title} ({each.finding_id})" for each in named[:3])
    if not budget.limits:
        return (
            JudgedBudget(budget, "fail" if named else "pass", worst, said)
            if named
            else _pass_if_visible(budget, runs, worst)
        )
    outcome = judge_by_limits(budget, worst, reason=said)
    return outcome if outcome.state == "fail" else _pass_if_visible(budget, runs, worst, said)


def _pass_if_visible(budget: Budget, runs: Sequence[Run], worst: Fraction, said: str = "") -> JudgedBudget:
    """Return a pass, or `cannot judge` when the rule could not judge a run or reports no savings as small as the limit."""
    for run in runs:
        if budget.name in run.cannot_tell:
            return cannot_judge(budget, f"the rule cannot tell on {run.file}: {run.cannot_tell[budget.name]}")
    smallest = max(step_ns([run], "mean") for run in runs) * Fraction(str(WORTH_LISTING))
    if any(limit.unit == NANOSECONDS and max(limit.amount, worst) < smallest for limit in budget.limits):
        return cannot_judge(
            budget,
            f"anything that saves less than 1 % of the step ({short(float(smallest) / 1e6)} ms) is not a finding: "
            'write "absent", or a limit above it',
        )
    return JudgedBudget(budget, "pass", worst, said)


def _explain_unfit(budget: Budget, runs: Sequence[Run]) -> str:
    """Return why findings of the runs cannot be judged by this budget; empty if they can."""
    for run in runs:
        if not run.counted or not step_ns([run], "mean"):
            return f"{run.file} has no steps that count"
        if run.is_window and any(limit.unit == NANOSECONDS for limit in budget.limits):
            return NO_STEPS
        if budget.name == ANY and not any(step.gpu_ledger for step in run.counted):
            return f"{run.file} has no GPU ledger, without which there are no findings"
    return ""


def _findings_of(budget: Budget, run: Run) -> Iterator[FindingKept | PartKept]:
    """Return the run's findings that the budget judges, largest saving first.

    For a rule these are its findings, also those that are part of another one. For ANY they are all ranked findings, or
    only the largest if there is a limit.
    """
    found = run.findings if budget.name == ANY else run.found
    largest = sorted(found, key=lambda each: (-each.saving_ns, each.finding_id))
    if budget.name == ANY:
        return iter(largest if not budget.limits else largest[:1])
    return (each for each in largest if each.rule == budget.name)


def _sum_savings(budget: Budget, run: Run) -> Fraction:
    """Return the likely saving of the budget's findings in the run, in its unit (ns, or a share of the step).

    For a rule it is the sum, for ANY the largest; 0 without findings.
    """
    savings = [Fraction(repr(float(each.saving_ns))) for each in _findings_of(budget, run)]
    saving = sum(savings, Fraction(0)) if budget.name != ANY else max(savings, default=Fraction(0))
    return saving if budget.unit == NANOSECONDS else saving / step_ns([run], "mean")


def judge_job(budget: Budget, measured: Sequence[MeasuredBudget]) -> JudgedBudget:
    """Judge a job of several ranks: its typical step, its slowdown by late ranks, or the cost of its worst straggler.

    Cannot judge unless every run is a rank of a job.
    """
    jobs = {event.run.job.sha256: event.run.job for event in measured if event.run.job is not None}
    if any(event.run.job is None for event in measured):
        return cannot_judge(budget, "these are not several ranks of one job: ingest the traces of all ranks together")
    if budget.name == "step":
        return _judge_job_step(
            budget, [(event.run.is_window, event.run.job) for event in measured if event.run.job is not None]
        )
    for job in jobs.values():
        if job.slowdown is None:
            return cannot_judge(
                budget,
                f"it is not known who is late in {job.name or 'the job'}: {job.cannot_tell or 'it was not judged'}",
            )
    if budget.name == "slowdown":
        worst = max(jobs.values(), key=lambda each: each.slowdown or 0.0)
        return judge_by_limits(budget, Fraction(str(worst.slowdown)), reason=_name_stragglers(worst))
    return _judge_straggler(budget, list(jobs.values()))


def _judge_job_step(budget: Budget, jobs: Sequence[tuple[bool, JobOfRun]]) -> JudgedBudget:
    """Judge the mean typical step over all ranks of the jobs.

    `jobs` pairs whether a run is a window without steps with its job.
    """
    if any(is_window for is_window, _ in jobs):
        return cannot_judge(budget, NO_STEPS)
    typical = []
    for _, each in jobs:
        counted = sorted(step.dur for step in each.steps if step.excluded is None)
        if not counted:
            return cannot_judge(budget, "no counted step is on all ranks")
        left_out = len(counted) // TRIM
        typical.append(Fraction(sum(counted[left_out : len(counted) - left_out]), len(counted) - 2 * left_out))
    return judge_by_limits(budget, sum(typical, Fraction(0)) / len(typical))


def _judge_straggler(budget: Budget, jobs: Sequence[JobOfRun]) -> JudgedBudget:
    """Judge the time per step that the worst straggler (rank, host or stage) of any job costs.

    Without a limit any one fails.
    """
    worst = max(jobs, key=_worst_cost)
    cost = Fraction(_worst_cost(worst))
    if budget.unit != NANOSECONDS:
        cost = cost * worst.steps_told / worst.dur if worst.dur else Fraction(0)
    if not budget.limits:
        return JudgedBudget(budget, "fail" if worst.stragglers else "pass", cost, _name_stragglers(worst))
    return judge_by_limits(budget, cost, reason=_name_stragglers(worst))


def _worst_cost(job: JobOfRun) -> int:
    """Return the largest cost of any straggler or rank, ns per step; 0 without one."""
    named = [cost for straggler in job.stragglers for cost in (straggler.adds_ns, straggler.win_ns)]
    return max((*named, *(rank.win_ns or 0 for rank in job.ranks)), default=0)


def _name_stragglers(job: JobOfRun) -> str:
    """Return the names and costs of the first few stragglers, as text for a budget's reason."""
    listed = 3
    told = [f"{straggler.name} ({duration(straggler.adds_ns)} a step)" for straggler in job.stragglers[:listed]]
    more = len(job.stragglers) - listed
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


_NO_DATABASE = "a baseline has no tables to query: give the trace or its database"
_LONGEST = 200


def ask_number(connection: duckdb.DuckDBPyConnection, query: str, run: Run, trace_id: int) -> Fraction | str:
    """Run the user's `query` on the run's database and return the number that it gives, or a text that says why it gives none.

    The query may use $trace_id and $device, which are filled in. The connection must be read-only and locked.
    """
    try:
        with one_line_errors(query):
            check_depth(query)
            if len(split_statements(query)) != 1:
                return "it is not a single query"
            (parsed,) = connection.extract_statements(query)
            if parsed.type.name != "SELECT" or writes_within(query):
                return "it is not a query: it must begin with select, from or with"
            given = {
                name: value
                for name, value in _query_parameters(run, trace_id).items()
                if name in parsed.named_parameters
            }
            cursor = connection.execute(query, given or None)
            columns = len(cursor.description or ())
            rows = cursor.fetchmany(2)
    except QueryError as error:
        return f"the query fails: {error}"
    if columns != 1:
        return f"the query returns {columns} columns, not one number"
    if len(rows) != 1:
        return "the query returns several rows, not one number" if rows else "the query returns no row"
    return _read_number(rows[0][0])


def _query_parameters(run: Run, trace_id: int) -> dict[str, int]:
    """Return the parameters that a user's query may name: the trace's id, and its critical device (-2 without a GPU)."""
    return {"trace_id": trace_id, "device": -2 if run.device is None else run.device}


def _read_number(value: object) -> Fraction | str:
    """Return the value of a query's only cell as an exact number, or a text that says why it is none."""
    if value is None:
        return "the query returns NULL: the trace does not have this value"
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        shown = printable(str(value)[:_LONGEST])
        return f"the query returns {repr(shown) if isinstance(value, str) else shown}, not a number"
    if isinstance(value, float) and not math.isfinite(value):
        return f"the query returns {value}, not a number"
    # A double is taken as it is written: 0.1 keeps a limit of 0.1.
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def judge_sql(budget: Budget, measured: Sequence[MeasuredBudget]) -> JudgedBudget:
    """Judge the number that the user's SQL gave: of several runs' numbers the one furthest beyond the limits.

    Cannot judge if the query gave no number for some run.
    """
    query = _fill_in_query(budget, measured)
    answers: list[Fraction] = []
    for one in measured:
        answer = one.answers.get(budget.name, _NO_DATABASE)
        if isinstance(answer, str):
            return cannot_judge(budget, f"{one.run.file}: {answer}" if len(measured) > 1 else answer, query=query)
        answers.append(answer)
    return judge_by_limits(budget, max(answers, key=lambda answer: _excess_over_limits(budget, answer)), query=query)


def _excess_over_limits(budget: Budget, answer: Fraction) -> Fraction:
    """Return by how much the number exceeds the limit that it breaks most; below 0 if it keeps all limits."""
    return max(answer - limit.amount if limit.bound == "at most" else limit.amount - answer for limit in budget.limits)


def _fill_in_query(budget: Budget, measured: Sequence[MeasuredBudget]) -> str | None:
    """Return the budget's SQL with the run's parameters filled in, so that a user can run it; as written for several runs."""
    if budget.query is None or len(measured) != 1 or measured[0].trace_id is None:
        return budget.query
    try:
        return literal(budget.query, **_query_parameters(measured[0].run, measured[0].trace_id))
    except KeyError:  # it names a parameter that there is not, of which its failure tells
        return budget.query


_JUDGES: Mapping[str, Callable[[Budget, Sequence[MeasuredBudget]], JudgedBudget]] = {
    "step": judge_step,
    "throughput": judge_throughput,
    "ledger": judge_ledger,
    "findings": judge_findings,
    "job": judge_job,
    "sql": judge_sql,
}


def evaluate(budgets: Sequence[Budget], measured: Sequence[MeasuredBudget]) -> tuple[JudgedBudget, ...]:
    """Return the results of all budgets, in order; there must be at least one run, and no budget of a comparison."""
    return tuple(_JUDGES[budget.table](budget, measured) for budget in budgets)
