"""Kernels with few warps at once.

What it finds
    Kernels without matrix products of which registers, shared memory or the number of blocks let less than a
    quarter of the possible warps onto a multiprocessor.

Why it matters
    Warps that are ready hide that others wait for memory. With very few, the multiprocessor waits. Kernels on
    tensor cores are made to run with few warps, and are left out.

How it is measured
    Kernels (kernel_occupancy) of at least 20 us with theoretical_occupancy below 0.25 and a known limiter other
    than the grid; not of cuBLAS, CUTLASS, cuDNN, nvjet and fused attention. Claimed is what half of the warps would
    leave if waiting were all. Shares: 0 low, 0.3 likely, 0.8 high.

What to try
    registers: __launch_bounds__, smaller tiles, fewer variables alive, num_warps in Triton. shared_memory: smaller
    tiles, fewer stages. blocks: more threads per block. Nsight Compute tells what the kernel waits for.

References
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
    https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.kernels import short
from traceq.diagnosis.rules.shared.wording import of_step, percent
from traceq.diagnosis.subject import Subject

_HOW = {
    "registers": (
        "It takes {registers_per_thread} registers per thread: __launch_bounds__(threads, blocks) or smaller tiles need "
        "fewer"
    ),
    "shared_memory": "It takes {shared_memory_bytes} bytes of shared memory per block: smaller tiles or fewer stages need less",
    "blocks": "Its blocks have {threads_per_block} threads, and a multiprocessor takes so many blocks only: use 128 or 256",
}


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Kernels that registers, shared memory or blocks keep few."""
    row = subject.worst(claim)[0]
    return {
        "fix": f"{short(row['name'])} fills {percent(row['occupancy_share'])} of the warps of a multiprocessor. "
        f"{_HOW[str(row['limiter'])].format(**row)}. Let Nsight Compute say first what it waits for: "
        f"ncu --set full -k regex:{short(row['name']).split()[0]}. At best that saves {of_step(subject, claim.claimed_ns)}.",
    }
