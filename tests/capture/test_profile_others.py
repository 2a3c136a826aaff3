"""traceq.profile beside other profilers. Where this fails, PyTorch crashes the whole process."""

from __future__ import annotations

import lazy_import
import pytest
from small_training import SHORT, make_iteration, only_trace, steps_in

from traceq.capture.profile import profile
from traceq.capture.watch import is_another_active

torch = lazy_import.module("torch")


@pytest.fixture(scope="module")
def train():
    return make_iteration(torch)


def lines_of_a_run(tmp_path, train, capsys, before_step, **options):
    with profile(tmp_path, **{"skip": 1, "warmup": 2, "steps": 2, **options}) as run:
        for number in range(8):
            with run.step():
                train()
                before_step(number)
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_profiler_of_the_program_takes_precedence(tmp_path, train, capsys, at):
    counts = []

    def another(number):
        if number == at:
            with torch.profiler.profile() as profiler:
                train()
            counts.append(len(profiler.events()))

    (line,) = lines_of_a_run(tmp_path, train, capsys, another)
    assert line.startswith("traceq: no trace: another PyTorch profiler is running in this process")
    assert counts[0] > 0
    assert list(tmp_path.iterdir()) == []
    assert not is_another_active()


def test_a_profiler_that_goes_on_longer_is_left_alone(tmp_path, train, capsys):
    profiler = torch.profiler.profile()
    lines = lines_of_a_run(tmp_path, train, capsys, lambda number: profiler.start() if number == 3 else None)
    profiler.stop()
    assert "another PyTorch profiler" in lines[0]
    assert len(profiler.events()) > 0


def test_a_profiler_that_comes_and_goes_before_the_warm_up_does_no_harm(tmp_path, train, capsys):
    def another(number):
        if number == 0:
            with torch.profiler.profile():
                train()

    (line,) = lines_of_a_run(tmp_path, train, capsys, another)
    assert line.startswith("traceq: steps recorded: 2")
    assert steps_in(only_trace(tmp_path)) == ["traceq.step#3", "traceq.step#4"]


@pytest.mark.parametrize("skip", [0, 2])
def test_a_profiler_that_only_warms_up_is_seen(tmp_path, train, capsys, skip):
    warming = torch.profiler.profile(schedule=torch.profiler.schedule(wait=0, warmup=50, active=1))
    warming.start()
    (line,) = lines_of_a_run(tmp_path, train, capsys, lambda _: None, skip=skip)
    warming.stop()
    assert "another PyTorch profiler" in line


def test_of_two_runs_one_is_profiled_and_both_are_marked(tmp_path, train, capsys):
    with profile(tmp_path, **SHORT) as outer, profile(tmp_path, **SHORT, name="inner") as inner:
        for _ in range(6):
            with outer.step(), inner.step():
                train()
    told = sorted(capsys.readouterr().err.splitlines())
    assert ["another PyTorch profiler" in told[0], "steps recorded: 2" in told[1]] == [True, True]
    assert len(steps_in(only_trace(tmp_path))) == 4
