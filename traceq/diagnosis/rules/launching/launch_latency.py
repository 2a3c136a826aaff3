"""GPU idle: launched work has not started.

What it finds
    Time in which nothing runs on the GPU although the call that launches the next work has returned: the launch is
    on its way, the GPU switches from one kernel to the next, or the work waits for something the trace does not
    tell.

Why it matters
    From a launch to its start it takes some 5 us, from a kernel to one queued behind it 1 to 2 us. With many
    kernels that adds up; longer waits have another reason.

How it is measured
    The pieces of cause idle_launch_latency in the counted steps (idle_piece), all that no other rule owns; nothing where
    most of it is in pieces below 2 us, for so much lies between any two kernels of a full queue. Pieces
    of 100 us and more (twenty times a launch) are no latency of launches: the work waited for an event, a copy,
    another stream, another process or a page, or for the GPU's clock or context. High 1: what the steps lose to it. Likely
    0.8, low 0.1: fewer and longer kernels take most of many short gaps away, and nothing is known of long ones.

What to try
    Many short gaps: CUDA graphs, fusion, a larger batch. Long ones: record what streams wait for
    (_ExperimentalConfig(enable_cuda_sync_events=True); nsys --cuda-event-trace=true), and look at other processes
    on this GPU.

References
    https://developer.nvidia.com/blog/cuda-graphs/
    https://docs.nvidia.com/nsight-systems/UserGuide/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import names, percent, plural, time
from traceq.diagnosis.subject import Subject

# A gap of so many ns is no latency of a launch.
_LONG_NS = 100_000
_MOST = 0.5


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """All of idle_launch_latency."""
    (facts,) = subject.ask("launch_latency_facts", long_ns=_LONG_NS)
    is_long = facts["long_share"] > _MOST
    first = names(subject.worst(claim)[:2])
    return {
        "fix": _long(subject, facts, first) if is_long else _short(facts),
        "confidence": "low" if is_long else "high",
        "reason": "Launched work waits longer than launches take; the trace does not say for what."
        if is_long
        else "Launches and starts are measured one by one.",
        "wrong-if": "A capture with waits of streams names what the work waited for."
        if is_long
        else "The clocks of host and GPU disagree by as much as these gaps are long.",
        "title": "GPU idle: launched work waits for something that was not traced" if is_long else None,
    }


def _long(subject: Subject, facts: dict[str, Any], first: str) -> str:
    graphs = (
        f" {percent(facts['graph_share'])} of the time is inside or before {plural(facts['graphs'], 'CUDA graph')}: between "
        "the nodes of a graph the host has no part, but copies, host nodes and other streams of the graph have."
        if facts["graph_share"] > _MOST
        else ""
    )
    capture = subject.way("foreign_work")
    recorded = f": {capture} records the events that streams wait for" if capture else ""
    return (
        f"{percent(facts['long_share'])} of this time is in {plural(facts['long_gaps'], 'gap')} of {_LONG_NS // 1000} µs and "
        f"more before work that had been launched ({first}).{graphs} Find out what it waits for"
        f"{recorded}. Look for stream.wait_event and wait_stream before it, for work of other processes on this "
        "GPU, and for copies and collectives on other streams that it needs."
    )


def _short(facts: dict[str, Any]) -> str:
    graphs = f" {percent(facts['graph_share'])} of it is in graphs already." if facts["graph_share"] > _MOST else ""
    return (
        f"{plural(facts['gaps'], 'gap')}, {time(facts['median_ns'])} each as a rule: fewer and longer kernels have fewer of "
        f'them.{graphs} `torch.compile(model, mode="reduce-overhead")` fuses kernels and replays them as CUDA graphs; a '
        "larger batch does more per kernel."
    )
