"""Copies inside the GPU.

What it finds
    Tensors that are copied from one place of the GPU's memory to another and are there already: into DDP's buckets,
    buffers that DDP broadcasts, gradients, inputs of compiled graphs, concatenations, clones.

Why it matters
    A copy reads and writes every byte once more, and nothing is computed by it. Small ones cost a launch each.

How it is measured
    The exposed time of copies of kind d2d (copy_overlap), by the operators around the call. What no operator
    explains is left to exposed-copy-other. Low, likely and high share: 0.3, 0.8 and 1 where a switch leaves the
    copy out (buckets, buffers), else 0.1, 0.5 and 1.

What to try
    gradient_as_bucket_view, broadcast_buffers=False, preallocated outputs, no clone where a view will do.

References
    https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.copies import asked_for, described
from traceq.diagnosis.subject import Subject


class _Origin(NamedTuple):
    title: str
    fix: str
    low: float
    likely: float


_ORIGINS = {
    "bucket": _Origin(
        "Gradients copied into and out of DDP's buckets",
        "Let gradients live in the buckets: DistributedDataParallel(model, gradient_as_bucket_view=True).",
        0.3,
        0.8,
    ),
    "gradient": _Origin(
        "Gradients copied as they are accumulated",
        "With DDP let gradients live in the buckets, DistributedDataParallel(model, gradient_as_bucket_view=True); and set "
        "them to None, optimizer.zero_grad(set_to_none=True), so that autograd can keep the tensor it made. A gradient "
        "whose strides are not those of its parameter is copied in any case.",
        0.1,
        0.5,
    ),
    "buffer": _Origin(
        "Buffers copied for DDP's broadcast in every forward pass",
        "If the buffers need not be the same on all ranks within a step (statistics of BatchNorm mostly need not), switch the "
        "broadcast off: DistributedDataParallel(model, broadcast_buffers=False).",
        0.3,
        0.8,
    ),
    "compiled": _Origin(
        "Copies at the border of compiled graphs",
        "Compiled code with CUDA graphs copies its inputs to where the graph expects them. Give it tensors that stay in "
        "place: torch._dynamo.mark_static_address(x) for what is reused, parameters and buffers instead of plain tensors; "
        "and let it mutate fewer of its inputs.",
        0.1,
        0.5,
    ),
    "cat": _Origin(
        "Tensors copied to be concatenated",
        "Write parts where they belong instead of joining them: out = torch.empty(...), and give each operator a view of it "
        "(out=out[a:b], or index assignment); or one wider operator in place of several and a torch.cat.",
        0.1,
        0.5,
    ),
    "clone": _Origin(
        "Tensors on the GPU copied by clone(), to() or contiguous()",
        "Leave out clone() where nothing writes to the tensor, and to(..., copy=True) and contiguous() where a view will do.",
        0.1,
        0.5,
    ),
}


def judge(subject: Subject) -> Iterator[Advice]:
    """Copies inside the GPU whose origin is known, one advice for each."""
    asked_for(subject)
    subject.needs("operators", "launches")
    for row in subject.ask("redundant_copy_origins"):
        origin = row["origin"]
        says = _ORIGINS[origin]
        claim = subject.claim("redundant_copy", low=says.low, likely=says.likely, high=1.0, origin=origin)
        if claim is None:
            continue
        yield Advice(
            claim,
            fix=f"{described(subject, claim)} {says.fix}",
            confidence="medium",
            reason="The operators around the copies say where they come from; whether they can be left out is not known.",
            wrong_if="Something writes to the tensor or to its copy while the other is still needed.",
            title=says.title,
            key=origin,
        )
