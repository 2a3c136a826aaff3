"""Convolutions with a bias before a batch norm.

What it finds
    The addition of a convolution's bias, and the sum that is its gradient, where a batch norm follows directly: it
    takes the mean away, and with it any bias.

Why it matters
    The bias does nothing, and its addition and its gradient each read a whole tensor of activations.

How it is measured
    Top-level operators in the order of the host: aten::conv1d, conv2d or conv3d directly before aten::batch_norm.
    Claimed are the kernels of the aten::add_ inside such a convolution, and of aten::sum inside
    aten::convolution_backward in proportion to how many of the convolutions with an addition are such. Where cuDNN
    adds the bias within its kernel there is nothing to claim. Shares: 0.6 low, 1 likely, 1 high.

What to try
    nn.Conv2d(..., bias=False) before nn.BatchNorm2d. For inference fold the batch norm into the convolution
    (torch.nn.utils.fuse_conv_bn_eval).

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import of_step


def conv_bias(subject: Subject) -> Iterator[Advice]:
    """Additions of biases that have no effect."""
    subject.needs("gpu", "steps", "launches", "operators")
    claim = subject.claim("conv_bias", low=0.6)
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            "Convolutions that a batch norm follows need no bias: nn.Conv2d(..., bias=False). Adding it and "
            f"summing its gradient takes {of_step(subject, claim.claimed_ns)}."
        ),
        confidence="high",
        reason="The additions run inside convolutions whose next operator is a batch norm.",
        wrong_if="The batch norm does not normalise over the batch (evaluation mode); then fold it into the convolution.",
    )
