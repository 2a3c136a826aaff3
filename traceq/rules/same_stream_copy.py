"""Copies in the queue of the stream that computes.

What it finds
    Asynchronous copies of pinned memory on the stream that also runs the kernels, while later kernels of the step
    could have run beside them.

Why it matters
    Work of one stream runs one after another. GPUs have engines of their own for copies, which the copy can only
    use beside kernels from another stream.

How it is measured
    copy_overlap with is_async_call, pinned memory and a call that returns at once, on a stream with at least half
    of the time of all kernels (a program that spreads its kernels over streams has done this already). Claimed is
    the smaller of exposed and could_overlap, the compute that follows in the step; whether that compute needs the
    copy is not known. Low, likely and high share: 0.2, 0.6 and 1.

What to try
    A stream for copies, and an event where the data is needed.

References
    https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-streams
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#asynchronous-and-overlapping-transfers-with-computation
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.copies import asked_for, described

_MAIN_SHARE = 0.5


def same_stream_copy(subject: Subject) -> Iterator[Advice]:
    """Copies that wait for kernels, and kernels for them, by the order of a stream alone."""
    asked_for(subject)
    subject.needs("calls", "copy_memory")
    claim = subject.claim("same_stream_copy", low=0.2, likely=0.6, high=1.0, main_share=_MAIN_SHARE)
    if claim is None:
        return
    streams = sorted({row["stream"] for row in subject.worst(claim)})
    yield Advice(
        claim,
        fix=(
            f"{described(subject, claim)} They run on stream {', '.join(map(str, streams))}, as the kernels do. Make a "
            "stream for copies, copies = torch.cuda.Stream(), copy there, with torch.cuda.stream(copies): y = x.to(device, "
            "non_blocking=True), and before the first use torch.cuda.current_stream().wait_stream(copies) and "
            "y.record_stream(torch.cuda.current_stream()). For copies to the host let the copying stream wait for the "
            "kernel that makes the data."
        ),
        confidence="medium",
        reason="Memory, call and stream are facts; whether the kernels after a copy need its data is not.",
        wrong_if="The kernel after each copy needs its data, and nothing else is left to run.",
    )
