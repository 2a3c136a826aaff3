"""Kernels: the hot kernels of a trace, what a kernel profiler reported of them, and the command lines that run one on them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.source import Source, open_source
from traceq.app.trace_selection import select_traces
from traceq.app.view import View
from traceq.common.units import some
from traceq.database.user_sql import run_interruptibly
from traceq.errors import NoTraces
from traceq.importers.kernel_reports import is_kernel_report, read_kernel_report
from traceq.importers.kernel_reports.records import ReportedLaunch
from traceq.loading.kernel_reports import describe_left_out, describe_report
from traceq.reports.document import Block
from traceq.reports.kernels.model import HotKernels
from traceq.reports.kernels.read import read_kernels
from traceq.reports.kernels.words import compose_kernels, encode_kernels
from traceq.reports.topics.kernels import ReportedKernel


class KernelsView(View[HotKernels]):
    """The hot kernels of a trace; `content` is plain data, in ns and shares (0..1)."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the kernels and the commands as blocks, for every format."""
        return compose_kernels(self.content)

    def to_json(self) -> str:
        """Return the report as JSON text, for programs."""
        return encode_kernels(self.content)


def list_kernels(
    source: Source,
    *,
    top: int = 10,
    profiler: str | None = None,
    program: str = "PROGRAM",
    trace: int | None = None,
    rank: int | None = None,
    read: ReadOptions = AS_FOUND,
) -> KernelsView:
    """List the `top` kernels with most time of a trace, and the commands that run `profiler` on them (ncu, rocprof-compute).

    `program` stands in the commands. The trace is that with the id `trace` or of `rank`, by default the first. Of a report of
    a kernel profiler its launches are listed, the longest first. Raises StoreError for a missing trace, NoTraces for none.
    """
    if (path := Path(str(source))).is_file() and is_kernel_report(path):
        return KernelsView(_read_alone(path, top))
    with open_source(source, "listed", read) as connection:
        chosen = select_traces(connection, [] if trace is None else [trace], rank)
        if not chosen:
            raise NoTraces(f"{source}: holds no traces; ingest some: traceq ingest SOURCE -o {source}")
        trace_id = next(iter(chosen))
        shown = Path(str(source)).name
        found = run_interruptibly(connection, lambda: read_kernels(connection, trace_id, top, shown, profiler, program))
        return KernelsView(found)


def _read_alone(path: Path, top: int) -> HotKernels:
    """Return what a report of a kernel profiler says by itself: its `top` longest launches."""
    report = read_kernel_report(path)
    launches = sorted(report.launches, key=lambda launch: -launch.values.get("dur", 0.0))
    notes = [
        *(
            [f"{some(len(launches) - top, 'more launch', 'more launches')}: --top {len(launches)}"]
            if len(launches) > top
            else []
        ),
        *([left_out] if (left_out := describe_left_out(report)) else []),
        f"Beside a trace of the same program: traceq report TRACE --with {path.name}",
    ]
    return HotKernels(
        source=path.name,
        steps=0,
        hot=(),
        other_share=None,
        reported=tuple(_describe_launch(path, report.tool, launch) for launch in launches[:top]),
        notes=tuple(notes),
        about=describe_report(path, report),
    )


def _describe_launch(path: Path, tool: str, launch: ReportedLaunch) -> ReportedKernel:
    """Return a launch of a report with the report's own time."""
    values = launch.values
    stalls = [stall for stall in launch.stalls if stall.reason != "selected" and stall.share is not None][:2]
    reasons = [stall.reason for stall in stalls] + [None, None]
    shares = [stall.share for stall in stalls] + [None, None]
    grid, block = launch.grid or (None, None, None), launch.block or (None, None, None)
    return ReportedKernel(
        name=launch.kernel,
        grid_x=grid[0],
        grid_y=grid[1],
        grid_z=grid[2],
        block_x=block[0],
        block_y=block[1],
        block_z=block[2],
        tool=tool,
        file=path.name,
        matched_by="launch",
        launches=launch.launches,
        kernels=launch.launches,
        dur_ns=round(values.get("dur", 0.0)),
        compute_share=values.get("compute_throughput"),
        memory_share=values.get("memory_throughput"),
        dram_share=values.get("dram_throughput"),
        occupancy_share=values.get("achieved_occupancy"),
        occupancy_limit_share=values.get("theoretical_occupancy"),
        limiter=launch.limiter,
        stall=reasons[0],
        stall_share=shares[0],
        next_stall=reasons[1],
        next_stall_share=shares[1],
    )
