"""How much time of the ledger a rule lays claim to, where it can be counted by hand."""

from __future__ import annotations

from contextlib import closing

import pytest
from builder import TraceBuilder
from labelled.rule_cases import functions

from traceq.diagnosis.judge import judge
from traceq.diagnosis.rules.registry import built_in


@pytest.mark.parametrize(
    ("rule", "case", "claimed_us"),
    [
        # the copy, the call before and after it, and what the host then needs to launch the kernel: call, Python, latency
        ("late_input_copy", "found", 200 + 10 + 10 + 30 + 15 + 15 + 7.5),
        ("late_input_copy", "found_blocking", 200 + 10 + 10 + 30 + 15 + 15 + 7.5),
    ],
)
def test_a_rule_claims_what_its_cause_costs_per_step(rule, case, claimed_us):
    trace = TraceBuilder()
    functions(rule)[case](trace)
    trace.fill_all()
    only = [each for each in built_in() if each.name == rule.replace("_", "-")]
    with closing(trace._connection) as connection:
        (judged,) = judge(connection, rules=only)
    (finding,) = judged.findings
    assert finding.claimed_ns == claimed_us * 1000
