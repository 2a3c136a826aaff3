"""One run of a program for an experiment: how it ends, and that nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from traceq.capture import processes, trial
from traceq.common import signals
from traceq.errors import MissingTool, ProgramFailed
from traceq.runs.trials.outcome import trial_of

PROGRAM = Path(__file__).parent / "trial_program.py"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found by /proc")


@pytest.fixture
def launch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(trial, "_PATIENCE", 0.5)

    def made(*command, limit=20.0, variables=None, values=None, **options):
        command = command if len(command) > 1 else (sys.executable, str(PROGRAM), *command)
        told = {"seed": 1000, "warmup": 2, "steps": 4, "least_seconds": 0.0, "profiled": 0} | options
        return trial.TrialLaunch(
            command,
            values or {},
            variables or {},
            **told,
            traces=tmp_path / "traces",
            name="n",
            log=tmp_path / "log",
            time_limit=limit,
        )

    return made


def make_runs(pid):
    return processes._is_running(int(pid))


def test_a_program_that_is_measured_is_ended(launch, tmp_path):
    ran = trial.run(launch("1"))
    assert (ran.end, ran.exit_code) == ("measured", -15)
    assert (tmp_path / "log").read_text() == "1 1000\n"
    assert ran.seconds < 15
    assert ran.host_memory_peak > 1 << 20
    assert not list((tmp_path / "traces").iterdir())
    assert trial_of(ran, "n", 0, 1000, 6).outcome == "ok"


@pytest.mark.parametrize(
    ("kind", "end", "code", "outcome"),
    [
        ("stubborn", "measured", -9, "ok"),
        ("fails", "exit", 1, "failed"),
        ("gives up", "gave up", -15, "failed"),
        ("memory", "exit", 1, "out of memory"),
        ("killed", "exit", -9, "failed"),
        ("quits", "exit", 0, "too few steps"),
    ],
)
def test_ends(launch, kind, end, code, outcome):
    ran = trial.run(launch(kind))
    assert (ran.end, ran.exit_code, trial_of(ran, "n", 0, 1, 6).outcome) == (end, code, outcome)


def test_a_program_that_takes_too_long_is_ended(launch):
    ran = trial.run(launch("hangs", limit=0.5))
    assert (ran.end, trial_of(ran, "n", 0, 1, 6).outcome) == ("time", "timed out")


@pytest.mark.parametrize(("kind", "code"), [("1", -15), ("stubborn", -9), ("fails", 1)])
def test_where_processes_are_not_known_its_group_is_ended(launch, monkeypatch, kind, code):
    monkeypatch.setattr(processes, "KNOWN", False)
    assert trial.run(launch(kind)).exit_code == code


@pytest.mark.parametrize("kind", ["children", "leaves"])
def test_no_child_is_left_behind(launch, kind, tmp_path):
    trial.run(launch(kind))
    assert not make_runs((tmp_path / "child").read_text())


@pytest.mark.parametrize("command", ["exec sleep 60", "sleep 60 & echo $! > child; wait", "sleep 60 & echo $! > child"])
def test_a_program_without_its_environment_is_ended_with_all_that_it_started(launch, command, tmp_path):
    began = time.monotonic()
    ran = trial.run(launch("env", "-i", "/bin/sh", "-c", command, limit=0.5))
    assert time.monotonic() - began < 10
    assert ran.end == ("time" if "wait" in command or "exec" in command else "exit")
    child = tmp_path / "child"
    assert not (child.exists() and make_runs(child.read_text()))


def test_a_child_that_clears_its_environment_is_ended(launch, tmp_path):
    trial.run(launch("sh", "-c", "env -i sleep 60 & echo $! > child; sleep 0.3; exit 1"))
    assert not make_runs((tmp_path / "child").read_text())


def test_a_process_that_cannot_be_ended_is_named(launch, monkeypatch):
    started, start = [], trial._start

    def starting(*arguments):
        started.append(start(*arguments))
        return started[0]

    monkeypatch.setattr(trial, "_start", starting)
    monkeypatch.setattr(processes, "end_processes", lambda *_: None)
    with pytest.raises(ProgramFailed, match=r"cannot be ended \(does it run under sudo\?\)"):
        trial.run(launch("sleep", "60", limit=0.1))
    started[0].kill()
    started[0].wait()


def test_processes_that_start_others_while_they_are_ended_are_ended_with_these(launch, monkeypatch):
    """Each of three rounds finds one more; ended ones are waited for in every round."""
    found, ended = [[11], [11, 12], [12, 13]], []
    find = trial._processes_of
    monkeypatch.setattr(trial, "_processes_of", lambda *asked: found.pop(0) if found else find(*asked))
    end = processes.end_processes

    def end_processes(pids, patience):
        ended.append((pids, patience > 0))
        if not {11, 12, 13}.intersection(pids):
            end(pids, patience)

    monkeypatch.setattr(processes, "end_processes", end_processes)
    trial.run(launch("sleep", "60", limit=0.1))
    assert ended[:3] == [([11], True), ([12], True), ([13], True)]
    assert [waits for _, waits in ended] == [True] * 4


def test_ctrl_c_ends_the_program_and_goes_on(launch, monkeypatch):
    pids = []

    def interrupted(self):
        pids.append(self._child.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(trial._RunningProgram, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trial.run(launch("hangs"))
    assert not make_runs(pids[0])


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, signals.Ended)])
def test_a_signal_while_the_program_starts_leaves_it_not_behind(launch, monkeypatch, number, raised):
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)
            signal.raise_signal(number)

    monkeypatch.setattr(trial.subprocess, "Popen", Popen)
    before = signal.signal(number, signals._end_process)
    try:
        with pytest.raises(raised):
            trial.run(launch("1"))
        assert signal.getsignal(number) is signals._end_process
    finally:
        signal.signal(number, before)
    assert [make_runs(each.pid) for each in started] == [False]


def test_a_signal_to_another_thread_does_not_keep_the_program_from_being_ended(launch, monkeypatch):
    pids, end, is_over = [], processes.end_processes, threading.Event()

    def end_processes(found, patience):
        pids.extend(found)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
        end(found, patience)

    monkeypatch.setattr(processes, "end_processes", end_processes)
    before = signal.signal(signal.SIGTERM, signals._end_process)
    other = threading.Thread(target=is_over.wait)
    other.start()
    try:
        with pytest.raises(signals.Ended):
            trial.run(launch("sleep", "60", limit=0.1))
    finally:
        is_over.set()
        other.join()
        signal.signal(signal.SIGTERM, before)
    assert pids
    assert not any(make_runs(pid) for pid in pids)


def test_others_children_are_left_alone(launch):
    import subprocess

    with subprocess.Popen(["sleep", "60"]) as mine:
        trial.run(launch("1"))
        assert make_runs(mine.pid)
        mine.kill()


def test_variables_reach_the_program(launch, tmp_path):
    code = "import os; print(*(os.environ[each] for each in ('LEVEL', 'TRACEQ_SEED', 'OMP_NUM_THREADS')))"
    trial.run(launch(sys.executable, "-c", code, variables={"LEVEL": "a"}, values={"threads": "3"}))
    assert (tmp_path / "log").read_text() == "a 1000 3\n"


def test_a_path_that_is_varied_does_not_take_the_injection_away(launch, tmp_path):
    code = "import os, traceq.capture.inject as i; p = os.environ['PYTHONPATH'].split(':'); print(p[0] in i.__path__, p[1:])"
    (tmp_path / "here").mkdir()
    path = f"{tmp_path / 'here'}:{ROOT}"
    trial.run(launch(sys.executable, "-c", code, variables={"PYTHONPATH": path}))
    assert (tmp_path / "log").read_text() == f"True {path.split(':')}\n"


def test_a_command_that_is_not_there(launch):
    with pytest.raises(MissingTool, match=r"traceq experiment -- python train.py"):
        trial.run(launch("no-such-program", "1"))


def test_descendants_are_found_with_what_they_hold():
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    try:
        assert child in processes.find_descendants(os.getpid())
        assert processes.measure_memory([child]) > 0
        assert processes.measure_peak([child, 0]) > 1 << 20
    finally:
        processes.end_processes([child], 1)
        processes.reap([child])
    assert child not in processes.find_descendants(os.getpid())


TRAIN = """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.Adam(model.parameters(), foreach=False)
for (batch,) in DataLoader(TensorDataset(torch.ones(10_000, 8)), 4):
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

