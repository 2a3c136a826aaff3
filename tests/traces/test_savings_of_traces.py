"""Savings of real traces: within what is claimed, what the step is, and what the GPU has left to do."""

from __future__ import annotations

from itertools import pairwise

from trace_files import every_trace

# Savings keep three digits in what is cached; sums of nanoseconds are off by less than one.
SLACK = 1.0


def list_beyond(trace):
    """List what is wrong with the savings of a trace."""
    step_ns = trace.steps.mean_ns
    busy = busy_by_device(trace)
    owned = sum(sum(each.owned_by_category.values()) for each in trace.findings)
    if owned > step_ns + SLACK:
        yield f"findings own {owned:.0f} of a step of {step_ns:.0f}"
    for each in trace.findings:
        bounds = [0, each.saving_low_ns, each.saving_ns, each.saving_high_ns, step_ns]
        if any(lower > upper + SLACK for lower, upper in pairwise(bounds)):
            yield f"{each.finding_id}: {bounds} are not in order"
        if each.owned_ns > each.claimed_ns + SLACK:
            yield f"{each.finding_id}: owns {each.owned_ns:.0f} of {each.claimed_ns:.0f}"
        if each.rule not in FOLLOWED and each.saving_ns > each.claimed_ns + SLACK:
            yield f"{each.finding_id}: saves {each.saving_ns:.0f} of {each.claimed_ns:.0f}"
        left = busy.get(each.where.device, 0) - sum(
            ns for category, ns in each.owned_by_category.items() if not category.startswith("idle")
        )
        # what is fused takes its launches along, and the gaps before them
        if each.expected_step_ns < left - SLACK and not each.finding_id.startswith(FUSING):
            yield f"{each.finding_id}: a step of {each.expected_step_ns:.0f} with {left:.0f} left for the GPU to do"


# What comes late after these is won, too, and stands elsewhere in the ledger (summary.sql, `after`).
FOLLOWED = {"item-read", "device-synchronize", "late-input-copy", "pageable-copy", "blocking-copy", "host-preempted"}
FUSING = ("elementwise-chain", "unfused-")


def busy_by_device(trace):
    """The ns per step in which each device works; collectives may only wait for a rank that a fix makes faster."""
    return {
        device.device: sum(
            part.per_step_ns for part in device.parts if not part.category.startswith(("idle", "communication"))
        )
        for device in trace.ledger
    }


@every_trace
def test_they_are_within_what_there_is(path, reports):
    assert [wrong for trace in reports(path).traces for wrong in list_beyond(trace)] == []
