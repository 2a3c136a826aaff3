"""Copies far below the rate they could have.

What it finds
    Large copies that are much slower than others of their kind in the same trace, or than what the link of the GPU
    carries.

Why it matters
    The same bytes would take a fraction of the time. What slows them down is mostly outside of the program: memory
    of another NUMA node, a slot with fewer or older lanes, several GPUs behind one switch that copy at once.

How it is measured
    Exposed copies of at least 1 MiB (below it latency counts) between host and device and between devices
    (copy_overlap). What is possible is the larger of best_bandwidth, the best of the same direction, memory and
    size class in this trace, and, for pinned memory, 0.8 of what the link carries, which is what is reached in
    practice. Copies below 0.6 of that are found, and the part of their exposed time that is too much is claimed.
    Low, likely and high share: 0.2, 0.6 and 1.

What to try
    Pinned memory on the NUMA node of the GPU, one large copy, a look at the slot.

References
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#data-transfer-between-host-and-device
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.copies import described, rate
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """What slow copies take too long."""
    return {
        "fix": f"{described(subject, claim)} {_cause(subject.worst(claim)[0], float(claim.values['slow_share']))}",
    }


def _cause(row: dict[str, Any], slow_share: float) -> str:
    pin = "Pin the memory: it is pageable (pin_memory=True, cudaMallocHost). " if row["is_pageable"] else ""
    best, link = row["best_bandwidth"], row["link_bandwidth"]
    if link and not row["is_pageable"] and best < slow_share * link:
        return (
            f"Even the best reaches {rate(best)}, where the link of this GPU carries {rate(link)}: look at nvidia-smi -q -d PCIE "
            "for generation and width of the slot, and bind the process to the NUMA node of its GPU (numactl --cpunodebind=N "
            "--membind=N)."
        )
    return (
        f"{pin}The best of their kind reaches {rate(best)}, so the link is not the limit: look for other copies at the same "
        "time (other GPUs behind the same switch), and for buffers on another NUMA node (numactl --cpunodebind=N "
        "--membind=N)."
    )