MARKED = """
import torch
from traceq import annotate
torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
for number in range(1000):
    with annotate.step(samples=3):
        annotate.payload(tokens=5)
        model(torch.ones(1, 8))
"""


@pytest.mark.slow
def test_steps_of_a_training_are_measured_and_recorded(launch, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(TRAIN)
    ran = trial.run(launch(sys.executable, "train.py", values={"fused": "1", "num_workers": "1"}, profiled=2))
    found = trial_of(ran, "n", 0, 1000, 6)
    assert (found.outcome, found.reason, len(found.steps_ns), found.work) == ("ok", None, 4, {"samples": 4.0})
    assert all(0 < each < 10**9 for each in found.steps_ns)
    assert found.threads == 1
    assert [each.name for each in (tmp_path / "traces").glob("n.rank0*.gz")] == ["n.rank0.pt.trace.json.gz"]


@pytest.mark.slow
def test_a_knob_that_finds_nothing_is_told(launch, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(TRAIN)
    found = trial_of(trial.run(launch(sys.executable, "train.py", values={"channels_last": "1"})), "n", 0, 1, 6)
    assert (found.outcome, found.steps_ns) == ("nothing to act on", ())
    assert found.reason == "channels_last: the model has no convolution of images"


@pytest.mark.slow
def test_a_training_that_ends_early_says_after_how_many_steps(launch, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(TRAIN.replace("10_000", "16"))
    found = trial_of(trial.run(launch(sys.executable, "train.py")), "n", 0, 1, 6)
    assert found.outcome == "too few steps"
    assert found.reason.startswith("the program ended after 4 of 6 steps")


@pytest.mark.slow
def test_steps_that_are_marked_need_no_optimizer(launch, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "infer.py").write_text(MARKED)
    found = trial_of(trial.run(launch(sys.executable, "infer.py", profiled=2)), "n", 0, 1, 6)
    assert (found.outcome, len(found.steps_ns), found.work) == ("ok", 4, {"samples": 3.0, "tokens": 5.0})


@pytest.mark.slow
def test_knobs_of_the_model_act_after_the_first_step_that_is_marked(launch, tmp_path):
    pytest.importorskip("torch")
    seen = 'print(torch.is_autocast_enabled("cpu"), model(torch.ones(1, 8)).dtype, flush=True)'
    (tmp_path / "infer.py").write_text(MARKED.replace("model(torch.ones(1, 8))\n", f"{seen}\n"))
    found = trial_of(trial.run(launch(sys.executable, "infer.py", values={"amp": "bf16"})), "n", 0, 1, 6)
    assert (found.outcome, found.reason) == ("ok", None)
    assert (tmp_path / "log").read_text().splitlines()[:2] == ["False torch.float32", "False torch.bfloat16"]


DISTRIBUTED = """
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters())
while True:
    model(torch.ones(1, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.slow
def test_all_ranks_of_a_job_are_recorded_and_ended(launch, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "ddp.py").write_text(DISTRIBUTED)
    ranks = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "ddp.py")
    ran = trial.run(launch(sys.executable, *ranks, profiled=2, limit=100.0, values={"ablate": "communication"}))
    assert trial_of(ran, "n", 0, 1, 6).outcome == "ok"
    assert len(list((tmp_path / "traces").glob("*.gz"))) == 2
    assert {int(each.facts["in_job"]) for each in ran.events if each.kind == "measured"} == {0, 1}
    assert not [each for each in {event.pid for event in ran.events} if make_runs(each)]
