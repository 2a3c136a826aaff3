"""The GPU is idle most of the time.

What it finds
    Steps in which the GPU is idle more than it is busy, and whether few long or many short gaps make up the idle
    time.

Why it matters
    The two need different remedies. A long gap has a place in the program: a fetch, a checkpoint, a synchronization.
    Thousands of short gaps have none: the host launches more slowly than the GPU computes, everywhere.

How it is measured
    Busy less than 50 % of the counted steps of the critical device (time_ledger; what TensorBoard's profiler calls
    low). A gap is long from 1 ms on and short below 100 µs (idle_gap): launching a kernel takes 5 to 50 µs. The
    remark is made when gaps of one kind hold at least 60 % of the idle time; else the findings say it all. A capture
    that counts as a single step, start-up included, is not judged.

What to try
    Long gaps: what the host does in the longest of them (idle_gap.cpu_slice_id), or, where the next work had been
    launched, what that waited for. Short gaps: fewer and larger kernels, CUDA graphs, torch.compile, a larger batch.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.nvidia.com/nsight-systems/UserGuide/index.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import CannotTell, NothingThere
from traceq.diagnosis.rules.shared.wording import percent, time
from traceq.diagnosis.subject import Subject

MOSTLY_IDLE = 0.5
MOST_OF_IDLE = 0.6
MICRO_NS = 100_000
MACRO_NS = 1_000_000
# From here on a fraction of a gap says nothing.
MANY = 100


def judge(subject: Subject) -> Iterator[Remark]:
    """Most of the step is idle, in gaps of one kind."""
    subject.needs("gpu", "steps")
    if subject.is_whole_trace:
        raise CannotTell("the whole trace is one step, start-up and end included; traceq.annotate marks steps")
    settings = {"micro_ns": MICRO_NS, "macro_ns": MACRO_NS}
    sizes = subject.ask("low_utilization", **settings)
    if not sizes or sizes[0]["step_share"] <= MOSTLY_IDLE:
        return
    most = sizes[0]
    if most["idle_share"] < MOST_OF_IDLE or most["size"] == "medium":
        raise NothingThere(
            f"the GPU is idle {percent(most['step_share'])} of the step, in gaps of no one size; the findings name their causes"
        )
    text, fix = _long(subject, most) if most["size"] == "long" else _short(most)
    yield Remark(
        text=f"The GPU is busy {percent(1 - most['step_share'])} of the step. {text}",
        query="low_utilization",
        fix=fix,
        key=f"{most['size']}-gaps",
        settings=settings,
    )


def _long(subject: Subject, gaps: Mapping[str, Any]) -> tuple[str, str]:
    text = (
        f"{percent(gaps['idle_share'])} of its idle time is in {_each(gaps)} of 1 ms "
        "and more, "
        f"{percent(gaps['main_cause_share'])} of that {gaps['main_cause']}; the longest takes "
        f"{time(gaps['longest_ns'])} (ts {gaps['longest_ts']})."
    )
    if gaps["main_cause"] == "idle_launch_latency":
        return text, _waiting(subject)
    fix = (
        "Mend the few places where these gaps arise, see the findings; faster launching (CUDA graphs, torch.compile) "
        "would "
        "not cut them."
    )
    return text, fix


def _short(gaps: Mapping[str, Any]) -> tuple[str, str]:
    text = (
        f"{percent(gaps['idle_share'])} of its idle time is in {_each(gaps)} that are "
        "shorter "
        f"than 100 µs, {percent(gaps['main_cause_share'])} of that {gaps['main_cause']}: no single place to mend."
    )
    fix = (
        "Launch less often: model = torch.compile(model, mode='reduce-overhead') (CUDA graphs), or more work a "
        "kernel by a "
        "larger batch."
    )
    return text, fix


def _each(gaps: Mapping[str, Any]) -> str:
    number = f"{gaps['gaps_per_step']:,.3g}" if gaps["gaps_per_step"] < MANY else f"{gaps['gaps_per_step']:,.0f}"
    return f"{number} gap{'' if number == '1' else 's'} a step"


def _waiting(subject: Subject) -> str:
    capture = subject.way("stream_events")
    recorded = f"; {capture} records events" if capture else ""
    return (
        "The host had launched the work that ends most of them, so faster launching would not cut them: find out what it "
        f"waited for, such as an event, a collective of other ranks or another process{recorded}."
    )
