"""One kernel has most of the busy time.

What it finds
    A kernel name with more than half of the time in which the GPU is busy.

Why it matters
    What is done about other kernels can win less than what is done about this one.

How it is measured
    Time of the ledger (busy_piece.ledger_dur) by kernel name over the counted steps, against that of all that runs
    on the GPU, more than 0.5, if that is at least 0.2 of the steps and other kernels ran, too. Matrix products of
    cuBLAS and CUTLASS on tensor cores are left out: they are what a GPU is there for.

What to try
    Nsight Compute (AMD: rocprof-compute) on this kernel, a better library or algorithm for it, lower precision, fewer
    or smaller calls.

References
    https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traceq.diagnosis.advice import Remark
from traceq.diagnosis.rules.shared.kernels import is_amd, short
from traceq.diagnosis.rules.shared.wording import percent, plural, time
from traceq.diagnosis.subject import Subject

_LEAST = 0.5
# A GPU that has next to nothing to do has other problems than its kernels.
_OF_STEP = 0.2
_HOW = {
    "flash_attention": (
        "Attention limits the step: fewer tokens or a window of them; on Hopper and later FlashAttention 3, or cuDNN's with "
        "torch.nn.attention.sdpa_kernel(SDPBackend.CUDNN_ATTENTION)."
    ),
}


def judge(subject: Subject) -> Iterator[Remark]:
    """The kernel with more than half of the busy time."""
    subject.needs("gpu", "steps")
    rows = subject.ask("hotspot_kernel", least=_LEAST, of_step=_OF_STEP)
    if not rows:
        return
    row = rows[0]
    yield Remark(
        text=(
            f"{short(row['name'])} has {percent(row['busy_share'])} of the time in which the GPU is busy: "
            f"{_times(subject, row['launches'])}, {time(row['mean_ns'])} each."
        ),
        query="hotspot_kernel",
        fix=_HOW.get(
            str(row["family"]),
            f"Look at this kernel first, for instance with {_profiler(subject, row)}.",
        ),
        settings={"least": _LEAST, "of_step": _OF_STEP},
    )


def _times(subject: Subject, launches: int) -> str:
    if subject.is_whole_trace:
        return f"{plural(launches, 'time')} in the trace"
    return f"{plural(launches / subject.steps, 'time')} per step"


def _profiler(subject: Subject, row: dict[str, Any]) -> str:
    name = short(row["name"]).split()[0]
    if is_amd(subject, row["family"]):
        return f"ROCm Compute Profiler: rocprof-compute profile -n hotspot -k {name} -- PROGRAM"
    return f"Nsight Compute: ncu --set full -k regex:{name} -c 5 PROGRAM"
