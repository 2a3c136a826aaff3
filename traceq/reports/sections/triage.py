"""The kind of capture in words: stands in the header, and is the verdict where there is nothing to judge."""

from __future__ import annotations

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
_RECORD = "Record again, including the GPU"
_RECORD_GPU = {
    "nsys": f"{_RECORD}: `nsys profile --trace=cuda,nvtx,osrt PROGRAM`",
    "chrome": f"{_RECORD}: `profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])`",
    "rocm": f"{_RECORD}: `rocprofv3 --sys-trace -- PROGRAM`",
    "xplane tensorflow": "Record again on a host whose devices it can trace: `tf.profiler.experimental.start(FOLDER)`",
    "xplane": "Record again on a host whose devices the profiler can trace: `jax.profiler.trace(FOLDER)`",
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
    why, way_out = _describe_kind(triage)
    way_out = _record_gpu(report.trace.format, program_of_report(report)) if way_out == _RECORD else way_out
    return Verdict((f"Cannot tell: {why}.",), "cannot tell", lines=(split_code(way_out),))


def _record_gpu(trace_format: str, program: Program) -> str:
    """Return a sentence on how to record again with the GPU's work, with the command or call for the format and program."""
    if format_of(trace_format).only_pytorch and not program.may_be_pytorch:
        return _RECORD
    return _RECORD_GPU.get(f"{trace_format} {program.kind}") or _RECORD_GPU.get(trace_format, _RECORD)


def _describe_kind(triage: Triage) -> tuple[str, str]:
    """Return what the capture is, with the numbers that show it, and how to record what is missing."""
    context = f"; creating the context took {duration(triage.set_up_ns)}" if triage.set_up_ns else ""
    said = {
        "nothing_recorded": ("nothing was recorded", _RECORD),
        "start_up_only": (
            f"the capture contains only the start of the program, and no kernel ran{context}",
            "Record until the program has done some of its work, or find out why it ended before that",
        ),
        "trivial": (
            (
                f"the program does next to nothing on the GPU ({some(triage.gpu_slices, 'operation')}): it only "
                f"starts and ends{context}"
            ),
            "Record a run with more work: so few operations show only how long first calls take",
        ),
        "graph_capture": (
            f"{count(triage.recorded_launches)} of {count(triage.launch_calls)} launches were recorded into graphs, not run",
            "Record when the graphs run: they are built only once, at the start",
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
            "Record again, for a shorter time: the profiler's buffers may have been full",
        ),
        "clocks": (
            (
                "most GPU work starts long before its launch: the clocks of host and GPU disagree too much to "
                "separate steps"
            ),
            "Record again: perhaps the system time was changed, the machine was suspended, or the driver is old",
        ),
        "not_collected": (
            "the profiler collected no GPU work: it did not start in the program, or the program used no GPU",
            f"{_RECORD}, with the program itself, not a wrapper that exits first",
        ),
        "rows_missing": (
            f"the program launched work ({some(triage.launch_calls, 'call')}), but none of it is in the capture"
            if triage.launch_calls
            else "operators ran that exist only for a GPU, but no GPU work is in the capture",
            _RECORD,
        ),
        "other_device": ("the work ran on devices that traceq does not analyse", "Look at the host alone: `--full`"),
    }
    return said.get(triage.reason) or said[triage.kind]
