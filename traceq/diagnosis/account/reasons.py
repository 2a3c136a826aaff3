"""Why a line of the account cannot be told, and what would tell."""

from __future__ import annotations

from traceq.common.text import shortened
from traceq.common.units import share
from traceq.diagnosis.account.line import Line
from traceq.diagnosis.subject import Subject

# Families of kernels whose least time follows from the shapes of their operators.
_BY_SHAPES = frozenset(
    {
        "cublas",
        "nvjet",
        "cutlass",
        "cudnn",
        "hipblas",
        "miopen",
        "composable_kernel",
        "elementwise",
        "norm",
        "flash_attention",
    }
)
_LONGEST = 60
# The beginning of a longer name finds the kernel as well.
_LONGEST_WORD = 100


def untold(subject: Subject, line: Line) -> tuple[str, str]:
    """Return why it cannot be told whether the time of a line is avoidable, and the command or option that would tell."""
    category, part = line.category, line.part
    if subject.device is None:
        return _of_host(part or category)
    if category == "compute":
        return _of_kernels(subject, line)
    if category == "communication":
        return (
            "transfers and waiting for other ranks cannot be told apart in one rank",
            "Record all ranks and give them together: `traceq report rank*.json`",
        )
    if category.startswith("copy") or category == "memset":
        return _of_copies(line.limit_share)
    return _of_idle(subject, category, part)


def _of_host(part: str) -> tuple[str, str]:
    return f"no rule knows a remedy for {part}", "Sample the host: `py-spy record -o host.svg -- PROGRAM`"


def _of_kernels(subject: Subject, line: Line) -> tuple[str, str]:
    ncu = _counters(subject, line.kernel or "KERNEL")
    if line.limit_share is not None:
        reached = f"{share(line.limit_share)} of the {line.limit}"
        return f"{reached}; what keeps it from more is not in a trace of times", ncu
    if line.part in _BY_SHAPES and subject.program.is_pytorch and not subject.has("shapes"):
        return (
            "the least time that its operators could take follows from their shapes, which were not recorded",
            f"Record shapes: `{subject.way('shapes', 'profile(record_shapes=True)')}`",
        )
    return "what limits it is not in a trace of times", ncu


def kernel_word(name: str) -> str:
    """Return what tools find a kernel by: its name without return type, namespaces, templates and arguments."""
    word = name.removeprefix("void ").split("<")[0].split("(")[0].split("::")[-1].strip()
    return word[:_LONGEST_WORD]


def _counters(subject: Subject, kernel: str) -> str:
    """The command that measures what limits a kernel."""
    if subject.program.is_amd:
        return f"Measure it: `rocprof-compute profile -n kernel -k {kernel} -- PROGRAM`"
    return f"Measure it: `ncu --set roofline -k regex:{kernel} -c 5 PROGRAM`"


def _of_copies(reached: float | None) -> tuple[str, str]:
    if reached is None:
        return "their size or the speed of the link is not known", "Record with the GPU's name and the bytes of copies"
    return (
        f"{share(reached)} of the link, and nothing says whether the copies can go or hide behind kernels",
        "Find who asks for them: `traceq report TRACE --full`",
    )


def _of_idle(subject: Subject, category: str, part: str | None) -> tuple[str, str]:
    if category == "idle_earlier_work":
        return "it was launched before the capture began", "Start the capture some steps earlier"
    if category == "idle_launch_latency":
        return (
            "it was launched in time, and nothing recorded says what it waited for",
            "Record other processes on the GPU and, inside graphs, each node",
        )
    if part is None:
        way = subject.way("python_frames") or subject.way("idle_causes")
        return (
            "the launching thread did nothing that was recorded",
            f"Record what it does: {way}" if way else "Sample the host",
        )
    return (
        f"the host was in {shortened(part, _LONGEST)}, for which no rule knows a remedy",
        "Look at it: `traceq report TRACE --full`",
    )
