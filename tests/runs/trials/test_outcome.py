import signal

import pytest

from traceq.capture.status import Event
from traceq.capture.trial import TrialResult
from traceq.runs.trials.outcome import read_tail, trial_of


def measured(rank, steps, **facts):
    told = {"work": {}, "gpu_memory_peak": None, "energy_j": None, "idle_knobs": {}, "threads": 1} | facts
    told |= {"warmup": 5, "cycle": 1, "losses": None, "own_values": {}}
    return Event("measured", 10 + rank, str(rank), float(10 - rank), {"in_job": rank, "steps_ns": steps} | told)


WORKER = "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.\n"


@pytest.fixture
def trial(tmp_path):
    def judge(*events, end="exit", code=0, log="", killed=False):
        (tmp_path / "log").write_text(log)
        ran = TrialResult(end, code, events, 3.0, 1000, killed, tmp_path / "log")
        return trial_of(ran, "n=1", 0, 1000, 25)

    return judge


def test_the_lowest_rank_has_the_steps_and_all_ranks_the_work(trial):
    found = trial(
        measured(1, [9, 9], work={"samples": 4.0, "tokens": 7.0}, gpu_memory_peak=5, energy_j=1.5),
        measured(0, [3, 4], work={"samples": 4.0}, gpu_memory_peak=7, energy_j=0.5),
        end="measured",
        code=-15,
    )
    assert (found.outcome, found.steps_ns, found.work) == ("ok", (3, 4), {"samples": 8.0})
    assert (found.gpu_memory_peak, found.host_memory_peak, found.energy_j) == (7, 1000, 2.0)


def test_energy_that_one_rank_does_not_know_is_not_known(trial):
    assert trial(measured(0, [1], energy_j=1.0), measured(1, [1]), end="measured").energy_j is None


def test_a_knob_that_changed_nothing_is_no_result(trial):
    found = trial(measured(0, [3], idle_knobs={"num_workers": "no DataLoader"}), end="measured")
    assert (found.outcome, found.reason, found.steps_ns) == ("nothing to act on", "num_workers: no DataLoader", ())


TORCH = "Traceback\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\nbye\n"
RANK = "[rank1]: ValueError: rank 1 has it\nW torchrun\ntorch.distributed.elastic...ChildFailedError:\n======\n"


@pytest.mark.parametrize(
    ("code", "log", "killed", "outcome", "reason"),
    [
        (1, "Traceback\n  x\nValueError: no\nsecond line\n", False, "failed", "exit code 1: ValueError: no"),
        (1, RANK, False, "failed", "exit code 1: [rank1]: ValueError: rank 1 has it"),
        (3, "", False, "failed", "exit code 3"),
        (1, TORCH, False, "out of memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"),
        (1, "Traceback\nMemoryError\n", False, "out of memory", "MemoryError"),
        (
            1,
            WORKER,
            True,
            "out of memory",
            "the kernel killed a process because memory ran out: RuntimeError: DataLoader worker",
        ),
        (1, WORKER, False, "failed", "exit code 1: RuntimeError: DataLoader worker"),
        (-signal.SIGKILL, "", True, "out of memory", "the kernel killed it"),
        (137, "", True, "out of memory", "the kernel killed it"),
        (-signal.SIGKILL, "", False, "failed", "killed by SIGKILL"),
        (-signal.SIGSEGV, "", False, "failed", "ended by signal 11"),
        (0, "", False, "too few steps", "no Python process of the program could be reached"),
    ],
)
def test_an_end_before_the_steps_are_made_says_why(trial, code, log, killed, outcome, reason):
    found = trial(code=code, log=log, killed=killed)
    assert found.outcome == outcome
    assert found.reason.startswith(reason)
    assert "\n" not in found.reason


def test_too_few_steps_are_counted(trial):
    found = trial(Event("few", 1, None, 1.0, {"made": 4, "asked": 25}))
    assert (found.outcome, found.reason[:34]) == ("too few steps", "the program ended after 4 of 25 st")


def test_a_program_that_hangs_is_timed_out(trial):
    found = trial(end="time", code=-9)
    assert (found.outcome, "no Python process of the program could be reached" in found.reason) == ("timed out", True)
    found = trial(Event("torch", 1, None, 1.0, {}), end="time", code=-9)
    assert "no torch optimizer made a step" in found.reason
    found = trial(Event("step", 1, None, 1.0, {}), end="time", code=-9)
    assert found.reason.endswith("s: raise --time-limit")


def test_one_that_hangs_in_its_profile_was_measured(trial):
    assert trial(measured(0, [3]), end="time", code=-9).outcome == "ok"


def test_the_end_of_a_log(tmp_path):
    (tmp_path / "log").write_bytes(b"x" * 70_000 + b"\na\x1b[0m\n\n  \nb\xff\n")
    assert read_tail(tmp_path / "log", 2) == ["a\\x1b[0m", "b\N{REPLACEMENT CHARACTER}"]
    assert read_tail(tmp_path / "none") == []
