"""Words on reports of a kernel profiler: how near a kernel is to its limits, and its stalls."""

from __future__ import annotations

import msgspec

from traceq.common.units import share
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.subject import Subject

# What warps wait for, by the reason as Nsight Compute names it; of rocprof-compute, which has two, dependency and issue.
STALL_WORDS = {
    "long_scoreboard": "wait for global or local memory",
    "short_scoreboard": "wait for shared memory or a special function",
    "lg_throttle": "wait to issue loads and stores of global memory",
    "mio_throttle": "wait to issue to shared memory and special functions",
    "tex_throttle": "wait to issue texture reads",
    "math_pipe_throttle": "wait for a busy arithmetic unit",
    "barrier": "wait for other warps at a barrier",
    "wait": "wait a fixed number of cycles between dependent instructions",
    "imc_miss": "wait for constants that the cache lacks",
    "no_instruction": "wait for instructions to be fetched",
    "no_instructions": "wait for instructions to be fetched",
    "branch_resolving": "wait for the target of a branch",
    "membar": "wait at a memory fence",
    "not_selected": "are ready while another warp issues",
    "drain": "wait for their last stores",
    "dispatch_stall": "wait for the dispatcher",
    "sleeping": "sleep",
    "warpgroup_arrive": "wait for a warp group's matrix product to begin",
    "gmma": "wait for a matrix product of the warp group",
    "misc": "wait for something else",
    "dependency": "wait for memory",
    "issue": "wait for their turn to issue",
}
_LEAST_STALL = 0.1
_ANY_REPORT = "select 1 from reported_kernel where trace_id = $trace_id limit 1"


class KernelsMeasured(msgspec.Struct, frozen=True):
    """Reports on several kernels together: means (0..1) over the part `covered_share` of their time that reports are about.

    `is_whole` says whether all of these reports tell both shares. The stall is that of the kernel with most time.
    """

    tool: str
    covered_share: float
    memory_share: float | None
    compute_share: float | None
    is_whole: bool
    stall: str | None
    stall_share: float | None


def describe_measured(kernel: KernelsMeasured) -> str:
    """Return a clause as "ncu: 91 % of memory throughput; 63 % of the time its warps wait for memory", or "" without shares."""
    reached = [
        (value, f"{share(value)} of {what} throughput")
        for value, what in ((kernel.memory_share, "memory"), (kernel.compute_share, "compute"))
        if value is not None
    ]
    parts = [", ".join(words for _, words in sorted(reached, reverse=True))] if reached else []
    if kernel.stall is not None and kernel.stall_share is not None and kernel.stall_share >= _LEAST_STALL:
        warps = "waves" if kernel.tool == "rocprof-compute" else "warps"
        parts.append(f"{share(kernel.stall_share)} of the time its {warps} {describe_stall(kernel.stall)}")
    return f"{kernel.tool}: {'; '.join(parts)}" if parts else ""


def describe_stall(reason: str) -> str:
    """Return what a warp does that stalls for this reason, as a verb with its objects."""
    return STALL_WORDS.get(reason, f"stall ({reason})")


def read_measured(subject: Subject, part: str) -> KernelsMeasured | None:
    """Return what reports say of the kernels of a family, or of one name, on the subject's device; None without reports."""
    if subject.device is None or not ask(subject.connection, _ANY_REPORT, trace_id=subject.trace_id):
        return None
    rows = ask(
        subject.connection,
        statement("diagnosis/account/reported.sql"),
        trace_id=subject.trace_id,
        device=subject.device,
        part=part,
    )
    return KernelsMeasured(**rows[0]) if rows else None


def write_measured(subject: Subject, name: str) -> str:
    """Return a sentence on what reports of a kernel profiler say of the kernel with this name, "" without reports."""
    measured = read_measured(subject, name)
    words = "" if measured is None else describe_measured(measured)
    return f"{words}." if words else ""
