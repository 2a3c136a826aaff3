"""Launches wait for their kernels.

What it finds
    Launching calls that return only after their own kernel has ended, for most kernels: CUDA_LAUNCH_BLOCKING is on,
    or a debugging tool does the same.

Why it matters
    The host prepares the next kernel only after the last one has ended, so the GPU is idle after every kernel.

How it is measured
    A kernel counts when the call in cpu_slice that launched it ends at or after the kernel's own end. The rule
    applies when that holds for more than half of the kernels (share 0.5: without the setting it is below 2 % in
    every trace we know) of at least 20 (fewer say nothing of a habit). Claimed are the pieces idle_launch,
    idle_python, idle_sync and idle_launch_latency in the gaps that begin where such a kernel ends (idle_piece).
    Host work is hidden behind kernels once launches do not wait, so at most the time of those kernels is claimed in
    a step. Low 0.5, likely 1, high 1: waits that the program itself asks for remain.

What to try
    Unset CUDA_LAUNCH_BLOCKING (on AMD HIP_LAUNCH_BLOCKING and AMD_SERIALIZE_KERNEL) in the environment of training,
    and run without compute-sanitizer or cuda-gdb. Set it for a run that looks for the kernel behind an error only.

References
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html
    https://docs.pytorch.org/docs/stable/notes/cuda.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import plural

# More than this share of the kernels ...
_SHARE = 0.5
# ... of at least so many.
_KERNELS = 20


def launch_blocking(subject: Subject) -> Iterator[Advice]:
    """Gaps after kernels that their launches waited for."""
    subject.needs("gpu", "steps", "launches")
    claim = subject.claim("launch_blocking", low=0.5, likely=1.0, share=_SHARE, kernels=_KERNELS)
    if claim is None:
        return
    seen = subject.worst(claim)[0]
    yield Advice(
        claim,
        fix=(
            f"Of {plural(seen['kernels'], 'kernel')}, {seen['blocking_kernels']:,} had ended when the call that launched "
            "them returned. Run with `unset CUDA_LAUNCH_BLOCKING` (AMD: HIP_LAUNCH_BLOCKING, AMD_SERIALIZE_KERNEL), and look "
            'for os.environ["CUDA_LAUNCH_BLOCKING"] in the program, the job script and the image.'
        ),
        confidence="high",
        reason="The calls return after their kernels have ended, which launches do not do by themselves.",
        wrong_if="The variable is not set and no debugger or sanitizer runs: then the clocks of host and GPU disagree.",
    )
