"""A marked range in which neither GPU nor host works.

What it finds
    Ranges (annotations, phases) of which the GPU is idle nearly all the time, while nothing recorded works on the
    host either: a sleep, a barrier, a lock, a log that is written.

Why it matters
    What uses no resource costs time for nothing. Removing it shortens the step by all of it, more than any tuning of
    what does use them.

How it is measured
    Pieces of the causes idle_python, idle_os and idle_unattributed (idle_piece) whose host slice lies in the range,
    cut to the range. At least 80 % of the range must be such time (the rest is entering and leaving it), and the
    ranges of one name at least 5 % of the counted steps. The mark of the step itself is left out. Low share 0.5,
    likely and high 1: the range can be needed, and then be done elsewhere.

What to try
    Remove it; do it every N steps; do it in a thread or process beside training. When the host really computes in it
    (pure Python leaves no record without stacks), move that off the training thread.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.nvidia.com/nsight-systems/UserGuide/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.rules.shared.wording import cut, percent, time
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Idle time inside ranges that record no work."""
    worst = subject.worst(claim)
    first = worst[0]
    name = cut(first["name"])
    confidence: Confidence = "medium" if first["waits"] else "low"
    reason = (
        f"The host waits in {cut(first['inside'])} meanwhile."
        if first["waits"]
        else "Nothing recorded works in the range; Python code without stacks leaves no record."
    )
    return {
        "fix": f"Range '{name}' takes {percent(first['range_share'])} of the steps ({first['ranges']} times, "
        f"{time(first['range_ns'])} in the longest) with GPU and host idle. If it is a sleep, a barrier "
        "or a log, remove it "
        f"or do it rarely: if step % 100 == 0: ... If it is needed, run it beside training: "
        f"concurrent.futures.ThreadPoolExecutor(1).submit(...).",
        "confidence": confidence,
        "reason": reason,
        "title": f"Range '{name}': neither GPU nor host works",
    }
