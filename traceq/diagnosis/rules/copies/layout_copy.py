"""Kernels that only change the layout of tensors.

What it finds
    Conversions between NCHW and NHWC that the library adds around convolutions, and copies by contiguous() and
    reshape().

Why it matters
    They compute nothing, and read and write the whole tensor each time. Tensor cores want NHWC: a model in NCHW is
    converted before and after convolutions, in every step.

How it is measured
    Kernels named nchwToNhwc, nhwcToNchw (cuDNN) or batched_transpose (MIOpen): low, likely and high share 0.3, 0.9
    and 1. Copy kernels inside aten::contiguous and aten::reshape, with their aten::clone, or inside a convolution:
    0.1, 0.4 and 0.9, since some of these copies make the kernels after them faster than they cost. Claimed is
    kernel_occupancy's exclusive_dur.

What to try
    channels_last from the input to the loss; for other tensors a layout that the next operator takes as it is.

References
    https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html
    https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.copies import cut
from traceq.diagnosis.subject import Subject

_CHANNELS_LAST = (
    "Use NHWC from end to end: model = model.to(memory_format=torch.channels_last) and x = "
    "x.to(memory_format=torch.channels_last) for every input, and keep operators out that fall back to NCHW."
)
_MIOPEN = " On AMD set PYTORCH_MIOPEN_SUGGEST_NHWC=1 as well, or MIOpen converts nevertheless."


def judge(subject: Subject) -> Iterator[Advice]:
    """Conversions of the library, and copies of the program."""
    subject.needs("gpu", "steps")
    yield from _conversion(subject)
    yield from _contiguous(subject)


def _conversion(subject: Subject) -> Iterator[Advice]:
    claim = subject.claim("layout_copy", low=0.3, likely=0.9, high=1.0, what="conversion")
    if claim is None:
        return
    row = subject.worst(claim)[0]
    place = f" in {cut(row['asked_by'])}" if row["asked_by"] else ""
    miopen = _MIOPEN if "batched_transpose" in row["name"] else ""
    yield Advice(
        claim,
        fix=f"{claim.instances:,} kernels convert layouts, such as {cut(row['name'])}{place}. {_CHANNELS_LAST}{miopen}",
        confidence="high",
        reason="The names of the kernels say what they do.",
        wrong_if="The model is in channels_last already, or convolutions are slower in it.",
        title="Conversions between NCHW and NHWC around convolutions",
        key="conversion",
    )


def _contiguous(subject: Subject) -> Iterator[Advice]:
    if not subject.has("operators"):
        return
    claim = subject.claim("layout_copy", low=0.1, likely=0.4, high=0.9, what="contiguous")
    if claim is None:
        return
    makers = sorted({cut(row["asked_by"]) for row in subject.worst(claim)})
    yield Advice(
        claim,
        fix=(
            f"{claim.instances:,} kernels copy tensors into another order for {', '.join(makers)}. Drop .contiguous() where "
            "the next operator takes strides (matmul, scaled_dot_product_attention and most others do), write view instead "
            "of reshape to be told where a copy is made, and lay weights and inputs out so that transpose is not needed. "
            f"Where it is in front of convolutions: {_CHANNELS_LAST} torch.compile fuses what is left into its "
            "neighbours."
        ),
        confidence="low",
        reason="The operators around the kernels say that they copy for a layout; whether it can be left out is not known.",
        wrong_if="The operator that reads the copy needs it contiguous, or gets slower by more than the copy takes.",
        title="Copies that make tensors contiguous",
        key="contiguous",
    )
