"""GPU idle: launched work waits for an event.

What it finds
    Time in which nothing runs on the GPU although work is launched: its stream was told to wait for an event of
    another stream or another device that had not come yet.

Why it matters
    The host did its part in time; the order of the work makes the GPU wait. Stages on several GPUs of one process,
    copies and communication on streams of their own wait for each other like that.

How it is measured
    The pieces of cause idle_dependency in the counted steps (idle_piece), and what was waited for: the work recorded
    last before the event (stream_wait). low 0.2, likely 0.8, high 1: a wait that the algorithm needs can be moved
    behind other work, not removed.

What to try
    Record the event earlier, wait for it later, right before the work that needs it, and put independent work
    between. Between stages: more and smaller micro-batches.

References
    https://docs.pytorch.org/docs/stable/notes/cuda.html
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import cut, time
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """What is left of idle_dependency."""
    worst = subject.worst(claim)[0]
    return {
        "fix": _fix(subject, worst),
        "confidence": "high" if worst["waited_for"] else "medium",
    }


def _fix(subject: Subject, worst: dict[str, Any]) -> str:
    text = f"Up to {time(worst['claimed'])} at a time, {cut(worst['name'])} on stream {worst['stream']} waits for "
    if not worst["waited_for"]:
        return (
            f"{text}an event. Move event.wait() or stream.wait_stream() down to the first kernel that needs the result."
        )
    other = worst["waited_for_device"] != subject.device
    where = f"device {worst['waited_for_device']}" if other else f"stream {worst['waited_for_stream']}"
    text += f"{cut(worst['waited_for'])} on {where}. "
    if other:
        return (
            f"{text}Give the waiting device other work meanwhile: split the batch into micro-batches, so that it "
            "computes one while the other device "
            "prepares the next (for part in batch.chunk(8): ...), or balance the layers over the devices."
        )
    if worst["waited_for_kind"] == "memcpy":
        return (
            f"{text}Start that copy one step earlier, on its stream: with torch.cuda.stream(copies): batch = "
            "next(loader).to(device, non_blocking=True)"
        )
    return (
        f"{text}Launch it earlier, and move torch.cuda.current_stream().wait_stream(...) down to the first kernel "
        "that needs the result."
    )
