"""Kernels slow down over the trace.

What it finds
    The same kernels take longer in the last third of the steps than in the first, most of them by about as much:
    the clock of the GPU went down, for heat or power.

Why it matters
    A GPU that is too hot or at its limit of power computes more slowly the longer a job runs, and a job of many
    GPUs is as fast as the slowest of them. It also makes captures of different lengths differ.

How it is measured
    Kernels of the same name, grid, block and shared memory, of at least 5 us and with nothing beside them, at least
    3 in each of the first and last third of the counted steps and not of very different durations (0.9 quantile
    below twice the 0.1 quantile: those are different work); no embeddings, indexing or sorting, whose time depends
    on data. Found if at least 3 kernels are compared, medians rise by 10 % over the time of all, and 70 % of that
    time rises by 5 % or more. Claimed is what later kernels take above the medians of the first third. Shares: 0.3
    low, 1 likely, 1 high.

What to try
    nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,POWER while it runs tells the reason. Better cooling, a higher
    limit of power (nvidia-smi -pl); locked clocks (nvidia-smi -lgc) for comparisons.

References
    https://docs.nvidia.com/deploy/nvidia-smi/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import percent, time

# Shorter kernels are mostly start and end; ns.
_SHORTEST = 5_000
# Instances in each of the thirds, and kernels to compare.
_EACH, _KERNELS = 3, 3
# By how much medians rise over all, and how much of the time does so.
_LEAST, _MOST_OF_IT = 0.1, 0.7


def clock_drift(subject: Subject) -> Iterator[Advice]:
    """What later kernels take above the first."""
    subject.needs("gpu", "steps", "several_steps", "kernel_geometry")
    claim = subject.claim(
        "clock_drift",
        low=0.3,
        shortest=_SHORTEST,
        each=_EACH,
        kernels=_KERNELS,
        least=_LEAST,
        most_of_it=_MOST_OF_IT,
    )
    if claim is None:
        return
    row = subject.worst(claim)[0]
    yield Advice(
        claim,
        fix=(
            f"The same kernels take {percent(row['drift_share'])} longer at the end of the trace than at its start. Look at "
            "clocks, temperature and power while the job runs (nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,POWER, "
            "Clocks Event Reasons), and mend cooling or raise the limit of power: nvidia-smi -pl WATTS. "
            f"At the first speed each step would compute {time(claim.claimed_ns)} less."
        ),
        confidence="medium",
        reason=f"{percent(row['slower_share'])} of the compared time slowed down alike; clocks themselves were not recorded.",
        wrong_if="Clocks stay the same while it runs: then the work itself grows, or something else uses the GPU.",
    )
