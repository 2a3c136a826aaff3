from __future__ import annotations

import pytest
from mark_listeners import Tool

from traceq.annotate import emit, to_nvtx


@pytest.fixture
def tool(monkeypatch):
    """A tool that listens to NVTX in this process, and is all that does."""
    listening = Tool()
    monkeypatch.setattr(to_nvtx, "_domain", listening)
    monkeypatch.setattr(to_nvtx, "may_listen", True)
    monkeypatch.setattr(to_nvtx, "_attributes", {})
    monkeypatch.setattr(to_nvtx, "_threads", type(to_nvtx._threads)())
    monkeypatch.setattr(emit, "_on", True)
    monkeypatch.setattr(emit, "_nvtx_wanted", True)
    monkeypatch.setattr(emit, "_torch_wanted", False)
    return listening


@pytest.fixture
def profiled(monkeypatch):
    """Runs a function under the PyTorch profiler: the names that start with traceq., in order of their begin, with times."""
    profiler = pytest.importorskip("torch.profiler")
    monkeypatch.setattr(emit, "_on", True)
    monkeypatch.setattr(emit, "_nvtx_wanted", False)
    monkeypatch.setattr(emit, "_torch_wanted", True)

    def run(function):
        with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as profile:
            function()
        marks = [event for event in profile.events() if event.name.startswith("traceq.")]
        ranges = [(mark.name, mark.time_range.start, mark.time_range.end) for mark in marks]
        return sorted(ranges, key=lambda each: (each[1], -each[2]))

    return run
