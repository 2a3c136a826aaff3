"""Judge a line of kernels by what reports of a kernel profiler say of them, where the trace alone cannot tell."""

from __future__ import annotations

from msgspec.structs import replace

from traceq.common.units import share
from traceq.diagnosis.account.line import Line
from traceq.diagnosis.rules.shared.kernel_reports import describe_measured, read_measured
from traceq.diagnosis.subject import Subject

# Reports about less of a line's time say nothing of the line.
_MOST_OF_LINE = 0.8
# Nsight Compute's own mark: from it on more of a kernel's work at once wins little.
_AT_LIMIT = 0.8


def judge_by_reports(subject: Subject, line: Line, part: str) -> Line | None:
    """Return the line for kernels of `part` (a family, or a kernel's name) as reports tell it; None where they tell too little.

    It is at its limit where the busiest unit of the memory or of the multiprocessors is at 80 % of its peak and more, else its
    reason says how far below both it is, and what its warps wait for.
    """
    measured = read_measured(subject, part)
    if measured is None or measured.covered_share < _MOST_OF_LINE or not measured.is_whole:
        return None
    words = describe_measured(measured)
    memory, compute = measured.memory_share or 0.0, measured.compute_share or 0.0
    limit, reached = ("memory throughput", memory) if memory >= compute else ("compute throughput", compute)
    if reached >= _AT_LIMIT:
        return replace(
            line,
            verdict="at its limit",
            limit=limit,
            limit_share=min(reached, 1.0),
            reason=f"{share(reached)} of the {limit}, as {measured.tool} measured its kernels one at a time",
        )
    if measured.tool != "ncu":
        remedy = "See what waves wait for: `rocprof-compute analyze -p workloads/hot_kernels/* -b 7`"
        return replace(line, reason=f"neither memory nor compute is at its limit: {words}", remedy=remedy)
    kernel = f" -k regex:{line.kernel}" if line.kernel else ""
    return replace(
        line,
        reason=f"neither memory nor compute is at its limit: {words}",
        remedy=f"See which lines wait: `ncu --set full --import-source yes{kernel} -c 1 -o lines PROGRAM`, and open it in ncu-ui",
    )
