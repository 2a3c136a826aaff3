"""The GPU is saturated: a larger batch does not raise throughput.

What it finds
    Steps in which the GPU computes nearly all the time, with kernels that have work for nearly all of it.

Why it matters
    There is no waiting left to win. A larger batch then takes proportionally longer, so samples per second stay what
    they are; only less work, cheaper arithmetic or better kernels make a step faster.

How it is measured
    Compute is at least 90 % of the counted steps of the critical device (time_ledger): what remains is less than most
    changes of the batch size move. Kernels give a block to at least 80 % of the multiprocessors, by time
    (kernel_occupancy.sm_coverage; below, a larger batch fills the rest for nothing), and matrix multiplications that
    memory limits (operator_cost.bound) take less than half of their time: those read the same weights for a larger
    batch. What is not known of the last two is said.

What to try
    Lower precision where kernels do not use tensor cores, fusion where elementwise kernels take the time, otherwise
    better kernels for the family that takes most of it. For latency: smaller batches, or layers split over GPUs.

References
    https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.kernels import is_amd
from traceq.diagnosis.rules.shared.wording import percent, time
from traceq.diagnosis.subject import Subject

SATURATED = 0.9
FILLED = 0.8
MEMORY_BOUND = 0.5
FEW_TENSOR_CORES = 0.3
MUCH_FUSIBLE = 0.3
FUSIBLE = {"elementwise", "norm", "reduce", "softmax", "optimizer", "copy"}


def judge(subject: Subject) -> Iterator[Remark]:
    """Compute is nearly all of the step, with kernels that fill the GPU."""
    subject.needs("gpu", "steps")
    families = subject.ask("gpu_saturated")
    if not families or families[0]["compute_share"] < SATURATED:
        return
    facts = families[0]
    coverage = facts["mean_coverage_share"]
    if coverage is not None and coverage < FILLED:
        raise NothingThere(
            f"the GPU is busy, but its kernels give work to {percent(coverage)} of it: a larger batch fills the rest"
        )
    if (facts["memory_bound_matmul_share"] or 0) >= MEMORY_BOUND:
        raise NothingThere(
            "the GPU is busy, mostly with matrix multiplications that a larger batch makes cheaper a sample"
        )
    yield Remark(text=_text(subject, facts), query="gpu_saturated", fix=_fix(subject, families))


def _text(subject: Subject, facts: Mapping[str, Any]) -> str:
    coverage = facts["mean_coverage_share"]
    fills = (
        "How far its kernels fill it is not known."
        if coverage is None
        else f"Its kernels give work to {percent(coverage)} of the multiprocessors."
    )
    what = "captured time" if subject.is_whole_trace else "step"
    start = f"The GPU computes {percent(facts['compute_share'])} of the {what} ({time(facts['compute_ns'])}). {fills}"
    if subject.goal == "latency":
        return f"{start} The step gets shorter with less work only: a smaller batch, cheaper arithmetic, or more GPUs a layer."
    return f"{start} A larger batch takes about proportionally longer and hardly raises the samples per second."


def _fix(subject: Subject, families: Sequence[Mapping[str, Any]]) -> str:
    facts = families[0]
    tensor, known = facts["tensor_core_share"], facts["tensor_core_known_share"] or 0.0
    fusible = sum(row["kernel_share"] or 0.0 for row in families if row["family"] in FUSIBLE)
    profiler = "rocprof-compute" if any(is_amd(subject, row["family"]) for row in families) else "ncu"
    parts = []
    if tensor is not None and tensor < FEW_TENSOR_CORES and known >= 0.5:  # noqa: PLR2004 - of most it must be known
        parts.append(
            f"Only {percent(tensor)} of the kernel time that can be told is on tensor cores: "
            "with torch.autocast('cuda', dtype=torch.bfloat16) around forward and loss."
        )
    if fusible >= MUCH_FUSIBLE:
        parts.append(
            f"Elementwise, normalization, reduction and copy kernels take {percent(fusible)} of the kernel time: "
            "model = torch.compile(model) fuses them."
        )
    if not parts and facts["family"] in {None, "unknown"}:
        parts.append(f"Look at the longest kernels first, with {profiler}.")
    elif not parts:
        parts.append(
            f"Kernels of the family {facts['family']} take {percent(facts['kernel_share'] or 0)} of the kernel "
            f"time: look there first, with {profiler} for the longest of them."
        )
    if subject.goal == "latency":
        parts.append("Then try a smaller batch, or tensor parallelism.")
    return " ".join(parts)
