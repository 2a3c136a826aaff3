"""Most of the GPU's memory is free, and the GPU is not filled.

What it finds
    Steps that leave more than half of the GPU's memory unused while the GPU waits for launches or runs kernels too
    small for it.

Why it matters
    Memory is what a larger batch costs. Where it is free and kernels are small or late, more samples a step cost
    little more time.

How it is measured
    The highest peak, or what was reserved, is below 50 % of the capacity (memory_step, totals only: sums since the
    capture began lack what was there before). Pieces of idle_launch and idle_python below 1 ms take at least 15 % of
    the counted steps, or kernels give work to less than half of the multiprocessors (kernel_occupancy.sm_coverage, by
    time). By how much the batch could grow: what is allocated within a step grows with it, what is there at its start
    does not; up to 80 % of the memory. With --goal latency it is not judged: a larger batch makes no step faster.

What to try
    A larger batch, with the learning rate to match; or memory spent otherwise: no activation checkpointing, no
    offload.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from traceq.common.units import bytes_in
from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import CannotTell, NothingThere
from traceq.diagnosis.rules.shared.wording import percent
from traceq.diagnosis.subject import Subject

UNUSED = 0.5
LAUNCH_BOUND = 0.15
SPARSE = 0.5
FILL_TO = 0.8
MOST_TIMES = 8


def judge(subject: Subject) -> Iterator[Remark]:
    """Room for a larger batch where it would pay."""
    subject.needs("gpu", "steps", "memory_samples")
    (facts,) = subject.ask("memory_unused")
    if not facts["is_total"]:
        raise subject.lacks("only changes of memory are known, not totals", "allocator_totals", "brings them")
    if facts["used_share"] is None:
        raise CannotTell("the trace does not say how much memory the GPU has")
    coverage = facts["coverage_share"]
    is_sparse = coverage is not None and coverage < SPARSE
    if facts["used_share"] >= UNUSED or not (is_sparse or facts["launch_bound_share"] >= LAUNCH_BOUND):
        return
    if subject.goal == "latency":
        raise NothingThere("memory is free, but a larger batch makes no step faster (--goal latency)")
    why = (
        f"kernels give work to {percent(coverage)} of the multiprocessors"
        if is_sparse
        else f"the GPU waits {percent(facts['launch_bound_share'])} of the step for launches"
    )
    yield Remark(
        text=(
            f"{bytes_in('GiB', facts['used_bytes'], 2)} of {bytes_in('GiB', facts['capacity_bytes'], 0)} GiB are in use at most "
            f"({percent(facts['used_share'])}), and {why}: more samples a step would cost little more time. "
            f"{_room(facts)}"
        ),
        query="memory_unused",
        fix=(
            "Double the batch until time a step grows with it: DataLoader(..., batch_size=2 * batch_size); scale the learning "
            "rate."
        ),
    )


def _room(facts: Mapping[str, Any]) -> str:
    in_step = facts["peak_bytes"] - facts["stays_bytes"]
    if in_step <= 0:
        return ""
    times = (FILL_TO * facts["capacity_bytes"] - facts["stays_bytes"]) / in_step
    return (
        f"What a step allocates ({bytes_in('GiB', in_step, 2)} GiB) fits "
        f"{'at least ' if times > MOST_TIMES else 'about '}{min(times, MOST_TIMES):,.0f} times."
    )
