"""Exposed gathering of sharded parameters.

What it finds
    All-gathers of parameters (FSDP, ZeRO-3) and the reduce-scatters that go with them, or all-gathers after the
    optimizer's step (ZeRO-1 and 2, distributed optimizers), that run while no compute does.

Why it matters
    Sharding trades memory for communication. It costs nothing as long as the gather of the next layer hides behind
    the compute of this one; where it does not, every layer waits, forward and backward.

How it is measured
    Slices of all_gather and reduce_scatter in collective_slice, in the counted steps: blocking where the trace knows
    it, else exposed. They are parameters when a range around them says so (FSDP, ZeRO), when they are launched in the
    optimizer's step, or when a step both gathers and reduce-scatters and gathers several layers before the first
    reduce-scatter (tensor parallelism with sequence parallelism alternates from the first layer on, and is left to
    tensor-parallel-collective). low 0.1, likely 0.5, high 0.9: the first gather and the last reduction of a step have
    nothing to hide behind.

What to try
    Prefetch further ahead; shard less (hybrid sharding inside a node, ZeRO-2, no resharding after forward) where
    memory allows; wrap layers so that each gather is neither tiny nor most of the model; gather in bf16 or fp8.

References
    https://docs.pytorch.org/docs/stable/fsdp.html
    https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
    https://docs.pytorch.org/tutorials/intermediate/FSDP_tutorial.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.collectives import Kind, exposed
from traceq.diagnosis.subject import Subject

_KINDS = {
    "layers": Kind(
        "Exposed gathering of sharded parameters",
        "Gather earlier: FSDP(..., forward_prefetch=True, backward_prefetch=BackwardPrefetch.BACKWARD_PRE, "
        "limit_all_gathers=False), or with "
        "fully_shard module.set_modules_to_forward_prefetch([...]). Where memory allows, shard less: "
        "reshard_after_forward=False, "
        "ShardingStrategy.SHARD_GRAD_OP, or HYBRID_SHARD (fully_shard: a 2-D mesh) so that gathers stay inside a "
        "node. Gather bf16: "
        "MixedPrecision(param_dtype=torch.bfloat16), or MixedPrecisionPolicy.",
    ),
    "optimizer": Kind(
        "Exposed gathering after the optimizer's step",
        "Every rank updates a part and all wait for the whole. Gather in the low precision of the weights, in "
        "buckets that overlap the "
        'update of the next or the next forward pass (Megatron: --overlap-param-gather; DeepSpeed: "overlap_comm": '
        "true; "
        "ZeroRedundancyOptimizer(..., parameters_as_bucket_view=True, overlap_with_ddp=True); Distributed Shampoo: "
        "communication_dtype bf16). "
        "Or update in groups of ranks inside a node, which gather over NVLink.",
    ),
}


_TEXTS = (
    "That the GPU computes nothing meanwhile is measured; that parameters are gathered is inferred from names and order.",
    "They gather something else (activations, metrics), or wait for a rank that is late.",
)


def judge(subject: Subject) -> Iterator[Advice]:
    """Exposed gathers of parameters: around layers, and after the optimizer."""
    return exposed(subject, "gather", _KINDS, _TEXTS, low=0.1, likely=0.5)
