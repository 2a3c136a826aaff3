"""The gap behind the last work: the training thread explains it."""

from __future__ import annotations

import pytest
from builder import TraceBuilder


def test_after_the_last_work_the_training_thread_explains_the_gap():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.kernel("last", 20, 80, launched=(0, 10))
    trace.call("cudaMalloc", 300, 600)
    trace.annotation("elsewhere", 0, 1000, thread=1)
    trace.fill("time_ledger")
    assert trace.text(
        "select c.cause, c.dur from idle_gap_cause as c join idle_gap as g using (gap_id) where g.ts = 100 order by all"
    ).splitlines() == ["idle_allocation 600", "idle_python 300"]
    assert trace.rows("select thread_id from idle_gap where ts = 100") == [(0,)]


@pytest.mark.parametrize(
    "name",
    [
        "FusionKernelRuntime::compileFusionParallel",
        "FusionExecutorCache::getKernelRuntimeFor::compileNewKRT",
        "KernelExecutor::compile",
    ],
)
def test_nvfusers_ranges_of_compilation_are_compilation(name):
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.kernel("first", 20, 80, launched=(0, 10))
    trace.annotation(name, 100, 600)
    trace.annotation("executor_utils::NVRTC", 200, 300)
    trace.annotation("KernelExecutor::runFusion", 750, 100)
    trace.kernel("second", 820, 180, launched=(800, 10))
    trace.fill("time_ledger")
    assert trace.rows("select dur from time_ledger where category = 'idle_compile'") == [(600,)]
