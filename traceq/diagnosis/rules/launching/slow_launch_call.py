"""Launching calls take far longer than a launch does.

What it finds
    Calls that launch one kernel (cudaLaunchKernel and its like) and take many times as long as they should, while
    the GPU waits for that very kernel.

Why it matters
    A launch takes some 5 us. One that takes hundreds waits for something: a lock of the driver that another thread
    holds (allocation, a second launching thread), memory, a processor the thread was taken off, the profiler.

How it is measured
    Idle time (idle_piece, cause idle_launch) inside the launching call that ends the gap, less the median duration
    of such calls, when the call takes more than 50 us (the limit of Holistic Trace Analysis) and more than 4 times
    the median. Calls that find 1,000 launches queued are left out (launch_state.queue_depth): a full queue makes
    them wait, and the GPU has work. So are graph launches, which take longer. Low 0.3, likely 1, high 1: the
    trace does not say what they waited for.

What to try
    One launching thread per process and as many processor cores as threads that launch; no cudaMalloc or cudaFree
    beside; pinning threads to cores of the GPU's NUMA node. nsys --trace=osrt and --sample=process-tree show locks
    and lost cores.

References
    https://github.com/facebookresearch/HolisticTraceAnalysis
    https://docs.nvidia.com/nsight-systems/UserGuide/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.kernels import is_amd
from traceq.diagnosis.rules.shared.wording import plural, time
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Gaps in slow launching calls."""
    worst = subject.worst(claim)[0]
    return {
        "fix": f"Find out what {plural(claim.instances, 'launching call')} {'waits' if claim.instances == 1 else 'wait'} for: "
        f"{worst['name']} takes {time(worst['usual_ns'])} as a rule, and up to {time(worst['call_ns'])} here. "
        f"{_next_capture(subject)} If they are locks, launch from one thread and keep allocation out of the steps; if the "
        "thread lost its core, give each process its own: `taskset -c 0-7 python train.py`, `torch.set_num_threads(4)`, "
        "fewer loader workers than cores.",
    }


def _next_capture(subject: Subject) -> str:
    if subject.has("os_calls"):
        return "Look at calls of the operating system and at other threads at these times."
    if is_amd(subject):
        return "`rocprofv3 --sys-trace -- python train.py` shows what other threads call at these times."
    return subject.way("locks", "Capture calls of the operating system, and when threads lose their core.")
