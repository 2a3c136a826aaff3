"""What a run came to: four planted failures to the millisecond and cent, checkpoints, slow starts, power."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from traceq.app.goodput import measure_goodput
from traceq.errors import WrongUse
from traceq.runs.goodput.goodput import Terms
from traceq.runs.goodput.study_goodput import best_interval

ROOT = Path(__file__).resolve().parents[2]
FAILURES = ROOT / "fixtures" / "run_logs" / "failures"
MS = 1_000_000
S = 1_000_000_000
DAY = 1_795_910_400 * S  # 2026-11-29


@pytest.fixture(scope="module")
def truth():
    return json.loads((FAILURES / "truth.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def found(truth):
    logs = [FAILURES / "train.log", FAILURES / "sacct.txt"]
    return measure_goodput(logs, terms=Terms(price=truth["price"])).content


def test_the_ledger_is_the_truth_to_the_millisecond_and_adds_up_to_the_nanosecond(found, truth):
    assert {row.category: row.dur for row in found.ledger} == {name: ms * MS for name, ms in truth["ms"].items()}
    assert sum(row.dur for row in found.ledger) == found.wall_ns == truth["wall_ms"] * MS
    assert found.total_cost == pytest.approx(truth["cost"], abs=0.005)
    assert found.gpus == (truth["gpus"],)


def test_each_planted_failure_is_priced_right(found, truth):
    assert len(found.early_ends) == len(truth["failures"])
    for end, planted in zip(found.early_ends, truth["failures"], strict=True):
        assert end.parts == {name: ms * MS for name, ms in planted["ms"].items()}
        assert (end.attempt, end.lost_steps, end.dur) == (
            planted["attempt"],
            planted["lost_steps"],
            planted["total_ms"] * MS,
        )
        assert abs(end.ended_at - planted["ended_at_ms"] * MS) <= MS
        assert end.cost == pytest.approx(planted["cost"], abs=0.005)
    assert [(end.ended_by, end.reason) for end in found.early_ends] == [
        ("failure", "out of GPU memory"),
        ("failure", "a collective timed out"),
        ("preemption", "PREEMPTED"),
    ]


def test_the_slow_start_is_priced_by_the_others(found, truth):
    (start,) = found.slow_starts
    planted = truth["slow_start"]
    assert (start.attempt, start.excess_ns) == (planted["attempt"], planted["total_ms"] * MS)
    assert start.cost == pytest.approx(planted["cost"], abs=0.005)


def test_the_fixture_is_what_its_maker_writes(tmp_path):
    maker = ROOT / "fixtures" / "make" / "run_logs" / "failures.py"
    subprocess.run([sys.executable, maker, tmp_path], check=True)
    for path in FAILURES.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_the_order_of_the_logs_changes_nothing(found, truth):
    logs = [FAILURES / "sacct.txt", FAILURES / "train.log"]
    other = measure_goodput(logs, terms=Terms(price=truth["price"])).content
    assert (other.ledger, other.early_ends, other.slow_starts) == (found.ledger, found.early_ends, found.slow_starts)


def test_checkpoints_are_weighed_against_failures(found):
    known = found.checkpoints
    assert (known.count, known.dur) == (8, 40 * S)
    # three early ends in the time that is paid for
    assert known.between_failures_ns == round((11_760 - 1_860) / 3 * S)
    assert known.best_interval_ns == round(best_interval(40 * S, known.between_failures_ns))


@pytest.mark.parametrize(("checkpoint", "between"), [(1.0, 1000.0), (40.0, 3300.0), (60.0, 500.0), (100.0, 40.0)])
def test_the_best_interval_costs_least(checkpoint, between):
    """Against the mean time of a run under failures at random times (Daly's equation 13), tried at a thousand intervals."""

    def expected(interval):
        return between * math.expm1((interval + checkpoint) / between) / interval

    tried = [between * number / 1000 for number in range(1, 2001)]
    best = min(tried, key=expected)
    assert expected(best_interval(checkpoint, between)) <= expected(best) * 1.01


def run_log(path, steps=30, begin=DAY, gpus=None, offset=0, first=1, dur=10 * S):
    lines = [{"traceq_run": 1, "at": begin, "phase": "start_up", "mark": "begin", **({"gpus": gpus} if gpus else {})}]
    lines += [
        {"at": begin + offset + place * dur, "step": first + place - 1, "dur": dur, "data": 0}
        for place in range(1, steps + 1)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def smi(path, watts, seconds=300):
    rows = ["timestamp, index, power.draw [W]"]
    for second in range(0, seconds + 1, 10):
        at = f"2026/11/29 00:{second // 60:02d}:{second % 60:02d}.000"
        rows += [f"{at}, {device}, {watt:.2f} W" for device, watt in enumerate(watts)]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_power_gives_energy_by_category_and_says_how_many_gpus_it_is_of(tmp_path):
    log = run_log(tmp_path / "run.jsonl", gpus=8, steps=20, offset=100 * S)
    power = smi(tmp_path / "smi.csv", [500, 300])
    found = measure_goodput([log], [power], offset=0).content
    assert {row.category: row.joules for row in found.ledger} == {"step": 200 * 800.0, "start_up": 100 * 800.0}
    assert (found.power.devices, found.power.coverage) == (2, 1.0)
    half = measure_goodput([log], [smi(tmp_path / "half.csv", [500, 300], seconds=200)], offset=0).content
    # samples end in the middle of the steps: what the rest took is not known
    assert {row.category: row.joules for row in half.ledger} == {"step": None, "start_up": 80_000.0}


def test_a_log_without_power_and_one_of_another_clock_are_wrong_use(tmp_path):
    log = run_log(tmp_path / "run.jsonl")
    with pytest.raises(WrongUse, match="its times are not of the same clock as those of the training logs"):
        measure_goodput([log], [smi(tmp_path / "smi.csv", [500])])
    path = tmp_path / "clock.csv"
    path.write_text(
        "timestamp, index, clocks.sm [MHz]\n2026/11/29 00:00:00.000, 0, 1980 MHz\n2026/11/29 00:00:10.000, 0, 1980 MHz\n"
    )
    with pytest.raises(WrongUse, match="no power of GPUs in it"):
        measure_goodput([log], [path])


def test_logs_of_two_runs_at_the_same_time_are_wrong_use(tmp_path):
    one = run_log(tmp_path / "one.jsonl")
    other = run_log(tmp_path / "other.jsonl", first=501, offset=3 * S)
    with pytest.raises(WrongUse, match=r"one\.jsonl and other\.jsonl tell of different steps at the same time"):
        measure_goodput([one, other])
    same = run_log(tmp_path / "same.jsonl", offset=1 * S)
    assert measure_goodput([one, same]).content.pace.steps == 30
    later = run_log(tmp_path / "later.jsonl", first=31, begin=DAY + 400 * S)
    assert measure_goodput([one, later]).content.pace.steps == 60


def test_times_with_and_without_a_zone_need_an_offset(tmp_path):
    log = run_log(tmp_path / "run.jsonl")
    jobs = tmp_path / "sacct.txt"
    jobs.write_text(
        "JobID|State|Submit|Start|End|AllocTRES\n"
        "7|COMPLETED|2026-11-29T00:58:00|2026-11-29T00:59:00|2026-11-29T01:06:00|gres/gpu=4\n"
    )
    with pytest.raises(
        WrongUse, match=r"sacct\.txt has times of a zone that it does not name, run\.jsonl has times in UTC"
    ):
        measure_goodput([log, jobs])
    found = measure_goodput([log, jobs], offset=-3600).content
    assert {row.category: row.dur // S for row in found.ledger} == {
        "queue": 60,
        "start_up": 60,
        "step": 300,
        "idle": 60,
    }
    assert found.gpus == (4,)


def test_gpus_given_by_hand_price_what_the_logs_do_not_say(tmp_path):
    log = run_log(tmp_path / "run.jsonl", steps=36)
    assert measure_goodput([log], terms=Terms(price=2.0)).content.total_cost is None
    assert measure_goodput([log], terms=Terms(gpus=10, price=2.0)).content.total_cost == pytest.approx(2.0)


@pytest.mark.parametrize("terms", [Terms(gpus=0), Terms(price=-1.0), Terms(price=math.inf), Terms(ideal_step_ns=0)])
def test_impossible_terms_are_wrong_use(tmp_path, terms):
    with pytest.raises(WrongUse, match=r"must be more than 0"):
        measure_goodput([run_log(tmp_path / "run.jsonl")], terms=terms)


def test_the_ideal_step_says_what_the_steps_could_take(tmp_path):
    log = run_log(tmp_path / "run.jsonl", steps=20, offset=200 * S)
    found = measure_goodput([log], terms=Terms(ideal_step_ns=5 * S)).content
    assert (found.good_share, found.ideal_share) == (0.5, 0.25)


def test_logs_without_times_give_no_ledger_but_a_reason(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(
        "\n".join(json.dumps({"step": step, "loss": 1 / (1 + step), "step_time": 2.0}) for step in range(9))
    )
    found = measure_goodput([path]).content
    assert (found.cannot_tell, found.ledger, found.pace.step_ns) == ("no line of a step has a time", (), 2 * S)
