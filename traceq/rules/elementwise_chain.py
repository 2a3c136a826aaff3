"""Elementwise kernels one after another.

What it finds
    Runs of different elementwise kernels on a stream with nothing else between them: operations on the same tensor,
    each of which reads it from memory and writes it back.

Why it matters
    Such kernels are limited by the bandwidth of memory, and most of what they move is moved only from one to the
    next. A compiler makes one kernel of a run.

How it is measured
    Per stream, consecutive kernels of the families elementwise and copy (kernel_occupancy; by name, so for both
    profilers), without fills, foreach kernels, concatenations and the optimizer's. Of a run with k different
    kernels the share 1 - 1/k is claimed, at most 0.8; a run of one kernel over and over claims nothing. Shares: 0.1
    low, 0.5 likely (not all in a run work on the same tensor, and some results are needed later), 0.9 high.

What to try
    torch.compile(model), or on the module with most of it; fused operators (gelu, layer_norm, dropout with
    residual), in-place operations, half precision.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.pytorch.org/docs/stable/generated/torch.compile.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.kernels import names
from traceq.rules.shared.wording import percent, plural, time


def elementwise_chain(subject: Subject) -> Iterator[Advice]:
    """Runs that a compiler would fuse."""
    subject.needs("gpu", "steps")
    claim = subject.claim("elementwise_chain", low=0.1, likely=0.5, high=0.9)
    if claim is None:
        return
    worst = subject.worst(claim)
    yield Advice(
        claim,
        fix=(
            f"Let a compiler fuse them: model = torch.compile(model). {plural(claim.instances / subject.steps, 'kernel')} "
            f"per step stand in runs of elementwise work, up to {max(row['run_length'] for row in worst)} in a row, "
            f"mostly {names(worst)}; fused they would take {time(claim.claimed_ns)} "
            f"({percent(float(claim.row['claimed_share']))}) of each step less at best."
        ),
        confidence="medium",
        reason="Kernels that follow one another are told by name and order; whether they work on the same tensor is not "
        "recorded.",
        wrong_if="The kernels of a run work on different tensors, or the model does not compile.",
    )
