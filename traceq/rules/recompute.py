"""Forward work runs again in the backward pass.

What it finds
    Kernels of the forward pass that are launched again within the backward pass: activation checkpointing, which
    does not keep activations and computes them anew where their gradients need them.

Why it matters
    Checkpointing of everything runs about a third more arithmetic to save memory. Where memory is left, or where a
    few cheap tensors make up most of it, much of that is not needed.

How it is measured
    Kernels (busy_piece) launched directly in a node of autograd that belongs to a checkpoint
    (CheckpointFunctionBackward, of PyTorch, Megatron and DeepSpeed), and kernels launched in any other node of the
    backward pass until the end of the last operator in it that only forward passes call (aten::linear,
    aten::conv2d, aten::layer_norm, attention, ...): without re-entering autograd a checkpoint runs inside whatever
    node first needs a tensor of it. Recomputation that a compiler put into its kernels cannot be told from other
    work. Shares: 0.2 low (only the cheapest blocks can be kept), 0.5 likely (every other block, or the matrix
    products only), 1 high (memory is left for all).

What to try
    Checkpoint every other block, or only what is cheap to compute and large to keep (selective checkpointing), or
    nothing where the peak of allocated memory leaves room. Fused attention and fused losses keep less in the first
    place.

References
    https://docs.pytorch.org/docs/stable/checkpoint.html
    https://pytorch.org/blog/activation-checkpointing-techniques/
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import of_step, percent


def recompute(subject: Subject) -> Iterator[Advice]:
    """Kernels of checkpoints."""
    subject.needs("gpu", "steps", "launches", "operators")
    claim = subject.claim("recompute", low=0.2, likely=0.5, high=1.0)
    if claim is None:
        return
    is_checkpoint = all(row["is_checkpoint"] for row in subject.worst(claim))
    share = percent(float(claim.row["claimed_share"]))
    yield Advice(
        claim,
        fix=(
            f"{of_step(subject, claim.claimed_ns)} ({share}) computes activations a second time. If memory is left, "
            "checkpoint fewer blocks (for instance every other one: checkpoint(block, x, use_reentrant=False) if "
            "index % 2 else block(x)), or keep the outputs of matrix products and attention and recompute the rest: "
            "checkpoint(block, x, use_reentrant=False, context_fn=functools.partial("
            "create_selective_checkpoint_contexts, [torch.ops.aten.mm.default, torch.ops.aten.addmm.default]))."
        ),
        confidence="high" if is_checkpoint else "medium",
        reason=(
            "The node of autograd that launches them is a checkpoint's."
            if is_checkpoint
            else "Operators that only a forward pass calls run inside nodes of the backward pass."
        ),
        wrong_if="The memory that activations would take is not there: the run ends out of memory without checkpoints.",
    )
