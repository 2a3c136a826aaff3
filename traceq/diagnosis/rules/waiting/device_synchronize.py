"""The program synchronizes with the GPU.

What it finds
    Explicit waits for the GPU in the training loop: torch.cuda.synchronize(), stream.synchronize(),
    event.synchronize(), cudaDeviceSynchronize and the like, outside of operators and not part of a copy or the
    reading of a value.

Why it matters
    While the host waits it launches nothing; when the wait ends the GPU has nothing left to do, and idles until the
    host has caught up. Synchronizing is not needed for correct results: work on a stream runs in order.

How it is measured
    Idle time (idle_piece) in such calls, and after them in the gap that began while such a call held the host
    (idle_gap.drained_by), but no longer than it waited: so far ahead would the host be without it. What remains of a
    long gap is the host's own slowness, and other rules': around tiny kernels that is most of it. Waits for work that
    is long done, for instance of the step before, cost nothing. Shares: low 0.5 (other waits take its place, as far
    as the replay does not know them), likely 1, high 1.

What to try
    Leave it out; time with events that are read a step later; wait for the step before last to bound how far ahead
    the host is.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
    https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.host_waits import described, host_wait, places
from traceq.diagnosis.rules.shared.wording import per_step
from traceq.diagnosis.subject import Subject

_FIXES = (
    (
        "Event",
        (
            "To time steps, record events and read them a step later, when they are long done: start.record(); ...; "
            "end.record(); then, after the next step, previous_start.elapsed_time(previous_end)."
        ),
    ),
    (
        "Stream",
        (
            "Let streams wait for one another on the GPU, torch.cuda.current_stream().wait_stream(other), and not the host: drop "
            "stream.synchronize()."
        ),
    ),
    (
        "",
        (
            "Drop torch.cuda.synchronize() (cudaDeviceSynchronize) from the loop. If it is there for timing, use "
            "torch.cuda.Event(enable_timing=True) and read it a step later, or synchronize once every 50 steps."
        ),
    ),
)
# The same for a program in which nothing shows PyTorch; {api} is cuda or hip, as the call that waits is named.
_FIXES_OF_CALLS = (
    (
        "Event",
        (
            "To time the loop, record events and read them an iteration later, when they are long done: {api}EventElapsedTime of "
            "the pair before. To order work, let the stream wait and not the host: {api}StreamWaitEvent(stream, event)."
        ),
    ),
    (
        "Stream",
        (
            "Work on one stream runs in order without it; for another stream: {api}StreamWaitEvent(stream, event). Wait once, "
            "before the host reads a result."
        ),
    ),
    (
        "",
        (
            "Take it out of the loop (PyTorch: torch.cuda.synchronize()): work on one stream runs in order without it, and "
            "{api}GetLastError() right after a launch finds wrong launches. Wait once, before the host reads a result; to time "
            "kernels, record events ({api}EventRecord) and read them later."
        ),
    ),
)


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time that explicit waits cost."""
    subject.needs("gpu", "steps", "calls")
    claim = host_wait(subject, "explicit", low=0.5, likely=1.0)
    if claim is None:
        return
    found = places(subject, claim)
    knows_operators = subject.has("operators")
    is_torch = knows_operators or any(str(row["operator"] or "").startswith("aten::") for row in found)
    call = found[0]["name"]
    fix = next(text for name, text in (_FIXES if is_torch else _FIXES_OF_CALLS) if name in call)
    yield Advice(
        claim,
        fix=(
            f"The host waits for the GPU, and the GPU then for the host, {per_step(subject, claim.claimed_ns)}: "
            f"{described(subject, found)}. {fix if is_torch else fix.format(api='hip' if call.startswith('hip') else 'cuda')}"
        ),
        confidence="high" if knows_operators else "medium",
        reason=(
            "The calls are in the trace, outside of any operator, and the GPU ran dry while they held the host."
            if knows_operators
            else "The GPU ran dry while these calls held the host; without operators in the trace a library may have made them."
        ),
        wrong_if="The host uses what the GPU computed right after the call.",
    )
