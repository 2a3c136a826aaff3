"""Experiments on a program that says itself what would be measured (tests/capture/trial_program.py)."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from handmade_runs import run as made_run

from traceq.app import experiment as app
from traceq.app.experiment import Running, experiment
from traceq.errors import NoSuchFinding, ProgramFailed, UnusableTrace, WrongUse
from traceq.runs.losses import LossRecord
from traceq.runs.program_log import NAME, read_log
from traceq.runs.run import FindingKept
from traceq.runs.trials.experiment import TrialLimits
from traceq.runs.trials.folder import Folder
from traceq.runs.trials.plan import TrialPlan
from traceq.runs.trials.trial import Trial

PROGRAM = Path(__file__).parents[1] / "capture" / "trial_program.py"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found by /proc")


@pytest.fixture
def told():
    return []


@pytest.fixture
def do(tmp_path, monkeypatch, told):
    """Runs an experiment over kinds of the program; returns what is shown."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(*kinds, repeats=2, budget=None, tries=(), **knobs):
        vary = {"kind": kinds} | {name: tuple(values.split(",")) for name, values in knobs.items()}
        plan = TrialPlan(
            (sys.executable, str(PROGRAM), "{kind}"), vary, {}, tries, (), factorial=False, steps=4, warmup=2
        )
        running = Running(repeats, 20.0, budget, "throughput", TrialLimits(), told.append)
        return experiment(plan, tmp_path / "e", running).content

    return run


def trials(tmp_path):
    return [(each.setting, each.round, each.outcome) for each in Folder(tmp_path / "e").trials()]


def found(*rules):
    findings = tuple(FindingKept(rule, f"id-{rule}", f"about {rule}", 20.0, 10.0, 40.0, "high") for rule in rules)
    return made_run(100, 100, findings=findings)


def test_all_settings_run_in_all_rounds(do, tmp_path, told):
    content = do("1", "0.5", "2", repeats=3)
    assert len(trials(tmp_path)) == 9
    assert {each.setting.name: each.trials for each in content.results} == {"baseline": 3, "kind=0.5": 3, "kind=2": 3}
    assert content.choice.setting == "kind=0.5"
    assert told[0] == (
        "runs the program as it is first: all else is compared with it. A run is ended after 2 + 4 steps"
    )
    assert told[1].startswith("round 1, baseline: 1.0")
    assert told[2:5] == ["tries 2 settings:", "  1. kind=0.5", "  2. kind=2"]
    assert "; next kind=2, " in told[5]
    assert told[-1].endswith("a step")
    assert (tmp_path / "e" / "logs" / "kind=0.5-round3.log").read_text() == "0.5 1002\n"
    logged = read_log([tmp_path / "e" / NAME]).entries
    assert [(each.change, each.decision) for each in logged] == [("kind=0.5", "keep"), ("kind=2", "reject")]
    assert logged[0].won == pytest.approx(0.5, abs=0.15)


def test_a_setting_that_fails_is_a_result(do, tmp_path):
    content = do("1", "fails", "hangs_not")
    assert sorted(trials(tmp_path)) == [
        ("baseline", 0, "ok"),
        ("kind=fails", 0, "failed"),
        ("kind=hangs_not", 0, "too few steps"),
    ]
    assert content.choice.setting == "baseline"


def test_it_goes_on_where_it_stopped(do, tmp_path, told):
    do("1", "0.5", budget=0.0)
    assert trials(tmp_path) == []
    assert told[1:3] == [
        "the budget is used up: the same command continues from here",
        "not tried: kind=0.5 (the budget left no time for it)",
    ]
    do("1", "0.5", repeats=1)
    before = trials(tmp_path)
    do("1", "0.5", repeats=2)
    assert trials(tmp_path)[: len(before)] == before
    assert sorted(trials(tmp_path)) == [(name, each, "ok") for name in ("baseline", "kind=0.5") for each in (0, 1)]
    del told[:]
    do("1", "0.5", repeats=2)
    assert len(told) == 1
    assert told[0].startswith(f"4 runs kept in {tmp_path / 'e'}, started 20")
    with pytest.raises(WrongUse, match="another experiment"):
        do("1", "0.6")


