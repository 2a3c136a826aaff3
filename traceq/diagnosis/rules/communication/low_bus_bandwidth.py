"""Collectives slower than the link.

What it finds
    Collectives that move their bytes far slower than smaller ones of the same group do in the same trace.

Why it matters
    A larger message uses a link at least as well as a smaller one. Where it does not, it takes another algorithm,
    another path, or its tensors are laid out so that they are copied first.

How it is measured
    bus_bandwidth of collective_slice (nccl-tests' definition), for all-reduce, all-gather and reduce-scatter of at
    least 4 MiB (below, latency rules), in the counted steps. A class (group, operation, size) of at least 8 is slow
    when its best is below half of the best of classes of the same group with no more bytes. Its best, not its mean:
    the others also wait for late ranks. Claimed is what the best would take less at that bandwidth. low 0, likely
    0.4, high 0.9. Where the peak of the link is not known, a group whose collectives are all slow is not found.

What to try
    NCCL_DEBUG=INFO says which path each channel takes. NCCL_ALGO and NCCL_PROTO can be tried by hand; nccl-tests
    measures the link.

References
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import short
from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.collectives import asked_for, size
from traceq.diagnosis.subject import Subject

_LEAST = 4 * 2**20
_FAR = 0.5
_FEWEST = 8


def judge(subject: Subject) -> Iterator[Advice]:
    """Classes of collectives that stay far below what their group reaches."""
    asked_for(subject)
    subject.needs("message_sizes")
    if not subject.present["bus_bandwidth"]:
        raise subject.lacks("the process groups of collectives are not known", "process_groups", "bring them")
    claim = subject.claim("low_bus_bandwidth", low=0.0, likely=0.4, high=0.9, least=_LEAST, far=_FAR, fewest=_FEWEST)
    if claim is None:
        return
    worst = subject.worst(claim)[0]
    yield Advice(
        claim,
        fix=(
            f"{worst['op']} of {size(worst['bytes'])} among {worst['group_size']} ranks reaches at best "
            f"{short(worst['best_bandwidth'])} GB/s on the bus; "
            f"smaller ones of the same group reach {short(worst['reachable_bandwidth'])} GB/s. Run with "
            "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING and "
            f"compare the algorithm and channels chosen; all_reduce_perf -b {worst['bytes']} -e {worst['bytes']} of "
            "nccl-tests measures it alone. Remove "
            "settings of NCCL_ALGO, NCCL_PROTO and NCCL_MAX_NCHANNELS that someone left in the environment."
        ),
        confidence="low",
        reason="Durations include waiting for other ranks: even the best of these may have waited.",
        wrong_if="These always wait for a late rank, or run beside compute that takes the memory bandwidth.",
    )
