"""TF32 is off.

What it finds
    Matrix products, or convolutions, in fp32 without tensor cores on a GPU that computes fp32 on tensor cores in
    TF32 (compute capability 8.0 and later), where no such kernel of the trace does.

Why it matters
    TF32 keeps the range of fp32 and 10 bits of mantissa, and its peak is eight times that of fp32 on an A100. It is
    off for matrix products unless it is asked for.

How it is measured
    Kernels of cuBLAS, CUTLASS and cuDNN whose names say fp32 and no tensor cores; products and convolutions apart,
    as they are switched apart, and only if no kernel of the same sort uses TF32 (then it is on, and the rest has
    other reasons). Of each the share 1 - peak of fp32 / peak of TF32 is claimed, and not what moving its operands
    takes at 0.8 of the bandwidth. Shares: 0.3 low (small products), 0.7 likely, 1 high.

What to try
    torch.set_float32_matmul_precision("high"); torch.backends.cudnn.allow_tf32 = True. Check the loss: nearly all
    networks train as well with it.

References
    https://docs.pytorch.org/docs/stable/notes/cuda.html
    https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.needs import CannotTell, NothingThere
from traceq.diagnosis.rules.shared.kernels import short
from traceq.diagnosis.rules.shared.wording import time
from traceq.diagnosis.subject import Subject

# The first compute capability with TF32.
_FIRST = 8.0
_SWITCH = {
    "matmul": 'torch.set_float32_matmul_precision("high")',
    "convolution": "torch.backends.cudnn.allow_tf32 = True",
}


def judge(subject: Subject) -> Iterator[Advice]:
    """Products in fp32 where TF32 is possible."""
    subject.needs("gpu", "steps")
    if subject.compute_capability is None:
        raise CannotTell(
            "the compute capability of the GPU is not known; a newer profiler, which describes it, brings it"
        )
    if subject.compute_capability < _FIRST:
        raise NothingThere(f"compute capability {subject.compute_capability} has no TF32")
    claim = subject.claim("tf32_off", low=0.3, likely=0.7, high=1.0)
    if claim is None:
        return
    worst = subject.worst(claim)
    kinds = list(dict.fromkeys(str(row["kind"]) for row in worst))
    yield Advice(
        claim,
        fix=(
            f"Before the first step: {' and '.join(_SWITCH[each] for each in kinds)}. {short(worst[0]['name'])} and others "
            f"compute in fp32 without tensor cores; TF32 would leave {time(claim.claimed_ns)} less of each step at best."
        ),
        confidence="high",
        reason="The names of the kernels say fp32 without tensor cores, and none of their sort uses TF32.",
        wrong_if="The program needs all 23 bits of the mantissa in these products (some scientific codes do).",
    )
