"""How much time of the ledger a rule lays claim to, counted by hand; and what it advises by what the run was made with."""

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


def test_more_workers_are_advised_than_the_snapshot_says_there_are():
    trace = TraceBuilder()
    functions("too_few_workers")["found"](trace)
    trace.add("made_with", topic="loader", instance=0, name="num_workers", value="3", unit=None, is_knob=True)
    trace.fill_all()
    only = [each for each in built_in() if each.name == "too-few-workers"]
    with closing(trace._connection) as connection:
        (judged,) = judge(connection, rules=only)
    (finding,) = judged.findings
    # 0.4 of each step of 1 ms goes: 3 workers x 1 / 0.6
    assert "num_workers=5" in finding.fix
    assert "3 workers make batches; about 5 would keep up" in finding.fix
