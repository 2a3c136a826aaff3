"""Kernels are shorter than their launches.

What it finds
    Loops of kernels that each take less time on the GPU than the host needs to launch the next, and the same with a
    synchronization after every few of them.

Why it matters
    The GPU is idle between any two kernels, however fast it is: the step takes as long as the host needs to launch
    it all. A synchronization after each kernel adds the way to the GPU and back every time.

How it is measured
    Kernels below 10 us: launching takes 5 to 10 us by itself, and 20 to 50 with an operator of PyTorch around it.
    The rule applies when at least half of the kernels of the counted steps are so short, there are at least 100,
    and their median is below the median time from one launching call to the next (else the host is ahead). Claimed
    are the pieces idle_launch, idle_python and idle_launch_latency (idle_piece) of gaps below 500 us that end with
    such a kernel and begin before its launching call has returned; in longer gaps the host does something else than
    launching. Kernels of CUDA graphs are left out. Gaps that a synchronizing call drained are left to the rules
    about those, unless they make up a quarter of these kernels: then the loop launches and waits in turn, and
    idle_sync, idle_unattributed and idle_os count as well. Low 0.3, likely 1, high 1: kernels of one graph
    still take 1 to 2 us from one to the next.

What to try
    CUDA graphs, torch.compile(mode="reduce-overhead"), fused operators, a larger batch. In a CUDA program of one's
    own: kernels that do more at once, one cooperative kernel for the loop, no synchronization after each.

References
    https://docs.pytorch.org/docs/stable/notes/cuda.html
    https://developer.nvidia.com/blog/cuda-graphs/
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import percent, plural, time
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Gaps in loops of tiny kernels."""
    seen = subject.worst(claim)[0]
    return {
        "fix": f"{_what(seen, int(claim.values['tiny_ns']))} {_remedy(subject, seen)}",
        "title": "Tiny kernels, and a synchronization after every few of them" if seen["is_synchronized"] else None,
    }


def _what(seen: dict[str, Any], tiny_ns: int) -> str:
    tiny = (
        f"{percent(seen['tiny_kernels'] / seen['kernels'])} of {plural(seen['kernels'], 'kernel')} take less than "
        f"{tiny_ns // 1000} µs, while launching one takes {time(seen['launch_ns'])} and the host gets to the next "
        f"every {time(seen['launched_every_ns'])}"
    )
    if not seen["is_synchronized"]:
        return f"{tiny}."
    return f"{tiny}; {seen['synchronized']:,} of them start after the host has waited for the ones before."


def _remedy(subject: Subject, seen: dict[str, Any]) -> str:
    wait = (
        "Remove the synchronization after each, or read results once per several rounds. "
        if seen["is_synchronized"]
        else ""
    )
    if subject.has("operators"):
        return (
            f'{wait}Launch them together: `model = torch.compile(model, mode="reduce-overhead")` fuses them and replays CUDA '
            "graphs; with fixed shapes torch.cuda.make_graphed_callables does so for parts. A larger batch makes each "
            "kernel longer for the same launches."
        )
    return (
        f"{wait}Launch them together: capture the loop body once (cudaStreamBeginCapture, cudaGraphInstantiate) and replay it "
        "with cudaGraphLaunch, with conditional nodes where the host decides; or merge kernels, up to one cooperative kernel "
        '(grid.sync()) for the loop. In PyTorch: torch.compile(model, mode="reduce-overhead"), a larger batch.'
    )
