"""Gradient accumulation over micro-batches that are too small.

What it finds
    Several forward and backward passes per optimizer step, while the host cannot launch their small kernels as fast
    as the GPU runs them.

Why it matters
    Each micro-batch launches the same kernels again. Where launching is the limit, half as many micro-batches of
    twice the size do the same work with half the launches.

How it is measured
    Turns from forward to backward per optimizer step, in the order of launches (launch_state.phase): at least 2.
    Pieces of idle_launch and idle_python shorter than 1 ms (longer ones are something else than launching) take at
    least 15 % of the counted steps, where XProf's advice on launching begins. Peak memory (memory_step) is below 70 %
    of the GPU's, so that a micro-batch half as large again fits; unknown memory is said. Pipelines (sends and
    receives) are left out: they need their micro-batches.

What to try
    Double the micro-batch and halve the accumulation steps, until memory is used or the kernels fill the GPU.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import bytes_in, short
from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.wording import percent, time
from traceq.diagnosis.subject import Subject

SEVERAL = 2
LAUNCH_BOUND = 0.15
MEMORY_TAKEN = 0.7


def judge(subject: Subject) -> Iterator[Remark]:
    """Accumulation steps that launching limits, with memory left."""
    subject.needs("gpu", "steps", "phases", "launches")
    (facts,) = subject.ask("small_microbatch")
    passes = facts["micro_batches_per_update"]
    if passes is None or passes < SEVERAL:
        raise NothingThere("one forward and backward pass per optimizer step, or no optimizer step to tell")
    if facts["pipeline_transfers"] or facts["launch_bound_share"] < LAUNCH_BOUND:
        return
    memory = facts["memory_share"]
    if memory is not None and memory >= MEMORY_TAKEN:
        raise NothingThere(f"memory is {percent(memory)} taken: larger micro-batches do not fit")
    allocator = subject.way("allocator")
    brings = f" ({allocator} brings it)" if allocator else ""
    room = (
        f"Memory is not in the trace{brings}."
        if memory is None
        else f"Peak memory is {percent(memory)} of {bytes_in('GiB', facts['capacity_bytes'], 0)} GiB."
    )
    yield Remark(
        text=(
            f"{short(passes)} micro-batches per optimizer step, each of about {facts['kernels_per_micro_batch']:,.0f} "
            "kernels with a median "
            f"of {time(facts['median_kernel_ns'])}; for launching them the GPU waits "
            f"{percent(facts['launch_bound_share'])} "
            f"of the step. {room}"
        ),
        query="small_microbatch",
        fix=(
            "Double the micro-batch and halve the accumulation, with the same batch per optimizer step: "
            f"DataLoader(..., batch_size=2 * batch_size), accumulation_steps = {max(1, round(passes / 2))}."
            + ("" if memory is not None else " Look at torch.cuda.max_memory_allocated() first.")
        ),
    )
