"""From a trace's tables to the report on its hot kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traceq.common.kernel_names import kernel_word
from traceq.common.units import some
from traceq.reports.kernels.commands import (
    SteadyStep,
    count_needed_steps,
    write_ncu_commands,
    write_report_command,
    write_rocprof_commands,
)
from traceq.reports.kernels.model import HotKernel, HotKernels
from traceq.reports.queries import read_rows
from traceq.reports.topics.kernels import ReportedKernel

if TYPE_CHECKING:
    import duckdb

# Ranges that NVTX marks, so that a profiler can be told of them.
_OF_NVTX = frozenset(("nsys",))
_NUMBERS_OF_ROCPROF = (
    "Kernels are numbered by their time; rocprof-compute analyze -p workloads/hot_kernels/* --list-stats lists them."
)
_ONE_LAUNCH = (
    "One launch of each kernel and grid is measured (--filter-mode per-launch-config; an ncu that does not know it measures one"
    " launch in all). ncu runs it several times: the program is slower meanwhile, and other ranks wait."
)


def read_kernels(
    connection: duckdb.DuckDBPyConnection, trace_id: int, top: int, source: str, profiler: str | None, program: str
) -> HotKernels:
    """Return the `top` kernels with most time, what was reported of them, and the commands of `profiler` (None: no commands)."""
    hot = tuple(HotKernel(**row) for row in read_rows(connection, "hot_kernel", trace_id=trace_id, top=top))
    reported = read_rows(connection, "kernel_reported", trace_id=trace_id, top=top)
    (facts,) = read_rows(connection, "hot_kernel_step", trace_id=trace_id)
    known = [kernel.kernel_share for kernel in hot if kernel.kernel_share is not None]
    report = HotKernels(
        source=source,
        steps=facts["steps"],
        hot=hot,
        other_share=max(0.0, 1 - sum(known)) if known and len(known) == len(hot) else None,
        reported=tuple(ReportedKernel(**row) for row in reported),
    )
    if profiler is None or not hot:
        return report
    steady = SteadyStep(max(1, facts["skipped"]), facts["range_name"] if facts["format"] in _OF_NVTX else None)
    ncu = profiler == "ncu"
    commands = write_ncu_commands(hot, steady, program) if ncu else write_rocprof_commands(hot, program)
    return HotKernels(
        source=report.source,
        steps=report.steps,
        hot=report.hot,
        other_share=report.other_share,
        reported=report.reported,
        commands=(*commands, *((write_report_command(source, profiler),) if commands else ())),
        notes=_write_notes(hot, steady, is_ncu=ncu) if commands else (),
        left_out=tuple(kernel.name for kernel in hot if kernel_word(kernel.name) is None),
    )


def _write_notes(hot: Sequence[HotKernel], steady: SteadyStep, *, is_ncu: bool) -> tuple[str, ...]:
    """Return what to know of the commands."""
    if not is_ncu:
        return (_NUMBERS_OF_ROCPROF,)
    if steady.range_name is not None:
        return (f"Only launches within the NVTX range {steady.range_name} are measured.", _ONE_LAUNCH)
    skipped = (
        f"The first launches of each kernel are skipped: those of {some(steady.skipped, 'step')} of warm-up. If the program warms"
        f" up longer, raise --launch-skip. The rarest kernel runs that often in {some(count_needed_steps(hot, steady), 'step')}."
    )
    return (skipped, _ONE_LAUNCH)
