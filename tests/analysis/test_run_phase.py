"""The attempts of a run, and the ledger of its wall time."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_oracle import Event, Line, ledger
from tables import a_hundred, empty_tables, insert, insert_row

from traceq.analysis import order
from traceq.analysis.state import AnalysisState

S = 1_000_000_000


class Run:
    """Logs of a run, filled in by hand; times are in ns."""

    def __init__(self) -> None:
        self.connection = empty_tables()
        self._lines = 0
        self._logs: dict[int, dict] = {}

    def log(self, log_id=0, format_="megatron", **columns):
        known = {"file": f"{log_id}.log", "clock": "utc", "shift": 0, "lines": 1, "lines_left_out": 0}
        insert_row(self.connection, "run_log", log_id=log_id, format=format_, **(known | columns))

    def steps(self, numbers, begin, dur, attempt=1, log_id=0, steps=1):
        """Lines of steps one after the other, the first step from `begin`."""
        rows = []
        for place, number in enumerate(numbers, 1):
            self._lines += 1
            rows.append((log_id, attempt, number, self._lines, begin + place * steps * dur, dur, steps))
        insert(self.connection, "run_step", "log_id attempt step line at_ns dur steps", rows)

    def event(self, phase, at, dur=None, mark=None, log_id=0, **columns):
        self._lines += 1
        mark = mark or ("moment" if dur is None else "interval")
        insert_row(
            self.connection, "run_event", log_id=log_id, line=self._lines, at_ns=at, dur=dur, mark=mark, phase=phase,
            **columns,
        )  # fmt: skip

    def fill(self):
        order.run(self.connection, ("run_attempt", "run_phase"), AnalysisState(1))

    def text(self, query):
        return "\n".join(
            " ".join("-" if value is None else str(value) for value in row)
            for row in self.connection.execute(query).fetchall()
        )

    def ledger(self):
        self.fill()
        return self.text("select attempt, at_ns, dur, category from run_phase order by at_ns")


def test_steps_that_a_restart_does_again_are_lost_the_first_time():
    run = Run()
    run.log(first_at=0, last_at=230, gpus=8)
    run.steps(range(1, 8), 20, 10)
    run.event("failure", 100, detail="out of GPU memory")
    run.event("start_up", 140, mark="begin")
    run.steps(range(4, 11), 160, 10, attempt=2)
    assert run.ledger() == (
        "1 0 20 start_up\n"
        "1 20 30 step\n"
        "1 50 50 lost\n"  # steps 4 to 7, and the one in which it failed
        "2 100 40 restart\n"
        "2 140 20 start_up\n"
        "2 160 70 step"
    )
    query = "select attempt, dur, first_step, last_step, lost_steps, ended_by, reason, gpus from run_attempt"
    assert run.text(query) == "1 100 1 7 4 failure out of GPU memory 8\n2 130 4 10 0 - - 8"


def test_what_an_early_end_costs_goes_to_the_next_first_step_and_the_compilation_after_it():
    run = Run()
    run.log(first_at=0, last_at=500, gpus=8)
    run.steps(range(1, 8), 20, 10)
    run.event("failure", 100)
    run.event("start_up", 140, mark="begin")
    run.event("checkpoint", 145, 5, detail="load")
    run.steps([4], 160, 30, attempt=2)
    run.steps(range(5, 10), 190, 10, attempt=2)
    run.fill()
    query = "select ended_at, lost, hang, restart, queue, start_up, compile, other, dur, gpu_dur from run_restart"
    assert run.text(query) == "100 50 0 40 0 15 20 5 130 1040"
    assert run.text("select category, dur, round(share, 3), is_billed, gpu_dur from run_goodput order by all") == (
        "checkpoint 5 0.01 True 40\ncompile 20 0.04 True 160\nlost 50 0.1 True 400\nrestart 40 0.08 True 320\n"
        "start_up 35 0.07 True 280\nstep 90 0.18 True 720\nunattributed 260 0.52 True 2080"
    )


def test_time_without_a_sign_of_life_before_a_failure_is_a_hang():
    run = Run()
    run.log(first_at=0, last_at=800)
    run.steps(range(1, 8), 0, 10)
    run.event("failure", 670, detail="a collective timed out")
    run.steps(range(8, 12), 760, 10, attempt=2)
    assert run.ledger() == "1 0 70 step\n1 70 600 hang\n2 670 90 restart\n2 760 40 step"


def test_the_scheduler_tells_queue_from_restart_and_idle():
    run = Run()
    run.log(first_at=10, last_at=220)
    run.log(1, "slurm", first_at=0, last_at=230)
    run.event("queue", 0, 8, log_id=1)
    run.event("allocation", 8, 92, log_id=1)
    run.event("failure", 100, log_id=1, detail="PREEMPTED")
    run.event("queue", 110, 40, log_id=1)
    run.event("allocation", 150, 80, log_id=1)
    run.steps(range(1, 9), 20, 10)
    run.steps(range(9, 15), 160, 10, attempt=2)
    assert run.ledger() == (
        "1 0 8 queue\n"
        "1 8 12 start_up\n"
        "1 20 80 step\n"
        "2 100 10 not_submitted\n"
        "2 110 40 queue\n"
        "2 150 10 start_up\n"
        "2 160 60 step\n"
        "2 220 10 idle"
    )
    assert run.text("select ended_by, reason from run_attempt") == "preemption PREEMPTED\n- -"


def test_what_the_log_says_between_and_within_steps():
    run = Run()
    run.log(first_at=0, last_at=500)
    run.steps(range(1, 11), 0, 10)
    run.event("checkpoint", 100, 30, step=10)
    run.event("evaluation", 130, 5)
    run.steps(range(11, 21), 135, 10)
    # its time is in that of the next line, which took no longer: it ran beside the steps
    run.event("checkpoint", 235, 10, step=20)
    run.event("data", 246, 3)
    run.steps(range(21, 26), 235, 10)
    # and this one made the line longer
    run.event("checkpoint", 285, 20, step=25)
    run.steps([26], 285, 30)
    assert run.ledger() == (
        "1 0 100 step\n1 100 30 checkpoint\n1 130 5 evaluation\n1 135 111 step\n1 246 3 data\n1 249 36 step\n"
        "1 285 20 checkpoint\n1 305 10 step\n1 315 185 unattributed"
    )


def test_slow_first_steps_are_compilation_by_inference():
    run = Run()
    run.log(first_at=0, last_at=400)
    run.steps([1], 0, 100)
    run.steps([2], 100, 60)
    run.steps(range(3, 20), 160, 10)
    run.fill()
    rows = run.text("select at_ns, dur, category, is_inferred from run_phase where at_ns < 330 order by at_ns")
    assert rows == "0 90 compile True\n90 10 step False\n100 50 compile True\n150 180 step False"


def test_a_line_for_several_steps_is_lost_in_part():
    run = Run()
    run.log(first_at=0, last_at=100)
    run.steps([10, 20], 0, 10, steps=10)
    run.steps([27, 37], 220, 10, attempt=2, steps=10)
    assert run.ledger() == "1 0 170 step\n1 170 30 lost\n2 200 20 restart\n2 220 200 step"
    assert run.text("select lost_steps from run_attempt") == "3\n0"


def test_a_run_that_failed_for_good_lost_what_no_checkpoint_holds():
    run = Run()
    run.log(first_at=0, last_at=100)
    run.steps(range(1, 10), 0, 10)
    run.event("failure", 90)
    assert run.ledger() == "1 0 90 step\n1 90 10 idle"
    assert run.text("select lost_steps, ended_by from run_attempt") == "- failure"  # no log tells of checkpoints
    run = Run()
    run.log(first_at=0, last_at=100)
    run.event("checkpoint", 60, 0, step=6)
    run.steps(range(1, 10), 0, 10)
    run.event("failure", 90)
    assert run.ledger() == "1 0 60 step\n1 60 30 lost\n1 90 10 idle"
    assert run.text("select lost_steps, checkpoint_step from run_attempt") == "3 6"


def test_logs_of_two_ranks_count_once_and_those_of_two_jobs_follow_each_other():
    run = Run()
    for log_id, rank in enumerate((1, 0, 0)):
        run.log(log_id, rank=rank, first_at=(5, 0, 100)[log_id], last_at=(60, 60, 160)[log_id])
    run.steps(range(1, 6), 10, 10, log_id=0)
    run.steps(range(1, 6), 10, 10, log_id=1)
    run.steps(range(6, 10), 120, 10, log_id=2)
    assert run.ledger() == "1 0 10 start_up\n1 10 50 step\n2 60 40 restart\n2 100 20 start_up\n2 120 40 step"
    assert run.text("select attempt, ended_by, log_id from run_attempt") == "1 restart 1\n2 - 2"


def test_a_log_that_goes_on_in_another_file_is_one_attempt():
    run = Run()
    run.log(0, first_at=0, last_at=50)
    run.log(1, first_at=60, last_at=100)
    run.steps(range(1, 6), 0, 10, log_id=0)
    run.steps(range(6, 11), 50, 10, log_id=1)
    assert run.ledger() == "1 0 100 step"


def test_whole_seconds_leave_no_slivers_between_lines():
    run = Run()
    run.log(first_at=0, last_at=12 * S)
    ends = [3 * S, 6 * S, 9 * S, 13 * S]
    rows = [(0, 1, place, place, end, 2_600_000_000, 1) for place, end in enumerate(ends, 1)]
    insert(run.connection, "run_step", "log_id attempt step line at_ns dur steps", rows)
    assert run.ledger() == (
        f"1 0 {400_000_000} start_up\n1 {400_000_000} {8_600_000_000} step\n"
        f"1 {9 * S} {1_400_000_000} unattributed\n1 {10_400_000_000} {2_600_000_000} step"
    )


def test_events_without_a_time_follow_the_line_before_them():
    run = Run()
    run.log(first_at=0, last_at=300)
    run.steps(range(1, 7), 0, 10)
    run.event("checkpoint", None, 20)
    run.event("evaluation", None, 7)
    run.steps(range(7, 13), 90, 10)
    run.event("failure", None, detail="killed")
    run.steps(range(10, 16), 240, 10, attempt=2)
    assert run.ledger() == (
        "1 0 60 step\n1 60 20 checkpoint\n1 80 7 evaluation\n1 87 3 unattributed\n1 90 30 step\n1 120 30 lost\n"
        "2 150 90 restart\n2 240 60 step"
    )
    assert run.text("select ended_by, reason from run_attempt") == "failure killed\n- -"


def test_of_a_job_without_a_training_log_only_the_queue_is_known():
    run = Run()
    run.log(0, "slurm", first_at=0, last_at=50)
    run.event("queue", 0, 20)
    run.event("allocation", 20, 30)
    assert run.ledger() == "- 0 20 queue\n- 20 30 unattributed"
    assert run.text("from run_attempt") == ""
    run = Run()
    run.log(0, "slurm", first_at=0, last_at=500)
    run.log(1, first_at=210, last_at=240)
    run.event("allocation", 0, 100)
    run.event("failure", 100, detail="TIMEOUT")
    run.event("allocation", 200, 40)
    run.steps(range(1, 3), 220, 10, log_id=1)
    assert run.ledger() == (
        "1 0 100 unattributed\n1 100 100 not_submitted\n1 200 20 start_up\n1 220 20 step\n1 240 260 not_submitted"
    )


def test_gpus_of_an_elastic_job_change_with_the_attempt():
    run = Run()
    run.log(first_at=0, last_at=200, gpus=8)
    values = [(0, 1, 0, "gpus", 8.0), (0, 2, 105, "gpus", 6.0)]
    insert(run.connection, "run_value", "log_id line at_ns quantity value", values)
    run.steps(range(1, 11), 0, 10)
    run.steps(range(11, 17), 140, 10, attempt=2)
    assert run.ledger() == "1 0 100 step\n2 100 40 restart\n2 140 60 step"
    assert run.text("select gpus from run_attempt") == "8\n6"
    assert run.text("select category, gpu_dur from run_goodput order by all") == "restart 240\nstep 1160"


_PHASES = [
    "checkpoint",
    "evaluation",
    "compile",
    "data",
    "start_up",
    "restart",
    "idle",
    "failure",
    "queue",
    "allocation",
]


@st.composite
def runs(draw):
    """Lines of a log with restarts, and events at any time."""
    lines, at, attempt, step = [], draw(st.integers(0, 20)), 1, draw(st.integers(0, 3))
    steps = draw(st.sampled_from([1, 1, 2, 3]))
    for _ in range(draw(st.integers(0, 24))):
        if lines and draw(st.integers(0, 6)) == 0:
            attempt, step, at = attempt + 1, max(0, step - draw(st.integers(-1, 4))), at + draw(st.integers(0, 15))
        step += steps
        at += draw(st.sampled_from([2, 3, 3, 3, 4, 9])) * draw(st.sampled_from([1, steps, steps]))
        lines.append(Line(at, attempt, step, steps, draw(st.sampled_from([3, 3, 3, 2, 5, None]))))
    events = []
    for phase in draw(st.lists(st.sampled_from(_PHASES), max_size=7)):
        is_interval = phase in ("queue", "allocation") or (phase != "failure" and draw(st.booleans()))
        dur = draw(st.integers(0, 25)) if is_interval else None
        events.append(Event(draw(st.integers(0, at + 10)), dur, phase))
    return lines, events, draw(st.integers(0, 10)), draw(st.integers(60, 90)), draw(st.integers(0, 1000))


@a_hundred
@given(st.lists(runs(), min_size=2, max_size=2))
def test_each_nanosecond_counts_once_whatever_the_order_of_the_rows(worlds):
    for lines, events, first, last, seed in worlds:
        run = Run()
        run.log(first_at=first, last_at=last)
        rows = [(0, line.attempt, line.step, place, line.end, line.dur, line.steps) for place, line in enumerate(lines)]
        happened = [
            (0, 100 + place, event.at, event.dur, "moment" if event.dur is None else "interval", event.phase)
            for place, event in enumerate(events)
        ]
        random.Random(seed).shuffle(rows)  # noqa: S311 - any order
        random.Random(seed).shuffle(happened)  # noqa: S311
        insert(run.connection, "run_step", "log_id attempt step line at_ns dur steps", rows)
        insert(run.connection, "run_event", "log_id line at_ns dur mark phase", happened)
        run.fill()
        pieces = run.connection.execute("select at_ns, dur, category from run_phase order by at_ns").fetchall()
        assert all(before[0] + before[1] == after[0] for before, after in pairwise(pieces))
        assert [category for _, dur, category in pieces for _ in range(dur)] == ledger(lines, events, first, last)


@pytest.mark.parametrize("dur", [10**6, 10**15])
def test_long_lines_do_not_overflow(dur):
    run = Run()
    run.log(first_at=0, last_at=1)
    run.steps([100_000, 200_000], 0, dur // 10**5, steps=100_000)
    run.steps([150_000], 2 * dur, dur // 10**5, attempt=2, steps=1)
    run.fill()
    assert run.text("select sum(dur) from run_phase where category = 'lost'") == str(dur // 10**5 * 50_001)
