"""GPU idle: the host is late to launch.

What it finds
    Time in which nothing runs on the GPU because the host is still inside operators and launching calls: preparing
    a kernel takes it longer than the GPU takes for the one before.

Why it matters
    A faster GPU, or faster kernels, win nothing: the step takes as long as the host needs to launch it.

How it is measured
    The pieces of cause idle_launch in the counted steps (idle_piece), all that no other rule owns. An operator's
    time is that outside of launching calls. High 1: what the steps lose to it. Likely 0.6, low 0.2:
    compiling takes the overhead of operators away, CUDA graphs that of launching, but not all of a program can be compiled
    or captured.

What to try
    torch.compile(mode="reduce-overhead"), CUDA graphs; a larger batch, so that each kernel lasts longer for the
    same launches; fused optimizers and layers; fewer operators.

References
    https://docs.pytorch.org/docs/stable/notes/cuda.html
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://developer.nvidia.com/blog/cuda-graphs/
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.idle_shares import shares
from traceq.diagnosis.rules.shared.kernels import is_amd
from traceq.diagnosis.rules.shared.wording import percent
from traceq.diagnosis.subject import Subject

# A phase with more than this share of the time is worth naming alone.
_MOST = 0.5


def words(subject: Subject, _claim: Claim) -> dict[str, Any]:
    """All of idle_launch."""
    facts = subject.ask("host_bound_facts")
    phase = next((row for row in facts if row["what"] == "phase" and row["idle_share"] > _MOST), None)
    operators = [row for row in facts if row["what"] == "operator"]
    is_torch = subject.has("operators") or any("aten::" in str(row["name"]) for row in operators)
    in_call = sum(row["idle_share"] for row in facts if row["what"] == "call")
    return {
        "fix": f"The host is late mostly in {shares(operators)}; {percent(in_call)} of the time in "
        f"{'HIP' if is_amd(subject) else 'CUDA'} calls themselves, the rest in what is around "
        f"them{_during(phase)}. {_remedy(is_torch, phase)}",
    }


def _during(phase: dict[str, Any] | None) -> str:
    return f"; {percent(phase['idle_share'])} in phase {phase['name']}" if phase else ""


def _remedy(is_torch: bool, phase: dict[str, Any] | None) -> str:
    if not is_torch:
        return (
            "Launch less often: replay the repeated part as a CUDA graph (cudaStreamBeginCapture, cudaGraphLaunch; "
            "torch.cuda.make_graphed_callables), do more per launch, merge kernels."
        )
    if phase and phase["name"] == "optimizer":
        return (
            "Launch less often in the optimizer: `torch.optim.AdamW(..., fused=True)`, or `torch.compile(optimizer.step)` "
            "for one without a fused variant."
        )
    return (
        'Launch less often: `model = torch.compile(model, mode="reduce-overhead")`, which fuses operators and replays CUDA '
        "graphs where shapes are fixed, or a larger batch per step where memory allows."
    )
