"""The words about a what-if of a job: what a step would last, and who is waited for then."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.ranks import numbers
from traceq.common.units import duration, share, some
from traceq.reports.document import Block, Facts, Heading, Name, Spans, Verdict
from traceq.reports.savings import speed_up
from traceq.reports.whatif.answer import JobAnswer

# A saving below this share of the step is none.
_NOTHING = 0.001


def compose_job_answer(found: JobAnswer) -> Iterator[Block]:
    """The whole answer."""
    yield Heading(1, ("traceq whatif",))
    yield Verdict((_verdict(found),))
    yield Facts(tuple(_facts(found)))


def _verdict(found: JobAnswer) -> str:
    who = numbers(found.ranks)
    like = f"With {who} like the usual rank"
    if found.recorded_ns - found.after_ns < _NOTHING * found.recorded_ns:
        return f"{like} a step of the job takes {duration(found.recorded_ns)} as before: nobody waits for that alone"
    saved = found.recorded_ns - found.after_ns
    faster = speed_up(found.recorded_ns, found.after_ns)
    return (
        f"{like}: {duration(found.recorded_ns)} -> {duration(found.after_ns)} per step, {faster} as fast"
        f" (saves {duration(saved)}, {share(saved / found.recorded_ns)})"
    )


def _facts(found: JobAnswer) -> Iterator[tuple[str, Spans]]:
    name = (", ", Name(found.name)) if found.name else ()
    yield "job", (some(found.of_ranks, "rank"), *name, f", {some(found.steps, 'step')}")
    yield (
        "changed",
        (f"own time of {numbers(found.ranks)} before collectives, to the median rank's at the same places",),
    )
    yield "all ranks alike", (f"{duration(found.ideal_ns)} per step",)
    if found.waited_for:
        yield "then late", (", ".join(found.waited_for),)
    yield "replay", (f"as recorded within {share(found.error_share)}",)
