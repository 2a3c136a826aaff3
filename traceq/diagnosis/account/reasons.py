"""Why a line of the account cannot be told, and what would tell."""

from __future__ import annotations

from traceq.analysis.categories import HOST_LABELS
from traceq.common.text import first_clause, shortened
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.account.line import Line
from traceq.diagnosis.rules.shared.remedies import remedy_for
from traceq.diagnosis.rules.shared.sentences import describe_worker_work
from traceq.diagnosis.subject import Subject

# What to try for families of kernels, by the remedy's name.
_REMEDIES = {
    "better_products": frozenset({"cublas", "nvjet", "cutlass", "hipblas", "composable_kernel"}),
    "better_convolutions": frozenset({"cudnn", "miopen"}),
    "faster_attention": frozenset({"flash_attention"}),
    "fuse": frozenset({"elementwise", "norm", "softmax", "copy", "reduce"}),
}
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
_IN_PERFETTO = "Look at it in ui.perfetto.dev: `traceq export TRACE -o trace.json`"


def reason_and_remedy(subject: Subject, line: Line, most: str | None) -> tuple[str, str]:
    """Return why the verdict on a line is "cannot tell", and a command or option that would tell.

    `most` is the part that holds most of a line of several parts; None where nothing was recorded.
    """
    if subject.device is None:
        return _explain_host(subject, HOST_LABELS.get(line.part or line.category, line.part or line.category))
    if line.category == "compute":
        return _explain_kernels(subject, line)
    if line.category == "communication":
        return _explain_communication(subject)
    if line.category == "memset":
        return "memory is being filled, and no rule explains why", _IN_PERFETTO
    if line.category.startswith("copy"):
        return _explain_copies(line.limit)
    return _explain_idle(subject, line, most)


def remedy_above_limit(subject: Subject, line: Line) -> str:
    """Return what to do about kernels or copies that take longer than near their limit.

    It is a remedy for the kernels' family, else a command that shows more.
    """
    if line.category != "compute":
        return _IN_PERFETTO
    name = next((name for name, families in _REMEDIES.items() if line.part in families), None)
    if name is None or not subject.program.is_pytorch:
        return _counter_command(subject, line.kernel)
    return first_clause(remedy_for(subject.program, name))


def _explain_host(subject: Subject, words: str) -> tuple[str, str]:
    """Return why nothing is known of host time, called `words`, and a command that samples the host."""
    in_python = subject.program.language == "python"
    if words == HOST_LABELS["data"] and (work := describe_worker_work(subject)):
        reason = f"no confirmed rule has a remedy for {words}; {work.removesuffix('. ')}"
        return reason, "See what would win: `traceq report TRACE --rules extra`"
    return (
        f"no rule has a remedy for {words}",
        "Sample the host: `py-spy record -o host.svg -- PROGRAM`"
        if in_python
        else "Sample the host: `perf record -g PROGRAM`",
    )


def _explain_communication(subject: Subject) -> tuple[str, str]:
    """Return why transfers and waiting cannot be told apart, and a command that reports on the job."""
    if ask(subject.connection, statement("diagnosis/sql/judged_job.sql"), trace_id=subject.trace_id):
        return "the job's findings show how much of it is waiting for other ranks", "See the job: `traceq report DB`"
    return (
        "one rank's trace does not separate transfers from waiting for other ranks",
        "Record all ranks and report on them together: `traceq report rank*.json`",
    )


def _explain_kernels(subject: Subject, line: Line) -> tuple[str, str]:
    """Return why the time of a line of kernels cannot be told, and how to record or measure what would tell."""
    ncu = _counter_command(subject, line.kernel)
    if line.limit is not None:
        return f"it takes longer than the {line.limit} requires, and a trace of times does not show why", ncu
    if line.part in _BY_SHAPES and subject.program.is_pytorch and not subject.has("shapes"):
        return (
            "the shapes of its operators, which give the least time they could take, were not recorded",
            f"Record shapes: `{subject.way('shapes', 'profile(record_shapes=True)')}`",
        )
    return "a trace of times does not show what limits it", ncu


def _counter_command(subject: Subject, kernel: str | None) -> str:
    """Return advice with the command line that measures what limits a kernel, by NVIDIA's or AMD's profiler.

    It is for all kernels where `kernel` is None.
    """
    if subject.program.is_amd:
        return f"Measure it: `rocprof-compute profile -n kernel{f' -k {kernel}' if kernel else ''} -- PROGRAM`"
    return f"Measure it: `ncu --set roofline{f' -k regex:{kernel}' if kernel else ''} -c 5 PROGRAM`"


def _explain_copies(limit: str | None) -> tuple[str, str]:
    """Return why copies cannot be told: no limit is known, or they are above it; and what would tell."""
    if limit is None:
        return (
            "their size or the link's speed is not known",
            "Record the GPU's name and the bytes of copies: `traceq doctor --plan copies`",
        )
    return "they are slower than the link, and nothing shows whether they can be sped up or hidden", _IN_PERFETTO


def _explain_idle(subject: Subject, line: Line, most: str | None) -> tuple[str, str]:
    """Return why nothing is known of a line of idle time, and what would tell; `most` is where most of it was spent."""
    if line.category == "idle_earlier_work":
        return "it was launched before the capture began", _add_way(
            "Start the capture some steps earlier", subject, "early_work"
        )
    if line.category == "idle_launch_latency":
        return (
            "it was launched in time, and the trace does not show what it waited for",
            _add_way("Record other processes on the GPU and, inside graphs, each node", subject, "graph_nodes"),
        )
    if line.part is not None or most is not None:
        where = (
            f"in {shortened(line.part, _LONGEST)}"
            if line.part
            else f"in many places, mostly in {shortened(str(most), _LONGEST)}"
        )
        return f"the host was {where}, for which no rule has a remedy", _IN_PERFETTO
    way = (
        "Record what it does: `traceq record --stacks -- PROGRAM`"
        if subject.program.is_pytorch
        else _add_way("Record what it does", subject, "idle_causes")
    )
    return "nothing was recorded on the launching thread", way


def _add_way(advice: str, subject: Subject, name: str) -> str:
    """Return the advice, with the words on how the trace's profiler records the input `name`, if that is known."""
    words = subject.way(name)
    if words and "`" not in words:
        # what follows a comma with a blank is no option
        command, comma, rest = words.partition(", with ")
        words = f"`{command}`{comma}{rest}"
    return f"{advice}: {words}" if words else advice
