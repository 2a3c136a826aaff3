"""The words about compute kernels: how full the GPU was meanwhile, on what cores, and what operators reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.units import UNKNOWN, count, duration, maybe, rate, share, some
from traceq.reports.document import BarRow, Bars, Block, Heading, Name, Paragraph, Query, Spans, Table, make_table
from traceq.reports.model import TraceReport
from traceq.reports.sections.experts import describe_experts
from traceq.reports.sections.fusion import list_fusions
from traceq.reports.sections.missing import capture_with
from traceq.reports.sections.pictures import draw_pictures
from traceq.reports.topics.kernels import GpuMetric, KernelFill, KernelName, Kernels, Mfu, OperatorKind

_LISTED = 4
_ABOUT_TIMES = (
    "Where kernels overlap, time and share are split between them; mean to std are of each kernel's full duration:"
)
_QUARTERS = ("below 25 %", "25 to 50 %", "50 to 75 %", "75 % and above")


def describe_kernels(report: TraceReport) -> Iterator[Block]:
    """Yield the section on compute kernels: how they fill the GPU, occupancy, longest kernels, FLOPs and MFU, GPU metrics.

    Nothing if no kernel ran.
    """
    facts = report.topics.kernels
    if not facts.fill:
        return
    yield Heading(3, ("Compute kernels",))
    listed = sorted(facts.fill, key=lambda each: -each.dur_ns)[:_LISTED]
    for each in sorted(listed, key=lambda each: each.device):
        yield Paragraph((_describe_fill(each, several=len(facts.fill) > 1),))
    if len(facts.fill) > _LISTED:
        yield Paragraph((f"{len(facts.fill) - _LISTED} GPUs with less kernel time are not shown.",))
    yield Query(report.queries["kernels"])
    yield from _describe_occupancy(facts, report)
    yield from draw_pictures(report, "kernels")
    yield Paragraph((_ABOUT_TIMES,))
    yield _kernel_table(facts.top)
    if any(name.limiter != "unknown" or name.tensor_core is not None for name in facts.top):
        yield _limit_table(facts.top)
    yield Query(report.queries["kernel_names"])
    yield from _describe_mfu(facts, report)
    yield from describe_experts(report)
    yield from list_fusions(report)
    if facts.measured:
        yield _metric_table(facts.measured)
        yield Query(report.queries["gpu_metrics"])


def explain_no_kernels(report: TraceReport) -> tuple[Spans, ...]:
    """Return the line that says why there is no section on kernels, as a tuple of one.

    Empty if there is such a section, or the trace has no GPU.
    """
    if report.topics.kernels.fill or not report.ledger:
        return ()
    if report.trace.gpu_slices.get("graph"):
        return (("Compute kernels: only inside graphs, which were traced as a whole.",),)
    return ((f"Compute kernels: none ran in the {report.period}.",),)


def _describe_fill(fill: KernelFill, *, several: bool) -> str:
    where = f"GPU {fill.device}: " if several else ""
    text = f"{where}{some(fill.kernels, 'kernel')}, {duration(fill.dur_ns)}. "
    if fill.occupancy_share is None:
        text += f"Occupancy: {UNKNOWN}, because the trace lacks the GPU's limits or the kernels' registers and blocks. "
    else:
        text += f"Judging by their launches, they fill {share(fill.occupancy_share)} of the GPU's threads on average. "
    if fill.tensor_core_share is None:
        return f"{text}Their names do not show whether they use tensor cores."
    text += f"On tensor (matrix) cores, by name: {share(fill.tensor_core_share)} of their time"
    known = fill.tensor_core_known_share or 0.0
    return f"{text}." if round(known, 3) == 1 else f"{text} (known of {share(known)})."


def _describe_occupancy(facts: Kernels, report: TraceReport) -> Iterator[Block]:
    if len(facts.occupancy) == 1:
        return
    total = sum(each.dur_ns for each in facts.occupancy) or 1
    yield Paragraph(("Estimated occupancy, by time; an upper bound from launch geometry, not a measurement:",))
    yield Bars(
        tuple(
            BarRow(
                "unknown" if each.quarter is None else _QUARTERS[each.quarter],
                (("", each.dur_ns),),
                f"{duration(each.dur_ns)}, {share(each.dur_ns / total)}",
            )
            for each in facts.occupancy
        )
    )
    yield Query(report.queries["kernel_occupancy"])


def _kernel_table(rows: Sequence[KernelName]) -> Table:
    """Return a table of the times of kernels by name, with the columns of `nsys stats`."""
    return make_table(
        rows,
        {
            "kernel": lambda each: Name(each.name),
            "time": lambda each: duration(each.dur_ns),
            "share": lambda each: maybe(share, each.kernel_share),
            "count": lambda each: count(each.kernels),
            "mean": lambda each: duration(each.mean_ns),
            "median": lambda each: duration(each.median_ns),
            "min": lambda each: duration(each.min_ns),
            "max": lambda each: duration(each.max_ns),
            "std": lambda each: maybe(duration, each.stddev_ns),
        },
    )


def _limit_table(rows: Sequence[KernelName]) -> Table:
    """Return a table of the occupancy of kernels by name, with its limit if any is known, and of their use of tensor cores."""
    limits: dict[str, Callable[[KernelName], str]] = {
        "occupancy": lambda each: maybe(share, each.occupancy_share),
        "limited by": lambda each: each.limiter,
    }
    with_limits = any(each.limiter != "unknown" for each in rows)
    return make_table(
        rows,
        {
            "kernel": lambda each: Name(each.name),
            "share": lambda each: maybe(share, each.kernel_share),
            **(limits if with_limits else {}),
            "tensor": lambda each: "-" if each.tensor_core is None else "yes" if each.tensor_core else "no",
        },
        text=(0, 3, 4) if with_limits else (0, 2),
    )


def _describe_mfu(facts: Kernels, report: TraceReport) -> Iterator[Block]:
    if not facts.operators:
        yield Paragraph(("FLOPs and MFU: the trace has no operator shapes; ", *capture_with(report, "mfu"), "."))
        return
    for each in facts.mfu[:_LISTED]:
        yield Paragraph((_describe_utilization(each, report),))
    if facts.mfu:
        yield Query(report.queries["mfu"])
    yield _operator_table(facts.operators)
    yield from draw_pictures(report, "operators")
    yield Query(report.queries["operators"])


def _describe_utilization(mfu: Mfu, report: TraceReport) -> str:
    kernel_ns = sum(each.dur_ns for each in report.topics.kernels.fill if each.device == mfu.device)
    covered = share(mfu.gpu_ns / kernel_ns) if kernel_ns and mfu.gpu_ns is not None else UNKNOWN
    least = "at least " if mfu.unknown_ns else ""
    text = (
        f"GPU {mfu.device}: operators with known FLOPs, {covered} of the kernels' time, do"
        f" {least}{rate(mfu.flops_per_step / 1e9)} GFLOP per {report.unit}, {maybe(rate, mfu.tflop_per_s)} TFLOP/s."
    )
    if mfu.unknown_ns:
        unknown = share(mfu.unknown_ns / kernel_ns) if kernel_ns else UNKNOWN
        reason = f"{unknown} of that time is other products, convolutions or attention without shapes or settings"
        return f"{text} MFU: {UNKNOWN}, {reason}."
    if mfu.mfu_share is None:
        reason = "the GPU's peak is not known, or it is not known whether fp32 may run as TF32"
        return f"{text} MFU: {UNKNOWN}, {reason}."
    return f"{text} MFU, a lower bound: {share(mfu.mfu_share)}; {share(mfu.kernel_efficiency_share)} while those kernels run."


def _operator_table(rows: Sequence[OperatorKind]) -> Table:
    return make_table(
        rows,
        {
            "operators": lambda each: each.kind,
            "count": lambda each: count(each.operators),
            "GPU time": lambda each: duration(each.gpu_ns),
            "TFLOP/s": lambda each: maybe(rate, each.tflop_per_s),
            "of peak": lambda each: maybe(share, each.peak_share),
            "GB/s": lambda each: maybe(rate, each.gb_per_s),
            "memory-bound": lambda each: maybe(share, each.memory_bound_share),
        },
    )


def _metric_table(rows: Sequence[GpuMetric]) -> Table:
    return make_table(
        rows,
        {
            "GPU": lambda each: str(each.device),
            "measured, idle time included": lambda each: each.metric,
            "mean": lambda each: share(each.mean_share),
            "highest": lambda each: share(each.highest_share),
            "samples": lambda each: count(each.samples),
        },
        text=(1,),
    )
