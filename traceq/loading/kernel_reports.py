"""Reports of kernel profilers beside a trace: read, and staged as rows of kernel_report and kernel_stall."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from traceq.common.kernel_names import function_of_kernel
from traceq.common.units import some
from traceq.importers.kernel_reports import is_kernel_report, read_kernel_report
from traceq.importers.kernel_reports.records import ReportedLaunch, ReportFile
from traceq.loading.sources import split_duplicates
from traceq.loading.staging import add_note, insert_fitting

_TOOLS = {"ncu": "Nsight Compute", "rocprof-compute": "rocprof-compute"}
_INTEGERS = ("dur", "blocks", "threads_per_block", "registers_per_thread", "shared_memory")
_NUMBERS = (
    "compute_throughput", "memory_throughput", "dram_throughput", "l2_throughput", "l1_throughput",
    "achieved_occupancy", "theoretical_occupancy", "waves", "warp_latency", "sm_clock",
)  # fmt: skip


def stage_kernel_reports(connection: duckdb.DuckDBPyConnection, logs: Sequence[Path]) -> None:
    """Insert what those of `logs` say that are reports of kernel profilers into staging, with a note on each.

    Raises UnusableTrace for one that tells of no launch.
    """
    paths, twice = split_duplicates([log for log in logs if is_kernel_report(log)])
    before = 0
    for path in paths:
        report = read_kernel_report(path)
        for table, rows in build_rows(before, path, report).items():
            if rows.num_rows:
                insert_fitting(connection, table, rows)
        before += len(report.launches)
        add_note(connection, "info", "kernel_report", len(report.launches), describe_report(path, report))
        if left_out := describe_left_out(report):
            count = report.rows_left_out + report.values_left_out
            add_note(connection, "data_loss", "kernel_report_left_out", count, f"{path.name}: {left_out}")
    for path, first in twice:
        add_note(connection, "info", "given_twice", 1, f"{path.name} is identical to {first.name}, and counts once")


def describe_report(path: Path, report: ReportFile) -> str:
    """Return in words what the file is, and what its times are not."""
    kernels = len({launch.kernel for launch in report.launches})
    launches = some(sum(launch.launches for launch in report.launches), "launch", "launches")
    said = f"{path.name}, a report of {_TOOLS[report.tool]}: {launches} of {some(kernels, 'kernel')}"
    if report.not_measured:
        said += f", {some(report.not_measured, 'value')} not measured (n/a)"
    return f"{said}; measured one at a time, with clocks and caches of its own: its times are not the trace's"


def describe_left_out(report: ReportFile) -> str:
    """Return words on the rows and values that could not be read, "" where there are none."""
    counted = [
        some(number, what)
        for number, what in ((report.rows_left_out, "row"), (report.values_left_out, "value"))
        if number
    ]
    return (
        f"{' and '.join(counted)} left out: damaged, cut, or in a unit that the metric cannot have" if counted else ""
    )


def build_rows(before: int, path: Path, report: ReportFile) -> dict[str, pa.Table]:
    """Return the rows of a report by table; `before` is how many launches the reports before it have."""
    launches = report.launches
    file = f"{path.parent.name}/{path.name}" if launches and launches[0].page == "tables" else path.name
    columns = {
        "report_id": pa.array(range(before, before + len(launches)), pa.int64()),
        "file": pa.array([file] * len(launches), pa.string()),
        "tool": pa.array([report.tool] * len(launches), pa.string()),
        "version": pa.array([report.version] * len(launches), pa.string()),
        **{
            name: pa.array((getattr(launch, name) for launch in launches), kind)
            for name, kind in (
                ("page", pa.string()), ("launch_id", pa.int64()), ("launches", pa.int64()), ("kernel", pa.string()),
                ("device", pa.int64()), ("compute_capability", pa.string()), ("limiter", pa.string()),
            )
        },
        "function": pa.array((function_of_kernel(launch.kernel) for launch in launches), pa.string()),
        **{
            f"{part}_{axis}": pa.array((_size_of(launch, part, place) for launch in launches), pa.int64())
            for part in ("grid", "block")
            for place, axis in enumerate("xyz")
        },
        **{name: pa.array((_round_count(launch.values.get(name)) for launch in launches), pa.int64()) for name in _INTEGERS},
        **{name: pa.array((launch.values.get(name) for launch in launches), pa.float64()) for name in _NUMBERS},
    }  # fmt: skip
    stalls = [(before + place, stall) for place, launch in enumerate(launches) for stall in launch.stalls]
    return {
        "kernel_report": pa.table(columns),
        "kernel_stall": pa.table(
            {
                "report_id": pa.array((number for number, _ in stalls), pa.int64()),
                "reason": pa.array((stall.reason for _, stall in stalls), pa.string()),
                "share": pa.array((stall.share for _, stall in stalls), pa.float64()),
                "cycles": pa.array((stall.cycles for _, stall in stalls), pa.float64()),
            }
        ),
    }


def _size_of(launch: ReportedLaunch, part: str, place: int) -> int | None:
    """Return a number of the launch's grid or block."""
    size: tuple[int, int, int] | None = getattr(launch, part)
    return None if size is None else size[place]


def _round_count(value: float | None) -> int | None:
    """Return a count of the report as an integer; None for none, and for what no column holds."""
    return None if value is None or value >= 1 << 62 else round(value)
