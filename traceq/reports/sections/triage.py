"""The kind of capture in words: stands in the header, and is the verdict where there is nothing to judge."""

from __future__ import annotations

from collections.abc import Mapping

from traceq.common.units import count, duration, some
from traceq.diagnosis.program import Program
from traceq.diagnosis.triage import Triage
from traceq.formats.capabilities import format_of
from traceq.reports.document import Verdict, split_code
from traceq.reports.model import TraceReport
from traceq.reports.sections.missing import program_of_report

# What the header says in place of steps or a window.
_UNITS = {
    "nothing_recorded": "nothing recorded",
    "start_up_only": "start-up only",
    "graph_capture": "fragment: graphs are recorded, not run",
    "devices_missing": "fragment: devices are missing",
    "lost": "fragment: work is missing",
    "clocks": "fragment: clocks of host and GPU disagree",
    "rows_missing": "host only: no GPU work was recorded",
    "not_collected": "host only: no GPU work was recorded",
    "other_device": "host only: devices that traceq does not analyse",
}
# What records a program and its GPU, by format or by format and kind of program.
CAPTURES = {
    "nsys": "nsys profile --trace=cuda,nvtx,osrt PROGRAM",
    "chrome": "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
    "rocm": "rocprofv3 --sys-trace -- PROGRAM",
    "xplane tensorflow": "tf.profiler.experimental.start(FOLDER)",
    "xplane": "jax.profiler.trace(FOLDER)",
    "memory_snapshot": 'torch.cuda.memory._record_memory_history(stacks="python")',
}
# What of that records later steps, and several.
_LATER_CAPTURES = {
    "nsys": "nsys profile --trace=cuda,nvtx,osrt --delay=60 --duration=30 PROGRAM",
    "chrome": "schedule=torch.profiler.schedule(wait=5, warmup=2, active=10)",
}


def unit_of_capture(report: TraceReport) -> str:
    """Return what the header says in place of steps, for a capture that cannot be judged, as "start-up only"; else empty."""
    triage = report.triage
    if triage is None or triage.is_judged:
        return ""
    return _UNITS.get(triage.reason) or _UNITS[triage.kind]


def refuse_to_judge(report: TraceReport) -> Verdict | None:
    """Return the verdict "Cannot tell" for a capture that has nothing to judge; None if it is judged."""
    triage = report.triage
    if triage is None or triage.is_judged:
        return None
    why, way_out = _describe_kind(triage, report)
    return Verdict((f"Cannot tell: {why}.",), "cannot tell", lines=(split_code(way_out),))


def tell_capture(advice: str, report: TraceReport) -> str:
    """Return the advice, with the command or call that records the report's program again, if it is known."""
    return add_command(advice, CAPTURES, report.trace.format, program_of_report(report))


def tell_later_capture(advice: str, report: TraceReport) -> str:
    """Return the advice, with the command or call that records several steps after the warm-up, if it is known."""
    commands = {**CAPTURES, **_LATER_CAPTURES}
    return add_command(advice, commands, report.trace.format, program_of_report(report))


def add_command(advice: str, commands: Mapping[str, str], name: str, program: Program) -> str:
    """Return the advice with the command of the format `name` and the program, if there is one."""
    if format_of(name).only_pytorch and not program.may_be_pytorch:
        return f"{advice}."
    command = commands.get(f"{name} {program.kind}") or commands.get(name)
    return f"{advice}: `{command}`" if command else f"{advice}."


def _describe_kind(triage: Triage, report: TraceReport) -> tuple[str, str]:
    """Return what the capture is, with the numbers that show it, and how to record what is missing."""
    context = f"; creating the context took {duration(triage.set_up_ns)}" if triage.set_up_ns else ""
    said = {
        "nothing_recorded": ("nothing was recorded", "Record again, GPU included"),
        "start_up_only": (
            f"the capture contains only the start of the program, and no kernel ran{context}",
            "Find out whether the program ended before it had done any work, or record for longer",
        ),
        "trivial": (
            (
                f"the program does next to nothing on the GPU ({some(triage.gpu_slices, 'operation')}): it only "
                f"starts and ends{context}"
            ),
            "So few operations show only how long first calls take. Record a run with more work",
        ),
        "graph_capture": (
            f"{count(triage.recorded_launches)} of {count(triage.launch_calls)} launches were recorded into graphs, not run",
            "Graphs are built only once, at the start. Record steps in which they run",
        ),
        "devices_missing": (
            (
                f"work of some devices or processes is missing ({triage.gpus_used} of "
                f"{some(triage.gpus_listed, 'GPU')} have work)"
            ),
            "Record all the program's devices and processes, for several steps",
        ),
        "lost": (
            f"the work of {count(triage.unmatched_launches)} of {count(triage.launch_calls)} launches is not in the capture",
            "The profiler's buffers may have been full. Record again, for a shorter time",
        ),
        "clocks": (
            (
                "most GPU work starts long before its launch: the clocks of host and GPU disagree too much to "
                "separate steps"
            ),
            "Perhaps the system time was changed, the machine was suspended, or the driver is old. Record again",
        ),
        "not_collected": (
            "the profiler collected no GPU work: it did not start in the program, or the program used no GPU",
            "Record the program itself, not a wrapper that exits first, GPU included",
        ),
        "rows_missing": (
            f"the program launched work ({some(triage.launch_calls, 'call')}), but none of it is in the capture"
            if triage.launch_calls
            else "operators ran that exist only for a GPU, but no GPU work is in the capture",
            "Record again, GPU included",
        ),
        "other_device": ("the work ran on devices that traceq does not analyse", ""),
    }
    why, advice = said.get(triage.reason) or said[triage.kind]
    if not advice:
        return why, "Look at the host by itself: `traceq report TRACE --full`"
    tell = tell_later_capture if triage.reason == "graph_capture" else tell_capture
    return why, tell(advice, report)
