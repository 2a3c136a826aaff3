"""Exposed all-to-all.

What it finds
    All-to-all exchanges that run while no compute does: tokens sent to experts and back (mixture of experts),
    embeddings and their gradients exchanged between ranks (recommendation models, with the reduce-scatters and
    all-gathers of the same tables), heads exchanged against sequence (Ulysses).

Why it matters
    What follows needs the result at once, so the GPU waits for the network, and for the rank that got the most to
    send.

How it is measured
    Slices of all_to_all in collective_slice, in the counted steps: blocking where the trace knows it, else exposed.
    The ranges around their launch say what they exchange; where only some say so, the others of the trace are taken
    for the same. low 0.05, likely 0.4, high 0.9: part of it is waiting for other ranks, which overlap does not
    cut, and not all of it finds independent work to hide behind. In a trace of several GPUs the one that is in as many
    collectives for at most 0.75 of the time is named: the others wait for it.

What to try
    Experts: overlap dispatch and combine with shared experts or with another micro-batch, DeepEP, balanced routing.
    Embeddings: pipeline the input and embedding exchange of the next batch with the dense part of this one. All: send
    fewer bytes (bf16, fp8).

References
    https://docs.pytorch.org/docs/stable/distributed.html
    https://docs.pytorch.org/torchrec/
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.collectives import Kind, exposed
from traceq.diagnosis.subject import Subject

_KINDS = {
    "experts": Kind(
        "Exposed all-to-all of experts",
        "Let it run beside the shared experts or another micro-batch (Megatron: --moe-shared-expert-overlap, "
        "--overlap-moe-expert-parallel-comm), use DeepEP to dispatch and combine (--moe-token-dispatcher-type flex "
        "--moe-enable-deepep), keep "
        "experts inside a node, and watch the balance of tokens: every rank waits for the fullest expert.",
    ),
    "embeddings": Kind(
        "Exposed exchange of embeddings",
        "Distribute the input and look up the embeddings of the next batch while the dense part of this one "
        "computes: pipeline = "
        "TrainPipelineSparseDist(model, optimizer, device); pipeline.progress(batches). Halve the bytes: "
        "QCommsConfig(forward_precision="
        "CommType.FP16, backward_precision=CommType.BF16). Let the planner balance the tables over the ranks.",
    ),
    "sequence": Kind(
        "Exposed all-to-all of sequence-parallel attention",
        "The attention that follows needs the result, so hide it behind other work: exchange q, k and v one after "
        "the other "
        "(dist.all_to_all_single(..., async_op=True)) while the next projection computes, or send heads in parts so "
        "that attention starts on the first. "
        "Exchange once for q, k and v together where they are small. Fewer ranks per sequence, inside one node, "
        "send less.",
    ),
    "unknown": Kind(
        "Exposed all-to-all",
        "The trace does not say what it exchanges. Start it early and wait late: work = dist.all_to_all_single(out, "
        "x, async_op=True), then "
        "independent work, then work.wait(). Experts: overlap with shared experts, DeepEP. Embeddings: "
        "TrainPipelineSparseDist of TorchRec. Send "
        "bf16 instead of fp32.",
        confidence="low",
    ),
}


_TEXTS = (
    "That the GPU computes nothing meanwhile is measured; what is exchanged is read from the names around it.",
    "Most of the time is waiting for a rank that is late or has more to do: traces of the other ranks show it.",
)


def judge(subject: Subject) -> Iterator[Advice]:
    """Exposed all-to-alls, one advice for each thing exchanged."""
    return exposed(subject, "exchange", _KINDS, _TEXTS, low=0.05, likely=0.4)
