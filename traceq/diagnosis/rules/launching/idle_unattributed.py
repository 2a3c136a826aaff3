"""GPU idle, and nothing in the trace says why.

What it finds
    Time in which nothing runs on the GPU and the trace has no cause for it: the launching thread had no slice open,
    or the launching call is not in the trace.

Why it matters
    It is as long as any other idle time; only its cause is missing. It is shown and never spread over other causes.

How it is measured
    The pieces of cause idle_unattributed in the counted steps (idle_piece). The likely saving is what a replay of the
    steps without it leaves; a quarter of it where nothing marks steps (docs/metrics.md).

What to try
    Capture more: the runtime API, ranges (traceq.annotate), Python stacks (with_stack=True), calls of the operating
    system (nsys --trace=osrt).

References
    https://docs.nvidia.com/nsight-systems/UserGuide/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.subject import Subject

# Of a whole trace, in which no step recurs, most is not worth a look.
_LIKELY_OF_WHOLE_TRACE = 0.25


def judge(subject: Subject) -> Iterator[Advice]:
    """What is left of idle_unattributed."""
    subject.needs("gpu", "steps")
    claim = subject.claim(
        "idle_unattributed", low=0.0, likely=_LIKELY_OF_WHOLE_TRACE if subject.is_whole_trace else 1.0
    )
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            "Capture more before changing anything: "
            + subject.way("idle_causes", "calls, ranges and whatever else the profiler can record of the host")
        ),
        confidence="low",
        reason="Nothing recorded explains this time.",
        wrong_if="A capture with more detail names causes for it.",
        is_rest=True,
    )
