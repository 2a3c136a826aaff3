"""Savings of which only bounds are known have no likely value, share or factor; what is said of a claim is true of it alone."""

from __future__ import annotations

from golden_reports import one_trace
from msgspec.structs import replace

from traceq.reports.document import Facts
from traceq.reports.savings import bounded_share_text, cumulative_text, saving_text
from traceq.reports.sections.findings import describe_findings, rank_findings

(TRACE,) = one_trace().traces
COPY, IDLE = TRACE.findings[:2]
BOUNDS = replace(COPY, only_bounds=True)


def said(report, number=0):
    """The facts of a finding in a full report, by their labels."""
    facts = [block for block in describe_findings(report, folds=False, draws=False) if isinstance(block, Facts)]
    return {label: "".join(map(str, spans)) for label, spans in facts[number].rows}


def test_a_bound_has_the_share_of_the_bound_and_no_factor():
    assert (saving_text(COPY), bounded_share_text(COPY), cumulative_text([COPY])) == ("900.0 µs", "9.0 %", "1.1x")
    assert (saving_text(BOUNDS), bounded_share_text(BOUNDS), cumulative_text([BOUNDS])) == (
        "<= 1.000 ms",
        "<= 10.0 %",
        "-",
    )


def test_after_a_bound_nobody_knows_how_fast_all_together_make_it():
    rows = rank_findings(replace(TRACE, findings=(IDLE, BOUNDS, COPY))).rows
    assert [row.cumulative for row in rows] == ["1.02x", "-", "-"]


def test_what_does_not_count_here_names_findings_that_have_such_time():
    copy = replace(COPY, owned_by_category={"copy_h2d": 1_000_000.0})
    like = replace(IDLE, owned_by_category={"copy_h2d": 300_000.0})
    other = replace(IDLE, owned_by_category={"idle_launch": 300_000.0})
    start = "1.020 ms match; 1.000 ms of that counts here"
    assert said(replace(TRACE, findings=(copy, like)))["saving"].endswith(f"{start} (see also F2)")
    assert said(replace(TRACE, findings=(copy, other)))["saving"].endswith(start)


def test_of_several_findings_in_one_the_largest_is_measured_and_all_are_told():
    merged = replace(COPY, claimed_ns=1_500_000.0)
    assert said(replace(TRACE, findings=(merged,)))["measured"] == (
        "2 occurrences in 2 steps, 1.020 ms per step; the longest piece 480.0 µs;"
        " with other time that the same fix saves, at least 1.500 ms per step"
    )
