"""Small matrix products one after another.

What it finds
    Runs of at least four matrix products of the same kernel and grid, each shorter than 20 us, with nothing between
    them: a loop over heads, experts, time or samples that one batched product could do.

Why it matters
    Each fills a part of the GPU only and has its own start and end. A batched product fills it with all of them,
    and is one launch.

How it is measured
    Per stream, consecutive kernels of cuBLAS, nvjet and CUTLASS of one name and number of blocks, at least 4 (three
    are the projections of attention) and below 20 us (longer ones fill the GPU on their own). Claimed is the share
    of multiprocessors without a block, half where that is not known. Shares: 0.2 low, 0.6 likely, 1 high; the
    launches they need are counted by other rules.

What to try
    torch.bmm or torch.einsum on stacked operands, torch.nested or a grouped matrix product for different sizes,
    torch.vmap for ensembles, one projection with stacked weights for several of one input.

References
    https://docs.pytorch.org/docs/stable/generated/torch.bmm.html
    https://docs.nvidia.com/cuda/cublas/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.kernels import short
from traceq.rules.shared.wording import percent, plural, time

# Longer ones fill the GPU; ns.
_LONGEST = 20_000
# Query, key and value are three.
_SHORTEST_RUN = 4


def small_matmuls(subject: Subject) -> Iterator[Advice]:
    """Runs of equal small products."""
    subject.needs("gpu", "steps")
    claim = subject.claim("small_matmuls", low=0.2, likely=0.6, high=1.0, longest=_LONGEST, shortest_run=_SHORTEST_RUN)
    if claim is None:
        return
    row = subject.worst(claim)[0]
    covered = row["sm_coverage"]
    filled = "" if covered is None else f" Each reaches {percent(covered)} of the multiprocessors."
    yield Advice(
        claim,
        fix=(
            f"Batch them: {plural(claim.instances / subject.steps, 'small product')} per step run one after another, up to "
            f"{row['run_length']} in a row, such as {short(row['name'])} of {time(row['dur'])}.{filled} Stack the operands: "
            "torch.bmm(torch.stack(a), torch.stack(b)), or torch.einsum over all of them at once."
        ),
        confidence="medium" if covered is not None else "low",
        reason="They are of the same kernel and size and nothing runs between them; whether each needs the one before it "
        "is not in the trace.",
        wrong_if="Each product needs the result of the one before it.",
    )
