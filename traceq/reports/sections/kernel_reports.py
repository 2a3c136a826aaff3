"""The words about reports of kernel profilers: how far the hot kernels are from the GPU's limits, and what they wait for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.units import count, duration, maybe, share, some
from traceq.diagnosis.rules.shared.kernel_reports import describe_stall
from traceq.reports.document import Block, Heading, Items, Name, Paragraph, Query, Table, make_table
from traceq.reports.model import TraceReport
from traceq.reports.topics.kernels import ReportedKernel

_MOST_UNREPORTED = 5
_LEAST_NEXT = 0.1


def describe_kernel_reports(report: TraceReport) -> Iterator[Block]:
    """Yield the section on reports of kernel profilers; nothing where none is about a kernel of the counted steps."""
    kernels = report.topics.kernels
    if not kernels.reported:
        return
    yield Heading(3, ("Kernel reports",), anchor="kernel-reports")
    yield tabulate_reported(kernels.reported)
    yield from describe_stalls(kernels.reported)
    yield Paragraph((explain_clocks(kernels.reported),))
    yield Query(report.queries["reported_kernels"])
    if kernels.unreported:
        names = [Name(kernel.name) for kernel in kernels.unreported[:_MOST_UNREPORTED]]
        spans = [span for name in names for span in (name, ", ")][:-1]
        more = len(kernels.unreported) - len(names)
        rest = f" and {count(more)} more" if more else ""
        yield Paragraph(("Without a report, of the kernels with most time: ", *spans, f"{rest}."))
        yield Query(report.queries["unreported_kernels"])


def tabulate_reported(rows: Sequence[ReportedKernel]) -> Table:
    """Return a table of kernels with the shares of the GPU's limits that their reports tell."""
    return make_table(
        rows,
        {
            "kernel": lambda row: Name(row.name),
            "grid": lambda row: write_size(row.grid_x, row.grid_y, row.grid_z),
            "time": lambda row: duration(row.dur_ns),
            "count": lambda row: count(row.kernels),
            "compute": lambda row: maybe(share, row.compute_share),
            "memory": lambda row: maybe(share, row.memory_share),
            "DRAM": lambda row: maybe(share, row.dram_share),
            "occupancy": lambda row: maybe(share, row.occupancy_share),
            "of at most": lambda row: maybe(share, row.occupancy_limit_share),
            "limited by": lambda row: row.limiter or "-",
        },
        text=(0, 1, 9),
    )


def describe_stalls(rows: Sequence[ReportedKernel]) -> Iterator[Block]:
    """Yield a line for each kernel on what its warps wait for most; nothing where no report tells."""
    told = [row for row in rows if row.stall is not None and row.stall_share is not None]
    if told:
        yield Items(tuple((Name(row.name), f" ({_write_grid(row)}): {_write_stalls(row)}") for row in told))


def explain_clocks(rows: Sequence[ReportedKernel]) -> str:
    """Return what the reports are of, and why their times are not the trace's."""
    launches = some(sum(row.launches for row in rows), "launch", "launches")
    tools = " and ".join(sorted({row.tool for row in rows}))
    return (
        f"As {tools} measured {launches}, each alone; ncu sets the clock to its base and empties the caches unless told"
        " otherwise. So the shares are of the kernel by itself, and its times there are not these. Times here are the trace's."
    )


def write_size(x: int | None, y: int | None, z: int | None) -> str:
    """Return the size of a grid or block as 1024x2x1, without ones at the end; - where it is not known."""
    numbers = [x, y, z]
    if any(number is None for number in numbers):
        return "-"
    while len(numbers) > 1 and numbers[-1] == 1:
        numbers.pop()
    return "x".join(map(str, numbers))


def _write_grid(row: ReportedKernel) -> str:
    return f"grid {write_size(row.grid_x, row.grid_y, row.grid_z)}"


def _write_stalls(row: ReportedKernel) -> str:
    """Return what the warps of a kernel wait for most, and next, with the shares of their time."""
    warps = "waves" if row.tool == "rocprof-compute" else "warps"
    text = f"{maybe(share, row.stall_share)} of the time its {warps} {describe_stall(row.stall or '')}"
    if row.next_stall is not None and row.next_stall_share is not None and row.next_stall_share >= _LEAST_NEXT:
        text += f", {share(row.next_stall_share)} they {describe_stall(row.next_stall)}"
    return text
