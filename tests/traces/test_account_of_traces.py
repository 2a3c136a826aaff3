"""The account of real traces: every line of the ledger of 5 % and more has a verdict, and lines add up to the ledger."""

from __future__ import annotations

import pytest
from trace_files import SHARED, every_trace, strip_container

from traceq.analysis.categories import IDLE

OTHERS = sorted(
    path
    for folder in ("judged", "judged3")
    for path in (SHARED / folder).glob("*/*")
    if path.parent.name in ("nsys", "torch", "rocm", "xplane") and path.is_file()
)
# Larger ones are read by the slow tests: an ingest of each would cost a second.
SMALL = 12_000
LEAST = 0.05


def list_incomplete(trace):
    """List what is wrong with the account of a trace: sums, verdicts, savings."""
    if trace.triage is not None and not trace.triage.is_judged:
        return [f"account of {each.category}, though there is nothing to judge" for each in trace.account]
    sums = [
        f"lines of {category} of device {device} add up to another time"
        for device, of_device in read_ledgers(trace).items()
        for category, held in of_device.items()
        if lines_of(trace, device, category) != pytest.approx(held, abs=1)
    ]
    return [*sums, *(f"{each.category} {each.part}: {wrong}" for each in trace.account for wrong in wrong_of(each))]


def lines_of(trace, device, category):
    return sum(each.dur_ns for each in trace.account if each.device == device and each.category == category)


def wrong_of(line):
    """List what is wrong with a line."""
    if line.step_share >= LEAST and (line.verdict == "small" or not line.reason):
        yield f"{line.verdict} {line.reason!r} of {line.step_share:.0%}"
    if line.verdict == "at its limit" and not 0.7 <= (line.limit_share or 0) <= 1:
        yield f"at its limit with {line.limit_share}"
    if line.verdict == "cannot tell" and not line.remedy:
        yield "nothing would tell"
    if (line.finding_id is not None or line.limit is not None) < (line.verdict == "avoidable"):
        yield "avoidable by no finding and no limit"
    if line.finding_id is not None and line.verdict != "avoidable":
        yield f"{line.verdict} of {line.finding_id}"
    if line.is_critical and line.verdict == "avoidable":
        savings = [0, line.saving_low_ns, line.saving_ns, line.saving_high_ns, line.dur_ns * 1.000001]
        if savings != sorted(savings):
            yield f"savings {savings}"
    if not line.is_critical and line.saving_ns is not None:
        yield "a saving that the critical device has already"


def read_ledgers(trace):
    """The ns per counted step of each category by device, or of the training thread (None)."""
    # idle time of a sample, and of a capture of graphs, is only what was left out
    leaves_idle_out = trace.triage is not None and trace.triage.reason in ("sampled", "graph_capture")
    found = {
        each.device: {
            part.category: part.per_step_ns for part in each.parts if not (leaves_idle_out and part.category in IDLE)
        }
        for each in trace.ledger
    }
    if not found:
        held = found[None] = {}
        for part in trace.host_ledger:
            held[part.category] = held.get(part.category, 0) + part.dur_ns / (trace.steps.counted or 1)
    return found


@every_trace
def test_it_is_complete(path, reports):
    assert [wrong for trace in reports(path).traces for wrong in list_incomplete(trace)] == []


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=strip_container(path), marks=[pytest.mark.slow] if path.stat().st_size > SMALL else [])
        for path in OTHERS
    ],
)
def test_it_is_complete_of_other_traces(path, reports):
    assert [wrong for trace in reports(path).traces for wrong in list_incomplete(trace)] == []
