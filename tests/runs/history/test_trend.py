"""Trends of quantities, which come first, and what else changed with them."""

from __future__ import annotations

import math

import pytest
from made_histories import MS, creeping, entry, noisy_steps, series_of

from traceq.runs.history.changed import find_changed_facts
from traceq.runs.history.entry import sign_of_worse
from traceq.runs.history.gate import add_to_series
from traceq.runs.history.series import SeriesChoice, list_series, read_series
from traceq.runs.history.store import add_entries, open_history
from traceq.runs.history.trend import TrendChange, describe_quantities, describe_quantity


def test_a_level_has_bounds_and_a_ratio_with_its_interval():
    trend = describe_quantity(series_of(noisy_steps([100 * MS] * 20 + [110 * MS] * 20, 0.005)), "step.typical")
    (change,) = trend.changes
    assert (trend.kind, trend.worse, change.number) == ("level", True, 20)
    assert change.last_before < change.number <= change.first_after
    assert (change.begin, change.end) == (0, 40)
    assert trend.ratio_low < 1.1 < trend.ratio_high
    assert trend.now == pytest.approx(110 * MS, rel=0.01)


def test_a_creep_is_per_week_where_reports_have_times_and_else_per_report():
    steps = noisy_steps(creeping(40), 0.005)
    timed = describe_quantity(series_of(steps, days=7), "step.typical")
    assert (timed.kind, timed.is_per_report) == ("creep", False)
    assert timed.slope == pytest.approx(0.0046, rel=0.15)  # of the level in the middle
    assert timed.ratio == pytest.approx(1.005**39, rel=0.05)
    alone = describe_quantity(series_of(steps, is_timed=False), "step.typical")
    assert (alone.kind, alone.is_per_report) == ("creep", True)
    assert alone.slope == pytest.approx(timed.slope)


def test_what_is_steady_or_short_has_no_change():
    steady = describe_quantity(series_of(noisy_steps([100 * MS] * 30)), "step.typical")
    assert (steady.kind, steady.ratio, steady.worse, steady.impact) == ("steady", 1.0, None, 0.0)
    few = describe_quantity(series_of([1.0] * 7), "step.typical")
    assert (few.kind, few.ratio, few.reports) == ("too few", None, 7)
    none = describe_quantity(series_of([math.nan] * 9), "step.typical")
    assert (none.kind, none.reports) == ("too few", 0)


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        *(("step.p95", 1), ("ledger.idle", 1), ("throughput.tokens", -1), ("mfu.share", -1), ("gpu.busy", -1)),
        *(("memory.peak", 1), ("serving.token_p95", 1), ("serving.tokens", -1), ("condition.gpu_power", 0)),
    ],
)
def test_the_direction_that_is_worse(name, sign):
    assert sign_of_worse(name) == sign


def made(tmp_path, change=12, count=24):
    """A history whose step gets 8 % longer at `change` with torch, at which also its compute grows."""
    path = tmp_path / "h.duckdb"
    steps = noisy_steps([100 * MS] * change + [108 * MS] * (count - change), 0.002)
    add_entries(
        path,
        [
            entry(
                number,
                step,
                commit=f"{number // 6:040x}",
                facts={
                    "torch": "2.3.1" if number < change else "2.4.0",
                    "host_load": str(number),
                    "OMP_NUM_THREADS": "8" if number < change else "4",
                },
                quantities={
                    "ledger.compute": (step - 20 * MS, "ns"),
                    "ledger.memset": (100 + number, "ns"),
                    "throughput.samples": (32e9 / step, "/s"),
                    "gpu.busy": (0.8, "share"),
                },
            )
            for number, step in enumerate(steps)
        ],
    )
    return path


def test_worst_first_and_parts_of_less_than_a_hundredth_of_the_step_are_left_out(tmp_path):
    with open_history(made(tmp_path)) as connection:
        series = read_series(connection, list_series(connection)[0])
    trends = describe_quantities(series)
    assert [trend.name for trend in trends] == ["step.typical", "ledger.compute", "throughput.samples", "gpu.busy"]
    assert [trend.worse for trend in trends] == [True, True, True, None]
    by_name = {trend.name: trend.impact for trend in trends}
    assert by_name["ledger.compute"] == pytest.approx(0.08, abs=0.005)  # of the step, not of itself
    assert [trend.name for trend in describe_quantities(series, ["ledger.memset"])] == ["ledger.memset"]


def test_what_changed_exactly_then_comes_first_and_commits_last(tmp_path):
    with open_history(made(tmp_path)) as connection:
        series = read_series(connection, list_series(connection)[0])
        (change,) = describe_quantity(series, "step.typical").changes
        facts = find_changed_facts(connection, series, change)
    assert [(fact.key, fact.before, fact.after, fact.is_exact) for fact in facts[:2]] == [
        ("OMP_NUM_THREADS", "8", "4", True),
        ("torch", "2.3.1", "2.4.0", True),
    ]
    assert [(fact.key, fact.is_exact) for fact in facts[2:]] == [("host_load", False), ("commit", False)]
    commits = {number // 6 for number in range(change.last_before + 1, change.first_after + 1)}
    assert facts[-1].between == len(commits)


def test_facts_of_a_report_that_is_not_stored_count_too(tmp_path):
    path = made(tmp_path, count=12)
    new = entry(12, facts={"torch": "2.5.0"}, commit="f" * 40)
    with open_history(path) as connection:
        series = read_series(connection, list_series(connection)[0])
        longer = add_to_series(series, new)
        change = TrendChange(12, 11, 12, 0, 13, 1.0, 2.0, 2.0, 2.0, 2.0)
        facts = find_changed_facts(connection, longer, change, [new])
    assert [(fact.key, fact.before, fact.after) for fact in facts if fact.key == "torch"] == [
        ("torch", "2.3.1", "2.5.0")
    ]


def test_reports_are_chosen_by_time_column_and_fact(tmp_path):
    path = made(tmp_path)
    add_entries(path, [entry(50, gpu="NVIDIA B200", name="other")])
    with open_history(path) as connection:
        assert [(each.gpu, each.reports) for each in list_series(connection)] == [
            ("NVIDIA B200", 1),
            ("NVIDIA H100", 24),
        ]
        chosen = {
            (("gpu", "NVIDIA B200"),): [1],
            (("torch", "2.4.0"),): [12],
            (("torch", "2.4.0"), ("OMP_NUM_THREADS", "8")): [],
            (("batch", "32"), ("ranks", "8"), ("torch", "2.3.1")): [12],
            (("label", "x"),): [],
        }
        for where, counts in chosen.items():
            assert [each.reports for each in list_series(connection, SeriesChoice(where=where))] == counts
        since = SeriesChoice(since=entry(20).report.ran_at, where=(("gpu", "NVIDIA H100"),))
        (summary,) = list_series(connection, since)
        assert read_series(connection, summary, since).values["step.typical"].shape == (4,)
