"""Capabilities of PyTorch's memory snapshots: who allocated what when, but not how time is spent."""

from __future__ import annotations

from collections.abc import Iterable

from traceq.formats.format import Capture, Format
from traceq.formats.nsys import COMMON_WAYS

_A_TRACE = "a trace of torch.profiler or nsys"


def memory_snapshot(metrics: Iterable[str], inputs: Iterable[str]) -> Format:
    """Return the record of memory snapshots, with its words for each of these metrics and inputs."""
    return Format(
        name="memory_snapshot",
        profiler="the memory snapshot",
        is_recorded=False,
        has_times=False,
        suffixes=(".pickle", ".pkl", ".db"),
        captures={
            metric: Capture({}, COMMON_WAYS["allocations"])
            if metric == "memory"
            else f"a memory snapshot holds none of it: {_A_TRACE} does"
            for metric in metrics
        },
        ways={
            **dict.fromkeys(inputs, _A_TRACE),
            "allocations": COMMON_WAYS["allocations"],
            "timeless": "a memory snapshot has no times",
        },
    )
