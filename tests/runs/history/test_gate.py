"""The gate of a history: creeps, changes of level and single reports that fail; healthy histories that pass."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from handmade_runs import noisy, run
from made_histories import MS, creeping, entry, noisy_steps, series_of

from traceq.runs.budgets.budget import SHARE, Budget, Limit
from traceq.runs.budgets.regression import judge_regression
from traceq.runs.compare.compare import compare
from traceq.runs.history.gate import add_to_series, find_starts, judge_history, match_series
from traceq.runs.history.series import list_series, read_series
from traceq.runs.history.store import add_entries, open_history, write_history


def judge(values, start=0, limit=None, **facts):
    return judge_history(
        series_of(values, **facts), next(iter([facts.get("name", "step.typical")])), start, "h", max_regression=limit
    )


def test_a_creep_fails_that_no_comparison_of_neighbours_sees():
    levels = creeping(30)  # 0.5 % a week for 30 weeks
    runs = [run(*noisy(round(level), seed=week), name=f"week {week}") for week, level in enumerate(levels)]
    regression = Budget("compare", "week before", (Limit("at most", Fraction("0.02"), SHARE),))
    single = [judge_regression(regression, compare([before], [after])).state for before, after in pairwise(runs)]
    assert "fail" not in single
    found = judge([np.median([step.dur for step in each.steps]) for each in runs], days=7)
    assert (found.budget.state, found.trend.kind) == ("fail", "creep")
    assert found.trend.slope == pytest.approx(0.005, rel=0.25)
    assert found.trend.slope_low < 0.005 < found.trend.slope_high
    assert float(found.budget.measured) == pytest.approx(levels[-1] / levels[0] - 1, rel=0.25)


def test_a_change_of_level_fails_from_its_third_report_on():
    levels = [100 * MS] * 20 + [105 * MS] * 5
    steps = noisy_steps(levels, 0.005)
    found = judge(steps)
    assert (found.budget.state, found.trend.changes[0].number) == ("fail", 20)
    assert float(found.budget.measured) == pytest.approx(0.05, abs=0.01)
    assert [judge(steps[:count]).budget.state for count in (20, 23)] == ["pass", "fail"]


def test_what_became_better_and_then_worse_is_measured_from_its_best():
    levels = [100 * MS] * 12 + [80 * MS] * 12 + [90 * MS] * 12
    found = judge(noisy_steps(levels, 0.005))
    assert found.budget.state == "fail"
    assert float(found.budget.measured) == pytest.approx(90 / 80 - 1, abs=0.01)


def test_a_report_alone_fails_where_it_is_worse_than_all_before_by_more_than_chance():
    steps = noisy_steps([100 * MS] * 20)
    found = judge([*steps, 120 * MS])
    assert (found.budget.state, found.is_alone, found.trend.changes[0].number) == ("fail", True, 20)
    assert judge([*steps, 102 * MS]).budget.state == "pass"
    # It was as slow before.
    assert judge([*steps, 120 * MS, *steps, 119 * MS]).budget.state == "pass"


def test_less_throughput_is_worse_and_a_longer_step_is_not_better():
    slower = noisy_steps([1000.0] * 15 + [900.0] * 10, 0.005)
    assert judge(slower, name="throughput.samples", unit="/s").budget.state == "fail"
    assert judge(slower[::-1], name="throughput.samples", unit="/s").budget.state == "pass"
    assert judge(slower, name="step.typical").budget.state == "pass"


def test_the_limit_is_how_much_worse_it_may_be():
    steps = noisy_steps([100 * MS] * 15 + [104 * MS] * 15, 0.005)
    assert judge(steps, limit=Fraction("0.1")).budget.state == "pass"
    assert judge(steps, limit=Fraction("0.03")).budget.state == "fail"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0] * 3, "h has 2 comparable reports with step.typical beside the new one; 7 are needed"),
        ([1.0], "h has 0 comparable reports with step.typical beside the new one; 7 are needed"),
        ([1.0] * 9 + [float("nan")], "the new report has no step.typical, or no report of h has it"),
    ],
)
def test_too_little_cannot_be_judged(values, reason):
    found = judge(values).budget
    assert (found.state, found.reason) == ("cannot judge", reason)


def test_what_is_before_the_accepted_report_does_not_count():
    steps = noisy_steps([100 * MS] * 15 + [105 * MS] * 12, 0.005)
    assert judge(steps).budget.state == "fail"
    assert judge(steps, start=15).budget.state == "pass"
    assert judge(steps, start=21).budget.reason.startswith(
        "h has 5 comparable reports with step.typical since the last acceptance"
    )


def test_acceptances_are_read_from_the_history_the_latest_last(tmp_path):
    path = tmp_path / "h.duckdb"
    entries = [entry(number, 100 * MS) for number in range(10)]
    add_entries(path, entries)
    named = entries[0].report.series
    with write_history(path) as connection:
        for hour, name, number in ((1, None, 3), (2, "step.typical", 5), (3, "ledger.compute", 8)):
            connection.execute(
                "insert into acceptance values (timestamp '2026-02-01' + interval 1 hour * ?, ?, ?, ?, 'as wanted')",
                [hour, named, name, entries[number].report.report_id],
            )
    with open_history(path) as connection:
        series = read_series(connection, list_series(connection)[0])
        starts = find_starts(connection, series, ["step.typical", "ledger.compute", "gpu.busy"])
    assert starts == {"step.typical": 5, "ledger.compute": 8, "gpu.busy": 3}


def test_a_report_that_is_there_is_judged_where_it_stands(tmp_path):
    path = tmp_path / "h.duckdb"
    entries = [entry(number, 100 * MS + number) for number in range(10)]
    add_entries(path, entries)
    with open_history(path) as connection:
        series = read_series(connection, list_series(connection)[0])
    assert add_to_series(series, entries[6]).report_ids == series.report_ids[:7]
    longer = add_to_series(series, entry(10, 7.0))
    assert (len(longer.report_ids), longer.values["step.typical"][-1], longer.is_timed) == (11, 7.0, True)


def test_another_gpu_is_another_series_and_it_is_said(tmp_path):
    path = tmp_path / "h.duckdb"
    add_entries(path, [entry(number) for number in range(3)])
    with open_history(path) as connection:
        found = list_series(connection)
    assert match_series(found, entry(4).report) == found[0]
    assert match_series(found, entry(4, gpu="NVIDIA B200", ranks=16).report) == (
        "it holds no comparable report: gpu: NVIDIA H100 there, NVIDIA B200 now; ranks: 8 there, 16 now"
    )
    assert match_series(found, entry(4, program=None).report) == found[0]
    assert match_series(found, entry(4, program="other").report) == (
        "comparable reports are of other programs (train): name the program with --program"
    )
    assert match_series([], entry(4).report) == "it holds no reports"


def false_alarms(histories, count):
    """Share of made healthy histories of so many reports that fail."""
    return (
        sum(judge(noisy_steps([100 * MS] * count, seed=seed)).budget.state == "fail" for seed in range(histories))
        / histories
    )


def found_creeps(histories, count=40):
    """Share of made histories that creep by 0.5 % a week for so many weeks, and fail."""
    return (
        sum(judge(noisy_steps(creeping(count), seed=seed), days=7).budget.state == "fail" for seed in range(histories))
        / histories
    )


def test_few_healthy_histories_fail_and_few_creeps_pass():
    assert false_alarms(60, 40) <= 0.02
    assert found_creeps(30) >= 0.9
