"""The same kernel takes much longer now and then.

What it finds
    Launches of a kernel that take more than a quarter longer than the same launch does in other steps.

Why it matters
    The same work on the same GPU should take the same time. Where it does not, something else uses the GPU or its
    memory (another process, copies, communication), clocks change, or the work depends on the data.

How it is measured
    The n-th launch of each name, geometry and stream in a step is compared with its median over the counted steps,
    if all steps launch it equally often and there are at least 10 in all; kernels with others beside them, and
    embeddings, indexing, sorting and unknown kernels, whose time depends on data, are left out. Claimed is what is
    above the median where that is more than 25 % and 5 us. Shares: 0.2 low, 0.7 likely, 1 high.

What to try
    Look for other processes on the GPU (nvidia-smi), at clocks (nvidia-smi -q -d CLOCK,PERFORMANCE), and at what
    runs at the same time in the slow steps.

References
    https://docs.nvidia.com/deploy/nvidia-smi/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.kernels import short
from traceq.rules.shared.wording import percent, plural, time

# How many times the median is too long, and by how much at the least (ns).
_ABOVE, _LEAST_NS = 1.25, 5_000
# Fewer launches tell nothing.
_INSTANCES = 10


def kernel_variance(subject: Subject) -> Iterator[Advice]:
    """What single launches take above the usual."""
    subject.needs("gpu", "steps", "several_steps", "kernel_geometry")
    claim = subject.claim(
        "kernel_variance", low=0.2, likely=0.7, high=1.0, above=_ABOVE, least_ns=_LEAST_NS, instances=_INSTANCES
    )
    if claim is None:
        return
    row = subject.worst(claim)[0]
    yield Advice(
        claim,
        fix=(
            f"Find out what slows single launches down: {plural(claim.instances, 'launch', 'launches')} "
            f"took over {percent(_ABOVE - 1)} longer than the same launch in other steps, at worst {short(row['name'])} with "
            f"{time(row['dur'])} in place of {time(row['usual_ns'])} in step {row['step']}. Look for other processes on the "
            "GPU (nvidia-smi pmon), for clocks that change (nvidia-smi -q -d CLOCK,PERFORMANCE), and at inputs that differ "
            "between steps."
        ),
        confidence="low",
        reason="The work is taken to be the same by name, geometry and place in the step; shapes and data may differ.",
        wrong_if="The slow launches have larger inputs of the same geometry.",
    )
