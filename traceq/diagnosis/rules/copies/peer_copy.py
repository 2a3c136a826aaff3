"""Copies between GPUs with nothing beside them.

What it finds
    Direct copies from one GPU to another (cudaMemcpyPeer, tensor.to of another device) while nothing else runs on
    the GPU.

Why it matters
    Both GPUs wait for the link. Without NVLink it is that of the host, several times slower and shared.

How it is measured
    The exposed time of copies of kind p2p (copy_overlap); those of collectives are communication. A best rate above
    that of the host's link (device_model.host_link_bandwidth) shows NVLink; below it, on a GPU that can have
    NVLink, PCIe. Low, likely and high share: 0.2, 0.6 and 1.

What to try
    Copy on a stream of its own beside computation; larger pieces; GPUs that NVLink joins.

References
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-copy
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#asynchronous-and-overlapping-transfers-with-computation
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.copies import described, rate
from traceq.diagnosis.subject import Subject

# Below it latency and not the link limits a copy.
_TELLING_BYTES = 1 << 20


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Exposed copies between GPUs."""
    return {
        "fix": f"{described(subject, claim)} {_link(subject.worst(claim))}Start each copy as soon as its data is there, on a "
        "stream of its own (cudaMemcpyPeerAsync(to, device, from, other, bytes, stream), or with "
        "torch.cuda.stream(copies): y = x.to('cuda:1', non_blocking=True)), and compute what does not need it "
        "meanwhile: the inside of a domain while its border is exchanged, the next micro-batch of a pipeline.",
    }


def _link(rows: list[dict[str, Any]]) -> str:
    """What the rates say of the link between the GPUs."""
    best = max((row["best_bandwidth"] or 0 for row in rows), default=0)
    host, peer = rows[0]["host_link_rate"], rows[0]["peer_link_rate"]
    if not best or not host:
        return ""
    if best > host:
        return f"The best reaches {rate(best)}, more than the link to the host: they go over NVLink. "
    if peer and max(row["bytes"] or 0 for row in rows) >= _TELLING_BYTES:
        return (
            f"The best reaches {rate(best)}, no more than PCIe carries, though such GPUs can have NVLink ({rate(peer)}): look "
            "at nvidia-smi topo -m, choose GPUs that NVLink joins (CUDA_VISIBLE_DEVICES), and enable peer access. "
        )
    return ""
