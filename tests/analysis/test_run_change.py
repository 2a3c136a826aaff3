"""Where the steps of a run changed, from rows of run_step and from whole logs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tables import empty_tables, insert, insert_row

from traceq.analysis import order
from traceq.analysis.run.run_change import find_start_up
from traceq.analysis.state import AnalysisState
from traceq.loading.training_logs import insert_training_logs

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "fixtures" / "make" / "run_logs")]

from made_runs import make_run, make_series, write_log  # noqa: E402

S = 1_000_000_000


def noise(count, seed=0):
    return make_series(np.random.default_rng([2, seed]), count, 0.3, 0.01)


class Run:
    """Logs of a run, filled in by hand."""

    def __init__(self):
        self.connection = empty_tables()

    def log(self, log_id=0, **columns):
        known = {
            "file": f"{log_id}.log",
            "format": "megatron",
            "clock": "utc",
            "shift": 0,
            "lines": 1,
            "lines_left_out": 0,
        }
        insert_row(self.connection, "run_log", log_id=log_id, **(known | columns))

    def steps(self, times, *, first=1, attempt=1, log_id=0, begin=0.0, memory=None, throughput=None, has_times=True):
        """Steps of these times, s, one a line; times of lines begin at `begin`, s."""
        ends = begin + np.cumsum(times)
        none = [None] * len(times)
        rows = [
            (
                log_id,
                attempt,
                first + place,
                place + 1,
                round(end * S) if has_times else None,
                round(time * S),
                1,
                *rest,
            )
            for place, (time, end, *rest) in enumerate(
                zip(
                    times,
                    ends,
                    memory if memory is not None else none,
                    throughput if throughput is not None else none,
                    strict=True,
                )
            )
        ]
        insert(self.connection, "run_step", "log_id attempt step line at_ns dur steps memory throughput", rows)

    def changes(self):
        order.run(self.connection, ("run_change",), AnalysisState(1))
        found = self.connection.execute(
            """
            select
                log_id, quantity, kind, attempt, step, step_low, step_high, until_attempt, until_step, until_low, until_high,
                round(ratio, 2)
            from run_change
            order by all
            """
        ).fetchall()
        return "\n".join(" ".join("-" if value is None else str(value) for value in row) for row in found)


def slowed(count, begin, end, ratio, seed=0):
    times = noise(count, seed)
    times[begin:end] *= ratio
    return times


def test_a_level_that_stays():
    run = Run()
    run.log()
    run.steps(slowed(1_000, 600, 1_000, 1.1))
    assert run.changes() == "0 step_time level 1 601 598 604 - - - - 1.1"


def test_a_window_goes_back_and_ends_with_its_last_slow_step():
    run = Run()
    run.log()
    run.steps(slowed(1_000, 600, 700, 1.3))
    assert run.changes() == "0 step_time window 1 601 598 604 1 700 697 703 1.3"


def test_a_creep_is_a_slope_from_the_first_step_to_the_last():
    run = Run()
    run.log()
    run.steps(noise(1_000) * np.linspace(1, 1.1, 1_000))
    assert run.changes() == "0 step_time slope 1 11 - - 1 1000 - - 1.1"


def test_start_up_of_each_attempt_is_no_change():
    run = Run()
    run.log()
    first, second = noise(400), noise(400, seed=1)
    for times in (first, second):
        times[:30] *= np.linspace(5, 1.2, 30)
    run.steps(first)
    run.steps(second, first=301, attempt=2, begin=float(first.sum()) + 600)
    assert run.changes() == ""


def test_slower_since_a_restart_begins_with_the_attempt():
    run = Run()
    run.log()
    first, second = noise(400), noise(400, seed=1) * 1.2
    run.steps(first)
    run.steps(second, first=301, attempt=2, begin=float(first.sum()) + 600)
    # the first ten steps are start-up, in which it may have begun
    assert run.changes() == "0 step_time level 2 311 301 313 - - - - 1.2"


def test_a_few_long_steps_in_a_row_are_no_window():
    run = Run()
    run.log()
    times = noise(1_000)
    times[500:506:2] *= 3
    run.steps(times)
    assert run.changes() == ""


def test_attempts_in_files_of_their_own_are_one_run():
    run = Run()
    run.log(0)
    run.log(1)
    first = noise(400)
    run.steps(first)
    run.steps(slowed(600, 300, 600, 1.2, seed=1), first=301, log_id=1, begin=float(first.sum()) + 600)
    assert run.changes() == "1 step_time level 1 601 599 603 - - - - 1.2"


def test_logs_of_several_ranks_tell_once():
    run = Run()
    times = slowed(1_000, 600, 1_000, 1.1)
    for rank in (1, 0):
        run.log(1 - rank, rank=rank)
        run.steps(times, log_id=1 - rank)
    assert run.changes() == "1 step_time level 1 601 598 604 - - - - 1.1"


def test_logs_without_times_are_looked_at_one_by_one():
    run = Run()
    for log_id in (0, 1):
        run.log(log_id, clock="none", shift=None)
        run.steps(slowed(500, 300, 500, 1.2 if log_id else 1.0), log_id=log_id, has_times=False)
    assert run.changes() == "1 step_time level 1 301 299 303 - - - - 1.2"


def test_memory_creeps_within_an_attempt_and_begins_anew_after_a_restart():
    run = Run()
    run.log()
    first, second = noise(400), noise(400, seed=1)
    grows = 60e9 * np.linspace(1, 1.2, 400)
    run.steps(first, memory=grows)
    run.steps(second, first=301, attempt=2, begin=float(first.sum()) + 600, memory=grows)
    assert run.changes() == "0 memory slope 1 11 - - 1 400 - - 1.19\n0 memory slope 2 311 - - 2 700 - - 1.19"


def test_throughput_and_memory_have_changes_of_their_own():
    run = Run()
    run.log()
    times = noise(500)
    memory, rate = np.full(500, 60e9), 1e5 * noise(500, seed=1)
    memory[200:] *= 1.05
    rate[350:] *= 0.8
    run.steps(times, memory=memory, throughput=rate)
    assert run.changes() == "0 memory level 1 201 199 203 - - - - 1.05\n0 throughput level 1 351 348 354 - - - - 0.8"


def test_nothing_of_a_run_with_a_few_steps_or_none():
    run = Run()
    run.log()
    assert run.changes() == ""
    run.steps([1.0, 5.0, 1.0])
    assert run.changes() == ""


@pytest.mark.parametrize(
    ("rows", "start_up"),
    [
        ([5.0], ""),
        ([5.0, 1.0], "0"),
        ([5.0] + [1.0] * 28, "0"),
        ([1.0] * 30, "0-9"),
        ([5.0] * 14 + [1.0] * 100, "0-11"),  # the median of the five from row 12 on is usual
        ([5.0] * 150 + [1.0] * 400, "0-9"),  # too long for start-up
        ([5.0] + [1.0] * 6 + [2.0] * 15 + [1.0] * 400, "0-9"),  # slow again after start-up
        ([np.nan] * 30, "0-9"),
    ],
)
def test_which_rows_are_start_up(rows, start_up):
    (found,) = np.nonzero(find_start_up(np.array(rows), np.zeros(len(rows), dtype=np.int64)))
    assert "-".join(map(str, sorted({*found[:1], *found[-1:]}))) == start_up


def read_back(run, folder):
    """Changes of step time as (kind, begin, bounds, end, bounds, ratio, bounds), and the first step of each attempt."""
    connection = empty_tables()
    insert_training_logs(connection, [write_log(run, folder)], trace_id=1)
    order.run(connection, ("run_step", "run_change"), AnalysisState(1))
    changes = connection.execute(
        """
        select
            kind, (attempt, step), (step_low, step_high), (until_attempt, until_step), (until_low, until_high),
            (ratio_low, ratio_high)
        from run_change
        where quantity = 'step_time'
        """
    ).fetchall()
    starts = connection.execute(
        "select min(step - steps + 1) from run_step group by attempt order by attempt"
    ).fetchall()
    return changes, [step for (step,) in starts]


# One of each format and number of steps a line: made_runs.py judges 200.
@pytest.mark.parametrize("seed", [4, 5, 1_000, 1_006, pytest.param(1_016, marks=pytest.mark.slow)])
def test_what_was_put_into_a_run_is_read_from_its_log(seed, tmp_path):
    run = make_run(seed)
    changes, starts = read_back(run, tmp_path)
    assert starts == [1, *run.starts]
    ((kind, begin, bounds, end, end_bounds, ratios),) = changes
    (true_begin, true_end, ratio), line = run.slow, run.interval
    assert (kind, begin[0], end[0]) == ("window", true_begin[0], true_end[0])
    assert bounds[0] - line < true_begin[1] < bounds[1] + line
    assert end_bounds[0] - line < true_end[1] < end_bounds[1] + line
    assert ratios[0] <= ratio <= ratios[1]


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_read_from_the_log_of_a_healthy_run(seed, tmp_path):
    run = make_run(seed, healthy=True)
    assert read_back(run, tmp_path) == ([], [1, *run.starts])
