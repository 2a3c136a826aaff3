"""The GPU computes, but far below its peak.

What it finds
    Steps of which more than 60 % are computing and that use less than 30 % of the peak of the GPU (model FLOPs
    utilization).

Why it matters
    A GPU that is busy is not yet well used: the time goes to kernels that memory limits, or to matrix products far
    below their peak.

How it is measured
    mfu (step_mfu) weighted by duration over the counted steps, if known, below 0.3, and the share of category
    compute of the ledger above 0.6; with less, the GPU waits, which other findings say. Work of custom kernels and
    of graphs is not counted, so the true figure may be higher.

What to try
    The findings about kernels: precision, fused attention and elementwise kernels, shapes; a larger batch.

References
    https://arxiv.org/abs/2204.02311
    https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Remark
from traceq.diagnosis.rules.shared.wording import percent
from traceq.diagnosis.subject import Subject

_LOW, _COMPUTING = 0.3, 0.6
# With less of the time in matrix kernels, the others are what to look at.
_MATRIX = 0.5


def judge(subject: Subject) -> Iterator[Remark]:
    """Busy, but not with what counts."""
    subject.needs("gpu", "steps", "flops", "peaks")
    rows = subject.ask("low_mfu")
    if not rows:
        raise subject.lacks("the operations or the peaks of some matrix products are not known", "flops", "brings them")
    row = rows[0]
    if row["mfu_share"] >= _LOW or row["compute_share"] <= _COMPUTING:
        return
    where = (
        "Most of the time goes to kernels that are no matrix products: fuse them (torch.compile, fused attention)."
        if row["matrix_share"] < _MATRIX
        else "Most of the time goes to matrix products below their peak: larger sizes, lower precision, aligned shapes."
    )
    yield Remark(
        text=(
            f"Steps use {percent(row['mfu_share'])} of the peak of the GPU though {percent(row['compute_share'])} of their "
            f"time is computing; matrix kernels have {percent(row['matrix_share'])} of that and reach "
            f"{percent(row['kernel_efficiency_share'])} of their peak."
        ),
        query="low_mfu",
        fix=where,
    )
