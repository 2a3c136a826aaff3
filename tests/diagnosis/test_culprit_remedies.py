"""What held the host up decides what to do: compiling and graphs are for many short launches only."""

from __future__ import annotations

from contextlib import closing
from unittest.mock import MagicMock

import pytest
from builder import TraceBuilder
from labelled.rule_cases import UNREAD

from traceq.diagnosis.culprits import build_tree
from traceq.diagnosis.judge import judge_subject, load_subjects
from traceq.diagnosis.rules.registry import all_rules
from traceq.diagnosis.rules.shared.late_host import find_main_remedy

MS = 1_000_000


def steps(trace):
    """Three steps of 10 ms with a kernel at their start and at their end; the host is late for 8 ms between."""
    trace.op("aten::mm", 0, 1_000)
    for start in range(0, 30 * MS, 10 * MS):
        trace.annotation(f"ProfilerStep#{start // (10 * MS)}", start, 10 * MS)
        trace.kernel("gemm", start + MS // 2, MS // 2, launched=(start + 100_000, 5_000))
        trace.kernel("gemm", start + 9 * MS + MS // 2, 400_000, launched=(start + 9 * MS + 400_000, 5_000))
        yield start + MS, 8 * MS


def frames(*names):
    """Python frames within one another while the host is late."""

    def add(trace):
        for start, dur in steps(trace):
            for depth, name in enumerate(names):
                trace.cpu("python", name, start + depth, dur - 2 * depth)

    return add


def operator(name):
    """One operator that computes on the CPU while the host is late."""

    def add(trace):
        for start, dur in steps(trace):
            trace.op(name, start, dur)

    return add


def short_operators(trace):
    """Many operators, each with a kernel shorter than itself."""
    for start in range(0, 3 * MS, MS):
        trace.annotation(f"ProfilerStep#{start // MS}", start, MS)
        for ts in range(start, start + MS, 100_000):
            trace.op("aten::linear", ts + 1_000, 98_000)
            trace.kernel("gemm", ts + 12_000, 30_000, launched=(ts + 5_000, 5_000))


def short_python(trace):
    """Python between many kernels."""
    for start in range(0, 6 * MS, 2 * MS):
        trace.annotation(f"ProfilerStep#{start // (2 * MS)}", start, 2 * MS)
        for ts in range(start, start + 2 * MS, 100_000):
            trace.cpu("python", "train.py(12): metric", ts + 30_000, 60_000)
            trace.kernel("gemm", ts + 12_000, 18_000, launched=(ts + 5_000, 5_000))


# The rule that speaks, and what it says.
SAID = {
    "preprocessing in the step's thread": (
        frames("train.py(3): main", "image_processing.py(9): resize", "<built-in function zoom>"),
        "python-bound",
        "Prepare input",
    ),
    "work of the program's own": (
        frames("train.py(3): main", "train.py(30): evaluate"),
        "python-bound",
        "off the launching thread",
    ),
    "an operator on the CPU": (operator("aten::randn"), "host-bound", "Run it on the GPU"),
    "many short operators": (short_operators, "host-bound", "torch.compile(model"),
    "Python between many kernels": (short_python, "python-bound", "torch.compile(model"),
}


def advice(add, rule):
    """Return what a rule advises for a trace that only it is asked about."""
    trace = TraceBuilder()
    add(trace)
    trace.fill_all(without=UNREAD)
    with closing(trace._connection) as connection:
        judged = judge_subject(load_subjects(connection)[0], [each for each in all_rules() if each.name == rule])
    return judged.findings[0].fix


@pytest.mark.parametrize("culprit", SAID)
def test_compiling_is_for_many_short_launches(culprit):
    add, rule, words = SAID[culprit]
    said = advice(add, rule)
    assert words in said
    assert ("torch.compile(" in said) == ("torch.compile(" in words)


# What the host is in for most of the time, from outside to inside, and the remedy.
CULPRITS = {
    ("train.py(3): main", "<built-in method acquire of _thread.lock object at 0x7f>"): "hand_over",
    ("train.py(3): main", "threading.py(320): wait"): "hand_over",
    ("train.py(3): main", "multiprocessing/connection.py(379): _recv"): "wait_elsewhere",
    ("train.py(3): main", "subprocess.py(505): run"): "wait_elsewhere",
    ("train.py(3): main", "<built-in method write of _io.FileIO object at 0x7f>"): "files_off_thread",
    ("train.py(3): main", "torch/serialization.py(900): save", "pickle.py(4): dump"): "files_off_thread",
    ("torch/profiler/profiler.py(700): step",): "capture_less",
    ("train.py(3): main", "triton/compiler/compiler.py(200): compile"): "compile_before",
    ("torch/_dynamo/eval_frame.py(40): _fn", "torch/_dynamo/convert_frame.py(9): _compile"): "compile_before",
    ("ProfilingGraphExecutorImpl::getOptimizedPlanFor",): "script_before",
    ("train.py(3): main", "cuModuleLoadData"): "load_before",
    ("train.py(3): main", "<frozen importlib._bootstrap>(1): _find_and_load"): "load_before",
    ("torch/utils/data/_utils/fetch.py(50): fetch", "data.py(8): __getitem__"): "input_off_thread",
    ("video_processing.py(3): decode", "aten::resize_"): "input_off_thread",
    ("ExecutorState::Process",): "launch_less",
    ("PjRtStreamExecutorLoadedExecutable::Execute",): "launch_less",
    # what a process runs that another started
    ("multiprocessing/popen_spawn_posix.py(62): _launch", "engine.py(9): step"): "",
    ("<frozen importlib._bootstrap>(1): _find_and_load", "train.py(3): main"): "",
    # a compiled function that runs, the program's own, and an operator say nothing
    ("torch/_dynamo/eval_frame.py(40): _fn", "torchinductor_root/ab/cabc.py(12): call"): "",
    ("train.py(3): main", "train.py(30): evaluate"): "",
    ("aten::linear",): "",
}


def held(*chains):
    """The remedy for a claim of which these chains of names hold the given shares."""
    rows, slices = [], 0
    for names, own in chains:
        for depth, name in enumerate(names):
            parent = slices - 1 if depth else None
            last = own if depth == len(names) - 1 else 0
            rows.append(
                {
                    "slice_id": slices,
                    "parent_id": parent,
                    "kind": "python",
                    "name": name,
                    "is_line": False,
                    "own_ns": last,
                }
            )
            slices += 1
    return find_main_remedy(MagicMock(culprits=lambda _: build_tree(rows)), None)


@pytest.mark.parametrize("names", CULPRITS)
def test_names_show_what_held_the_host_up(names):
    assert held((names, 100)) == CULPRITS[names]


def test_what_holds_half_or_less_decides_nothing():
    lock, own = ("train.py(3): main", "threading.py(320): wait"), ("train.py(3): main", "train.py(30): evaluate")
    assert held((lock, 51), (own, 49)) == "hand_over"
    assert held((lock, 50), (own, 50)) == ""
