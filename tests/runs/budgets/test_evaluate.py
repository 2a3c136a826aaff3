"""Budgets on runs made by hand: pass, fail, cannot judge, and why."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import pytest
from check_runs import MS, finding, measured, run
from msgspec.structs import replace

from traceq.runs.budgets.budget import Budget, Limit, MeasuredBudget
from traceq.runs.budgets.judge import ask_number, evaluate, interpolate_quantile
from traceq.runs.budgets.regression import judge_regression
from traceq.runs.compare.compare import compare


def at_most(amount, unit="ns"):
    return (Limit("at most", Fraction(amount), unit),)


def outcome(table, name, limits, *runs):
    (judged,) = evaluate([Budget(table, name, limits)], measured(*runs))
    return judged.state, None if judged.measured is None else float(judged.measured), judged.reason


TEN = run(*range(10, 20))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("typical", 14.5), ("mean", 14.5), ("p50", 14.5), ("p90", 18.1), ("max", 19)],
)
def test_statistics_of_the_step(name, expected):
    assert outcome("step", name, at_most(expected * MS), TEN) == ("pass", expected * MS, "")
    assert outcome("step", name, at_most(expected * MS - 1), TEN)[0] == "fail"


def test_percentiles_are_those_of_duckdb():
    values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 89, 7, 93]
    (found,) = duckdb.execute("select quantile_cont(v, 0.95) from (select unnest(?) as v)", [values]).fetchone()
    assert float(interpolate_quantile(sorted(values), Fraction(95, 100))) == pytest.approx(found)


@pytest.mark.parametrize(("name", "least"), [("p90", 10), ("p95", 20), ("p99", 100)])
def test_a_percentile_needs_steps(name, least):
    assert outcome("step", name, at_most(MS), run(*[5] * (least - 1))) == (
        "cannot judge",
        None,
        f"{least - 1} steps count, too few for {name}: at least {least} are needed",
    )
    assert outcome("step", name, at_most(MS), run(*[5] * least))[0] == "fail"
    # Steps of several runs are pooled.
    half = run(*[5] * (least // 2))
    assert outcome("step", name, at_most(MS), half, half)[0] == "fail"


def test_a_whole_trace_has_no_step():
    whole = run(100, step_source="window", ledger={"idle_data": 0.5})
    assert outcome("step", "max", at_most(MS), whole)[0] == "cannot judge"
    assert outcome("throughput", "samples", at_most(MS), whole)[0] == "cannot judge"
    assert outcome("ledger", "idle", at_most(MS), whole)[0] == "cannot judge"
    # Shares there are.
    assert outcome("ledger", "idle", at_most(Fraction(1, 4), "share"), whole)[:2] == ("fail", 0.5)


def test_no_steps_no_judgement():
    empty = run()
    for table, name in (("step", "max"), ("ledger", "idle"), ("findings", "host-bound"), ("throughput", "samples")):
        state, _, reason = outcome(table, name, at_most(MS), empty)
        assert (state, reason) == ("cannot judge", "run.json has no steps that count")


def test_throughput_is_work_over_time():
    one = run(10, 10, payload={"samples": 32.0})
    limits = (Limit("at least", Fraction(3200), "/s"),)
    assert outcome("throughput", "samples", limits, one)[:2] == ("pass", 3200)
    assert outcome("throughput", "samples", (Limit("at least", Fraction(3201), "/s"),), one)[0] == "fail"
    assert outcome("throughput", "tokens", limits, one)[2] == (
        "run.json has no payload mark 'tokens' in its steps (there: samples)"
    )


def test_the_ledger_by_time_by_share_and_in_sums():
    one = run(10, 30, ledger={"compute": 0.6, "idle_data": 0.3, "idle_sync": 0.1})
    assert outcome("ledger", "idle_data", at_most(6 * MS), one)[:2] == ("pass", 6 * MS)
    assert outcome("ledger", "idle", at_most(Fraction(39, 100), "share"), one)[:2] == ("fail", 0.4)
    assert outcome("ledger", "busy", (Limit("at least", Fraction(1, 2), "share"),), one)[0] == "pass"
    assert outcome("ledger", "memset", at_most(0), one)[:2] == ("pass", 0)


def test_without_a_gpu_there_is_no_ledger():
    state, _, reason = outcome("ledger", "idle", at_most(MS), TEN, run(10, ledger={}, name="cpu.json"))
    assert (state, reason) == ("cannot judge", "cpu.json has no GPU ledger: no GPU work was recorded in its steps")
    assert outcome("findings", "any", (), run(10, ledger={}))[0] == "cannot judge"


def test_findings_are_judged_by_their_saving():
    one = run(100, findings=(finding("host-bound", 5), finding("host-bound", 2), finding("idle-sync", 4)))
    assert outcome("findings", "host-bound", at_most(7 * MS), one)[:2] == ("pass", 7 * MS)
    assert outcome("findings", "host-bound", at_most(Fraction(6, 100), "share"), one)[:2] == ("fail", 0.07)
    assert outcome("findings", "any", at_most(Fraction(5, 100), "share"), one)[:2] == ("pass", 0.05)
    assert outcome("findings", "any", at_most(Fraction(4, 100), "share"), one)[0] == "fail"
    assert outcome("findings", "idle-sync", (), one) == ("fail", 0.04, "A thing (idle-sync)")
    assert outcome("findings", "few-waves", (), one)[0] == "pass"


def test_the_run_with_the_largest_finding_counts():
    runs = run(100, findings=(finding("host-bound", 1),)), run(100, findings=(finding("host-bound", 9),))
    assert outcome("findings", "host-bound", at_most(5 * MS), *runs)[:2] == ("fail", 9 * MS)


def test_a_rule_that_cannot_judge_is_no_pass():
    deaf = run(100, cannot_tell={"host-bound": "no calls were recorded"})
    expected = "the rule cannot tell on run.json: no calls were recorded"
    for limits in ((), at_most(5 * MS), at_most(Fraction(1, 20), "share")):
        assert outcome("findings", "host-bound", limits, deaf) == ("cannot judge", None, expected)
    # What another run shows is enough to fail.
    found = run(100, findings=(finding("host-bound", 9),))
    assert outcome("findings", "host-bound", at_most(5 * MS), deaf, found)[0] == "fail"


def test_what_is_too_small_to_be_a_finding_cannot_be_limited_more():
    state, _, reason = outcome("findings", "host-bound", at_most(MS / 2), run(100))
    assert (state, reason.split(" is not a finding")[0]) == (
        "cannot judge",
        "anything that saves less than 1 % of the step (1 ms)",
    )
    assert outcome("findings", "host-bound", at_most(MS), run(100))[0] == "pass"


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as found:
        found.execute("create table step as select 1 as trace_id, range as step, 5 as dur from range(3)")
        found.execute("set enable_external_access = false")
        found.execute("set errors_as_json = true")
        yield found


ONE = Limit("at most", Fraction(3), "")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select count(*) from step", 3),
        ("from (select 2.5::decimal(9, 2))", 2.5),
        ("select 0.1::double -- comment;", Fraction(1, 10)),
        ("select max(dur) from step where trace_id = $trace_id and $device = 0", 5),
        ("select 170141183460469231731687303715884105727::hugeint", 2**127 - 1),
        ("select dur from step where false", "the query returns no row"),
        ("select dur from step", "the query returns several rows, not one number"),
        ("select 1, 2", "the query returns 2 columns, not one number"),
        ("select max(dur) from step where false", "the query returns NULL: the trace does not have this value"),
        ("select 'nan'::double", "the query returns nan, not a number"),
        ("select -'inf'::double", "the query returns -inf, not a number"),
        ("select e'a\\x1b'", "the query returns 'a\\\\x1b', not a number"),
        ("select true", "the query returns True, not a number"),
        ("select [1]", "the query returns [1], not a number"),
        ("select 1; select 2", "it is not a single query"),
        ("", "it is not a single query"),
        ("select (" + "(" * 5000, "the query fails: brackets are nested more than 200 deep"),
        ("drop table step", "it is not a query: it must begin with select, from or with"),
        ("set memory_limit = '1GB'", "it is not a query: it must begin with select, from or with"),
        ("create temp table step as select 1", "it is not a query: it must begin with select, from or with"),
        ("select nope from step", "the query fails: line 1, column 8: Referenced column "),
        ("select $nope", "the query fails: "),
        ("selec 1", "the query fails: line 1, column 1: "),
        ("select * from read_text('/etc/passwd')", "the query fails: line 1, column 15: Cannot access file"),
        ("select count(*) from '/etc/passwd'", "the query fails: "),
        ("select 1 / 0 + error('late')::int", "the query fails: "),
    ],
)
def test_what_a_query_returns(connection, query, expected):
    answer = ask_number(connection, query, run(5), 1)
    if isinstance(expected, str):
        assert isinstance(answer, str)
        assert answer.startswith(expected)
        assert "\n" not in answer
    else:
        assert answer == expected


def sql_outcome(limits, *answers, query="select 1"):
    found = [MeasuredBudget(run(5), 1, {"q": answer}) for answer in answers]
    (judged,) = evaluate([Budget("sql", "q", limits, query=query)], found)
    return judged


def test_all_runs_must_keep_a_limit_of_sql():
    both = (Limit("at least", Fraction(1), ""), Limit("at most", Fraction(5), ""))
    assert sql_outcome(both, Fraction(3)).state == "pass"
    assert sql_outcome(both, Fraction(3), Fraction(6)).measured == 6
    assert sql_outcome(both, Fraction(0), Fraction(3)).measured == 0
    assert sql_outcome(both, Fraction(3), "no row").reason == "run.json: no row"
    assert sql_outcome((ONE,), Fraction(3), query="select $trace_id + $device").query == "select 1 + 0"
    assert sql_outcome((ONE,), "why", query="select $nope").query == "select $nope"


def test_a_baseline_has_no_tables_to_ask():
    (judged,) = evaluate([Budget("sql", "q", (ONE,), query="select 1")], [MeasuredBudget(run(5))])
    assert (judged.state, judged.reason) == (
        "cannot judge",
        "a baseline has no tables to query: give the trace or its database",
    )


def test_numbers_come_with_the_query_that_gives_them_again():
    budgets = [Budget("step", "typical", at_most(1)), Budget("ledger", "idle", at_most(1))]
    one = [each.query for each in evaluate(budgets, measured(TEN))]
    assert one[0].startswith("select round(avg(dur))::bigint as typical")
    assert "trace_id = 1" in one[1]
    assert [each.query for each in evaluate(budgets, measured(TEN, TEN))] == [None, None]
    assert [each.query for each in evaluate(budgets, [MeasuredBudget(TEN)])] == [None, None]


def steps(level, *, name):
    """Thirty steps around `level` ms, a little apart."""
    return run(*(level + (each * 7 % 10) / 10 for each in range(30)), name=name)


@pytest.mark.parametrize(
    ("new", "allowed", "state"),
    [
        (100, None, "pass"),
        (110, None, "fail"),
        (110, Fraction(3, 100), "fail"),
        (110, Fraction(20, 100), "pass"),
        (90, Fraction(0), "pass"),
        (90, None, "pass"),
        # The interval of steps that do not differ in truth reaches above nothing at all.
        (100.05, Fraction(0), "cannot judge"),
        (100.05, None, "pass"),
    ],
)
def test_a_regression_fails_above_what_is_allowed(new, allowed, state):
    limits = () if allowed is None else (Limit("at most", allowed, "share"),)
    comparison = compare([steps(100, name="a")], [steps(new, name="b")])
    assert judge_regression(Budget("compare", "main", limits), comparison).state == state


def test_a_regression_that_may_be_above_what_is_allowed_cannot_be_judged():
    comparison = compare([steps(100, name="a")], [steps(110, name="b")])
    change = replace(comparison.change, interval_ns=(9 * MS, 13 * MS))
    judged = judge_regression(
        Budget("compare", "main", (Limit("at most", Fraction(11, 100), "share"),)), replace(comparison, change=change)
    )
    assert judged.state == "cannot judge"
    assert judged.measured == Fraction(comparison.change.delta_ns, comparison.change.base_ns)
    assert judged.reason.startswith(
        "measured +10.0 %, and the steps do not rule out +12.9 % (98 % interval), but only 11.0 % is"
    )


@pytest.mark.parametrize(
    ("verdict", "delta", "interval", "limited", "without"),
    [
        ("no change", 1, (-1, 2), "pass", "pass"),
        ("no change", 2, (-1, 3), "pass", "pass"),
        ("no change", 2, (-1, 4), "cannot judge", "pass"),
        ("no change", 4, (-1, 6), "cannot judge", "pass"),
        # What was measured counts where the interval does not hold it.
        ("no change", 4, (-1, 3), "cannot judge", "pass"),
        ("regression", 2, (1, 3), "pass", "fail"),
        ("regression", 2, (1, 4), "cannot judge", "fail"),
        ("regression", 4, (1, 6), "fail", "fail"),
        ("improvement", -2, (-3, -1), "pass", "pass"),
        ("cannot tell", 1, (-1, 2), "cannot judge", "cannot judge"),
        ("cannot tell", 9, (5, 12), "cannot judge", "cannot judge"),
        ("cannot tell", 1, None, "cannot judge", "cannot judge"),
    ],
)
def test_nothing_passes_that_may_be_above_the_limit(verdict, delta, interval, limited, without):
    """Of a step of 100 ms; 3 % are allowed."""
    found = compare([steps(100, name="a")], [steps(100, name="b")])
    change = replace(
        found.change,
        base_ns=100 * MS,
        new_ns=(100 + delta) * MS,
        delta_ns=delta * MS,
        interval_ns=None if interval is None else (interval[0] * MS, interval[1] * MS),
    )
    comparison = replace(found, verdict=verdict, change=change)
    limit = (Limit("at most", Fraction(3, 100), "share"),)
    assert judge_regression(Budget("compare", "main", limit), comparison).state == limited
    assert judge_regression(Budget("compare", "main", ()), comparison).state == without


def test_the_same_files_pass_whatever_is_allowed():
    one = [steps(100, name="a")]
    limit = (Limit("at most", Fraction(0), "share"),)
    assert judge_regression(Budget("compare", "main", limit), compare(one, one)).state == "pass"


def test_what_cannot_be_compared_cannot_be_judged():
    comparison = compare([steps(100, name="a")], [replace(steps(110, name="b"), device_name="NVIDIA A100")])
    judged = judge_regression(Budget("compare", "main", ()), comparison)
    assert (judged.state, judged.reason) == ("cannot judge", "another GPU: NVIDIA H100 against NVIDIA A100")
    assert judge_regression(Budget("compare", "a baseline", ()), None).state == "cannot judge"
