"""Marks as the PyTorch profiler records them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import lazy_import
import pytest

from traceq import annotate
from traceq.annotate import emit, to_torch

torch = lazy_import.module("torch")

ROOT = Path(__file__).resolve().parents[2]


def list_names(ranges):
    return [name for name, _, _ in ranges]


def test_marks_are_records(profiled):
    def train():
        with annotate.step(3, samples=2), annotate.phase("forward"):
            torch.ones(3).sum()

    step, payload, forward = profiled(train)
    assert (step[0], payload[0], forward[0]) == ("traceq.step#3", "traceq.payload#samples=2", "traceq.phase#forward")
    assert step[1] <= payload[1] <= payload[2] <= forward[1] < forward[2] <= step[2]


def test_without_the_private_class_the_public_one_does(profiled, monkeypatch):
    monkeypatch.setattr(to_torch, "_make", None)
    monkeypatch.setattr(to_torch, "_profiler", None)
    monkeypatch.delattr(torch._C._profiler, "_RecordFunctionFast")

    def train():
        with annotate.phase("forward"):
            torch.ones(3).sum()

    assert list_names(profiled(train)) == ["traceq.phase#forward"]


def test_tasks_that_take_turns_keep_their_own_times(profiled):
    async def task(label, turns):
        with annotate.phase(label):
            for _ in range(turns):
                await asyncio.sleep(0.002)

    async def both():
        await asyncio.gather(task("short", 1), task("long", 5))

    short, long = profiled(lambda: asyncio.run(both()))
    assert (short[0], long[0]) == ("traceq.phase#short", "traceq.phase#long")
    # They cross: the one that began first ended first.
    assert short[1] <= long[1] < short[2] < long[2]


def test_a_mark_that_another_thread_ends(profiled):
    def hand_over():
        mark = emit.push("traceq.phase#handed")
        thread = threading.Thread(target=emit.pop, args=(mark,))
        thread.start()
        thread.join()

    assert list_names(profiled(hand_over)) == ["traceq.phase#handed"]


@pytest.mark.parametrize("remote", [False, True])
def test_marks_around_the_start_and_the_end_of_a_profiler(profiled, monkeypatch, remote):
    # Where a daemon may turn the profiler on, marks have records also while it is off.
    monkeypatch.setattr(to_torch, "_may_be_remote", remote)
    before = annotate.phase("before")
    after = annotate.phase("after")

    def body():
        before.__exit__()
        after.__enter__()
        with annotate.phase("within"):
            pass

    before.__enter__()
    ranges = profiled(body)
    after.__exit__()
    assert list_names(ranges) == ["traceq.phase#after", "traceq.phase#within"]
    # A second profiler finds nothing left over.
    assert list_names(profiled(lambda: annotate.phase("again").__enter__())) == ["traceq.phase#again"]


def test_a_profiler_with_a_schedule_records_the_steps_of_its_window(monkeypatch):
    monkeypatch.setattr(emit, "_torch_wanted", True)
    found = []
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda it: found.extend(event.name for event in it.events()),
    ) as profiler:
        for number in range(5):
            with annotate.step(number):
                torch.ones(3).sum()
            profiler.step()
    assert [name for name in found if name.startswith("traceq.")] == ["traceq.step#2", "traceq.step#3"]


def run(*command, **variables):
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=variables, capture_output=True, text=True, timeout=100, check=True
    )


def run_strictly(code, **variables):
    return run("-W", "error", "-c", code, **variables).stdout.strip()


def test_marks_do_not_import_torch():
    code = """
import sys
from traceq import annotate
with annotate.step(0, samples=1), annotate.phase("forward"):
    list(annotate.loader([1, 2]))
print("torch" in sys.modules)
"""
    assert run_strictly(code) == "False"


@pytest.mark.slow
def test_torch_may_be_imported_after_the_first_marks():
    code = """
from traceq import annotate
with annotate.phase("early"):
    pass
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU]) as profiled, annotate.phase("late"):
    pass
print([event.name for event in profiled.events()])
"""
    assert run_strictly(code).endswith("['traceq.phase#late']")


NEITHER = """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in ("torch", "nvtx", "numpy"):
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Missing)
from traceq import annotate
@annotate.phase("function")
def function():
    return 3
with annotate.step(samples=1), annotate.phase("forward"):
    annotate.payload(tokens=3)
print(function(), list(annotate.loader([1, 2])), annotate.enabled())
"""


def test_without_torch_and_nvtx_nothing_happens():
    assert run_strictly(NEITHER, NVTX_INJECTION64_PATH="nowhere") == "3 [1, 2] True"


def test_an_unknown_backend_is_told_and_taken_as_all():
    code = "import warnings; warnings.simplefilter('always'); from traceq import annotate; print(annotate.enabled())"
    done = run("-c", code, TRACEQ_ANNOTATE="nvt")
    assert done.stdout.strip() == "True"
    assert "TRACEQ_ANNOTATE=nvt: expected one of all, nvtx, torch, off; taken as all" in done.stderr
