"""Kernels slowed down by communication beside them.

What it finds
    Kernels that take longer while communication runs on the GPU than the same kernels take alone.

Why it matters
    NCCL's kernels occupy multiprocessors and memory bandwidth for as long as they wait and send. Kernels beside them
    get the rest; a matrix product tuned for all multiprocessors may need another wave.

How it is measured
    Kernels of at least 20 us with the same name, grid, block, shared memory, operator and phase in the counted steps,
    at least 10 with communication beside them for 90 % of their time and 10 with none (device_activity). They count
    where those alone agree (90th percentile at most 1.2 times the 10th; else they do different work) and the medians
    differ by more than 10 %. Claimed is what exceeds the median alone. low 0, likely 0.3, high 0.8: some of it is the
    price of overlap, which is worth more.

What to try
    Give NCCL fewer multiprocessors, or let copy engines and the network move the data.

References
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/types.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.collectives import asked_for
from traceq.rules.shared.wording import cut, time

_SHORTEST = 20_000
_FEWEST = 10
_STEADY = 1.2
_SLOWER = 1.1


def communication_contention(subject: Subject) -> Iterator[Advice]:
    """The same kernels, alone and beside communication."""
    asked_for(subject)
    subject.needs("kernel_geometry")
    claim = subject.claim(
        "communication_contention",
        low=0.0,
        likely=0.3,
        high=0.8,
        shortest=_SHORTEST,
        fewest=_FEWEST,
        steady=_STEADY,
        slower=_SLOWER,
    )
    if claim is None:
        return
    worst = subject.worst(claim)[0]
    yield Advice(
        claim,
        fix=(
            f"{cut(worst['name'])} takes {time(worst['alone_ns'])} alone and {time(worst['accompanied_ns'])} beside "
            "communication (medians). Let NCCL "
            "use fewer multiprocessors: NCCL_MAX_CTAS=8, or options = dist.ProcessGroupNCCL.Options(); "
            "options.config.max_ctas = 8; "
            'dist.init_process_group("nccl", pg_options=options). Measure the whole step: too few make the '
            "communication itself slower."
        ),
        confidence="low",
        reason=(
            "The same kernels with the same geometry are compared, but they may do other work at other places of the "
            "step."
        ),
        wrong_if=(
            "These kernels differ in what they compute (sizes that the grid does not show), not in what runs beside "
            "them."
        ),
    )
