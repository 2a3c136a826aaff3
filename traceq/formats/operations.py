"""Capabilities of tables of a job's operations: their times, but not what made them as long."""

from __future__ import annotations

from collections.abc import Iterable

from traceq.formats.format import Capture, Format

_A_RANK = "a profiler's trace of one of the ranks"
_TOLD = {"steps", "ledger", "communication"}


def operations(metrics: Iterable[str], inputs: Iterable[str]) -> Format:
    """Return the record of tables of operations, with its words for each of these metrics and inputs."""
    return Format(
        name="operations",
        profiler="the table of operations",
        is_recorded=False,
        suffixes=(".parquet",),
        captures={
            metric: Capture({}, "columns for the step and the stage of each operation")
            if metric in _TOLD
            else f"a table of operations holds none of it: {_A_RANK} does"
            for metric in metrics
        },
        ways=dict.fromkeys(inputs, _A_RANK),
        beside=("nsys", "chrome"),
    )
