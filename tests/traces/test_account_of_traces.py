"""The account of real traces: every line of the ledger of 5 % and more has a verdict, and lines add up to the ledger."""

from __future__ import annotations

import pytest
from trace_files import SHARED, every_trace, stem

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


def incomplete(trace):
    """List what is wrong with the account of a trace: sums, verdicts, savings."""
    if trace.triage is not None and not trace.triage.is_judged:
        return [f"account of {each.category}, though there is nothing to judge" for each in trace.account]
    sums = [
        f"lines of {category} add up to another time"
        for category, held in ledger(trace).items()
        if not adds_up(trace, category, held)
    ]
    return [*sums, *(f"{each.category} {each.part}: {wrong}" for each in trace.account for wrong in wrong_of(each))]


def adds_up(trace, category, held):
    return sum(each.dur_ns for each in trace.account if each.category == category) == pytest.approx(held, abs=1)


def wrong_of(line):
    """List what is wrong with a line."""
    if line.step_share >= LEAST and (line.verdict == "small" or not line.reason):
        yield f"{line.verdict} {line.reason!r} of {line.step_share:.0%}"
    if line.verdict == "at its limit" and not 0.7 <= (line.limit_share or 0) <= 1:
        yield f"at its limit with {line.limit_share}"
    if line.verdict == "cannot tell" and not line.remedy:
        yield "nothing would tell"
    if (line.finding_id is not None) != (line.verdict == "avoidable"):
        yield f"{line.verdict} of {line.finding_id}"
    if line.finding_id is not None:
        savings = [0, line.saving_low_ns, line.saving_ns, line.saving_high_ns, line.dur_ns * 1.000001]
        if savings != sorted(savings):
            yield f"savings {savings}"


def ledger(trace):
    """The ns per counted step of each category of the device that the account is about, or of the training thread."""
    if trace.ledger:
        device = trace.account[0].device if trace.account else trace.ledger[0].device
        (own,) = [each for each in trace.ledger if each.device == device]
        # idle time of a sample is only what the sample left out
        is_sample = trace.triage is not None and trace.triage.reason == "sampled"
        return {part.category: part.per_step for part in own.parts if not (is_sample and part.category in IDLE)}
    held = {}
    for part in trace.host_ledger:
        held[part.category] = held.get(part.category, 0) + part.dur / (trace.steps.counted or 1)
    return held


@every_trace
def test_it_is_complete(path, reports):
    assert [wrong for trace in reports(path).traces for wrong in incomplete(trace)] == []


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=stem(path), marks=[pytest.mark.slow] if path.stat().st_size > SMALL else [])
        for path in OTHERS
    ],
)
def test_it_is_complete_of_other_traces(path, reports):
    assert [wrong for trace in reports(path).traces for wrong in incomplete(trace)] == []
