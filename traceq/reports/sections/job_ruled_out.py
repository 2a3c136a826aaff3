"""Causes ruled out for a job, though its ranks look so one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.ranks import list_ranks
from traceq.common.units import duration
from traceq.reports.document import Block, Items
from traceq.reports.model import Job
from traceq.reports.sections.jobs import holds_up

# So much of the communication is waiting: a rank only looks bound by it.
_MOSTLY = 0.5
# Compute of ranks that differs by no more is the same.
_ALIKE = 1.05
# A rank looks bound by communication when so much of its steps is that.
_LOOKS_BOUND = 0.4
# A rank that communicates by so much less than its peers looks best, and is late.
_FALSE_FAST = 0.75


def list_ruled_out(job: Job, most: int = 3) -> Iterator[Block]:
    """Yield at most `most` sentences on causes that are ruled out, and on ranks that mislead when looked at alone.

    Nothing unless late ranks hold up the job.
    """
    if job.dur_ns is None or not holds_up(job):
        return
    lines = [line for line in (_rule_out_gpus(job), _rule_out_communication(job), _explain_early_ranks(job)) if line]
    if lines[:most]:
        yield Items(tuple((line,) for line in lines[:most]))


def _rule_out_gpus(job: Job) -> str:
    """Return the sentence that compute takes as long on every rank, so that no GPU is slow; empty if unknown or not so."""
    compute = sorted(each.compute_ns for each in job.members if each.compute_ns)
    if len(compute) < len(job.members) or not compute or compute[-1] > _ALIKE * compute[0]:
        return ""
    return f"The GPUs are not the cause: compute takes {_format_range(compute, job)} on every rank."


def _rule_out_communication(job: Job) -> str:
    """Return the sentence on ranks that seem bound by communication but only wait for late ranks; empty without any."""
    late = _late_ranks(job)
    found = [
        each.rank
        for each in job.members
        if each.rank not in late
        and (each.communication_ns or 0) > _LOOKS_BOUND * (each.counted_ns or 0) > 0
        and (each.wait_ns or 0) > _MOSTLY * (each.communication_ns or 0)
    ]
    if not found:
        return ""
    words = list_ranks(found)
    ends = "look communication-bound, but are" if len(found) > 1 else "looks communication-bound, but is"
    return f"Taken alone, {words} {ends} not."


def _explain_early_ranks(job: Job) -> str:
    """Return the sentence on late ranks that communicate far less than the others, as they wait less; empty without any."""
    late = _late_ranks(job)
    punctual = sorted(each.communication_ns for each in job.members if each.rank not in late and each.communication_ns)
    if not punctual:
        return ""
    least = _FALSE_FAST * punctual[0]
    fast = [each for each in job.members if each.rank in late and 0 < (each.communication_ns or 0) < least]
    if not fast:
        return ""
    words = list_ranks([each.rank for each in fast])
    ends = "communicate least" if len(fast) > 1 else "communicates least"
    own = _format_range(sorted(each.communication_ns or 0 for each in fast), job)
    return (
        f"{words[0].upper()}{words[1:]} {ends} ({own}; punctual ranks {_format_range(punctual, job)}), because "
        "late ranks wait less."
    )


def _late_ranks(job: Job) -> set[int]:
    return {rank for each in job.stragglers for rank in each.ranks}


def _format_range(values: Sequence[int], job: Job) -> str:
    low, high = duration(values[0] / job.steps), duration(values[-1] / job.steps)
    return low if low == high else f"{low} to {high}"