def test_ctrl_c_keeps_what_was_run(do, tmp_path, told, monkeypatch):
    run, calls = app.capture.run, []

    def interrupted(launch, tell):
        calls.append(launch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return run(launch, tell)

    monkeypatch.setattr(app.capture, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        do("1", "0.5")
    assert told[-1] == f"1 run kept in {tmp_path / 'e'}: the same command continues from here"
    do("1", "0.5")
    assert len(trials(tmp_path)) == 4


def test_a_program_that_fails_as_it_is_is_an_error(do, told):
    with pytest.raises(ProgramFailed, match=r"failed: exit code 1: ValueError: no such thing.*baseline-round1\.log"):
        do("fails", "1")
    assert told[-1] == "| ValueError: no such thing"


def test_what_was_timed_out_runs_again_when_there_is_more_time():
    over, ok = Trial("a", 0, 0, "timed out", time_limit=5.0), Trial("a", 1, 0, "ok")
    assert app._drop_timed_out([over], 5.0) == [over]
    assert app._drop_timed_out([over], 6.0) == app._drop_timed_out([over], None) == []
    assert app._drop_timed_out([over, ok], 5.0) == [ok]


def test_findings_become_settings_and_what_won_is_run_together(do, tmp_path, told, monkeypatch):
    monkeypatch.setattr(app, "profile_of", lambda *_: found("tf32-off", "python-bound", "late-rank"))
    monkeypatch.setattr(app, "usable_cpus", lambda: 2)
    run = app.capture.run

    def faster(launch, tell):
        """The knobs reach the program by its name here: each is a factor of the step."""
        factor = {"tf32": 0.8, "compile": 0.5}
        share = 1.0
        for name in launch.values:
            share *= factor[name]
        return run(replace(launch, command=(*launch.command[:-1], str(share)), values={}), tell)

    monkeypatch.setattr(app.capture, "run", faster)
    content = do("1", tries=("all",), repeats=3)
    names = [each.setting.name for each in content.results]
    assert names == ["baseline", "tf32=1", "compile=default", "compile=default tf32=1"]
    assert [win.setting for win in content.choice.wins] == ["compile=default", "tf32=1"]
    assert content.choice.setting == "compile=default tf32=1"
    assert told[2] == "no setting is known for late-rank (about late-rank): change it by hand"
    assert told[3:6] == [
        "tries 2 settings, the largest predicted saving first:",
        "  1. tf32=1: 20 % (10 to 40 %) of a step predicted, for tf32-off",
        "  2. compile=default: 20 % (10 to 40 %) of a step predicted, for python-bound",
    ]
    assert told[-1] == (
        "not tried: about late-rank (no knob does it, so change it by hand; 20 % (10 to 40 %) of a step predicted, for"
        " late-rank)"
    )
    assert "all together, round 1, " in " ".join(told)
    assert {name: each.predicted.share for each in content.checked for name in [each.setting]} == {
        "tf32=1": 0.2,
        "compile=default": 0.2,
    }
    before = len(trials(tmp_path))
    assert before == 3 * 3 + 3 * 2
    do("1", tries=("all",), repeats=3)
    assert len(trials(tmp_path)) == before


def test_a_setting_that_was_asked_for_twice_is_run_once(do, monkeypatch):
    monkeypatch.setattr(app, "profile_of", lambda *_: found("tf32-off"))
    content = do("1", tf32="1", tries=("F1",), repeats=1)
    assert [(each.setting.name, each.setting.kind, each.setting.finding) for each in content.results] == [
        ("baseline", "baseline", None),
        ("tf32=1", "vary", "id-tf32-off"),
    ]


def test_a_finding_that_is_not_there_is_an_error(do, monkeypatch):
    monkeypatch.setattr(app, "profile_of", lambda *_: found())
    with pytest.raises(NoSuchFinding, match="it has: none"):
        do("1", tries=("F1",))


def test_nothing_is_tried_without_a_recording(do):
    with pytest.raises(UnusableTrace, match="no recording of the baseline"):
        do("1", tries=("all",))


def test_more_threads_than_cores_are_tried_with_fewer(do, monkeypatch, told):
    monkeypatch.setattr(app, "profile_of", lambda *_: found())
    monkeypatch.setattr(app, "usable_cpus", lambda: 0)
    content = do("1", tries=("all",), repeats=1)
    assert [each.setting.name for each in content.results] == ["baseline", "threads=0"]
    assert "operators use 1 threads on 0 cores" in told


@pytest.fixture
def clock(monkeypatch):
    """A clock on which the first run takes as long as `first` says and others 5 s; `now` is what it shows."""
    run, clock = app.capture.run, SimpleNamespace(now=0.0, first=5.0, runs=0)

    def timed(launch, tell):
        taken = clock.first if not clock.runs else 5.0
        clock.runs += 1
        clock.now += taken
        return replace(run(launch, tell), seconds=taken)

    monkeypatch.setattr(app.capture, "run", timed)
    monkeypatch.setattr(app, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_a_budget_leaves_out_what_comes_last(do, clock, told):
    """Nine runs of 5 s: three rounds of the baseline and two settings."""
    content = do("1", "0.5", "0.6", "0.7", "0.8", budget=50.0, repeats=9)
    assert {each.setting.name: each.trials for each in content.results} == {
        **dict.fromkeys(("baseline", "kind=0.5", "kind=0.6"), 3),
        **dict.fromkeys(("kind=0.7", "kind=0.8"), 0),
    }
    assert clock.now <= 50
    assert "the budget is enough for 2 settings, and perhaps not for kind=0.7, kind=0.8" in told
    assert told[-2:] == [f"not tried: kind={each} (the budget left no time for it)" for each in ("0.7", "0.8")]


def test_time_that_is_left_is_for_what_was_left_out_and_then_for_rounds(do, clock, told):
    clock.first = 20.0
    content = do("1", "0.5", "0.6", "0.7", "0.8", budget=100.0, repeats=9)
    assert {each.trials for each in content.results} == {3}
    assert 80 < clock.now <= 100
    do("1", "0.5", "0.6", "0.7", "0.8", budget=60.0, repeats=9)
    assert told[-1].startswith("round 5")


def test_what_has_the_programs_own_value_is_not_run(do, told, monkeypatch):
    made, run = app.trial_of, app.capture.run
    own = {"num_workers": "0", "fused": "0"}
    monkeypatch.setattr(app, "trial_of", lambda *given: msgspec.structs.replace(made(*given), own_values=own))
    content = do("1", num_workers="0,2", fused="1", repeats=1)
    assert [each.setting.name for each in content.results] == ["baseline", "num_workers=2", "fused=1"]
    assert content.result("baseline").setting.values == {"num_workers": "0", "fused": "0", "kind": "1"}
    assert "num_workers=0 is skipped: it is already the program's value" in told
    asked = []
    monkeypatch.setattr(app.capture, "run", lambda launch, tell: (asked.append(launch.values), run(launch, tell))[1])
    do("1", num_workers="0,2", fused="1", repeats=2)
    assert {"num_workers": "0"} not in asked
    assert {} in asked


def test_values_that_are_all_the_programs_own_are_wrong_use(do, monkeypatch):
    made = app.trial_of
    monkeypatch.setattr(
        app, "trial_of", lambda *given: msgspec.structs.replace(made(*given), own_values={"fused": "0"})
    )
    with pytest.raises(WrongUse, match="has all of these values itself"):
        do("1", fused="0")


def test_an_equal_run_is_made_where_losses_differ(do, monkeypatch, told):
    made = app.trial_of

    def with_losses(ran, setting, round_, *others):
        loss = 1.1 if setting == "kind=0.5" else 1.0
        return msgspec.structs.replace(made(ran, setting, round_, *others), losses=LossRecord(((loss,),) * 3, seed=7))

    monkeypatch.setattr(app, "trial_of", with_losses)
    content = do("1", "0.5", "2")
    assert [text for text in told if text.startswith("an equal run, baseline")]
    assert {each.setting.name: each.losses and each.losses.state for each in content.results} == {
        "baseline": None,
        "kind=0.5": "changed",
        "kind=2": "same",
    }
    assert content.result("kind=0.5").losses.equal == 0.0
    assert content.result("baseline").trials == 2
