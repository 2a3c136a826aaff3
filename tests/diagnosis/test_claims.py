"""How much time of the ledger a rule lays claim to, counted by hand; and what it advises by what the run was made with."""

from __future__ import annotations

from contextlib import closing

import pytest
from builder import TraceBuilder
from labelled.gpu_work import FLASH, GEMM, a100, kernel, run, shapes
from labelled.packs import as_if_confirmed
from labelled.rule_cases import functions

from traceq.diagnosis.judge import judge
from traceq.diagnosis.query import rule_query


@pytest.mark.parametrize(
    ("rule", "case", "claimed_us"),
    [
        # the copy, the call before and after it, and what the host then needs to launch the kernel: call, Python, latency
        ("late_input_copy", "found", 200 + 10 + 10 + 30 + 15 + 15 + 7.5),
        ("late_input_copy", "found_blocking", 200 + 10 + 10 + 30 + 15 + 15 + 7.5),
        # ten checks, and a stack in each of ten operators
        ("host_anomaly_mode", "found", 10 * 14.7 + 10 * 54),
        ("host_anomaly_mode", "found_without_stacks", 10 * 14.7),
        # between the products; and from head to head
        ("host_attention", "found", 62),
        ("host_attention", "found_head_by_head", 3 * 62 + 2 * 42),
        # from the first to the last row that is picked, and from the first to the last of their nodes
        ("host_item_loop", "found_with_its_backward_pass", 1.95 + 199),
    ],
)
def test_a_rule_claims_what_its_cause_costs_per_step(rule, case, claimed_us):
    trace = TraceBuilder()
    functions(rule)[case](trace)
    trace.fill_all()
    only = [each for each in as_if_confirmed() if each.name == rule.replace("_", "-")]
    with closing(trace._connection) as connection:
        (judged,) = judge(connection, rules=only)
    (finding,) = judged.findings
    assert finding.claimed_ns == claimed_us * 1000


def test_more_workers_are_advised_than_the_snapshot_says_there_are():
    trace = TraceBuilder()
    functions("too_few_workers")["found"](trace)
    trace.add("made_with", topic="loader", instance=0, name="num_workers", value="3", unit=None, is_knob=True)
    trace.fill_all()
    only = [each for each in as_if_confirmed() if each.name == "too-few-workers"]
    with closing(trace._connection) as connection:
        (judged,) = judge(connection, rules=only)
    (finding,) = judged.findings
    # 0.4 of each step of 1 ms goes: 3 workers x 1 / 0.6
    assert "num_workers=5" in finding.fix
    assert "3 workers prepare batches; about 5 could keep up" in finding.fix


def chains(trace, steps):
    """Steps of 98 ms: a chain of four elementwise operators takes 48 ms, a product of matrices 50."""
    for step in range(steps):
        start = step * 100_000_000
        trace.annotation(f"ProfilerStep#{step}", start, 100_000_000)
        for place, name in enumerate(("aten::mul", "aten::add", "aten::tanh", "aten::clamp")):
            trace.op(name, start + 10_000 + place * 12_001_000, 12_000_000)
        trace.op("aten::mm", start + 48_014_000, 50_000_000)


def found_in_chains(steps):
    trace = TraceBuilder()
    chains(trace, steps)
    trace.fill_all()
    with closing(trace._connection) as connection:
        (judged,) = judge(connection, rules=as_if_confirmed())
    return {each.rule: each for each in judged.findings}


def test_what_is_saved_of_a_part_follows_from_its_own_pieces():
    """The chain is claimed before: what is left is the product, of which a tenth goes, not a quarter as of all operators."""
    found = found_in_chains(4)
    left = found["host-operators"]
    assert left.owned_ns == pytest.approx(50e6, rel=0.01)
    assert left.saving_ns == pytest.approx(5e6, rel=0.01)
    assert left.assumed_share == pytest.approx(0.1, abs=0.001)
    assert left.rule_share == rule_query("host_operators").shares["likely"]


def test_one_step_says_nothing_of_bounds():
    for each in found_in_chains(1).values():
        assert each.saving_low_ns == 0
        assert each.saving_high_ns >= each.owned_ns * 0.999


def test_few_steps_that_differ_say_little():
    """Logging takes 1, 2 and 3 ms of steps of 9 to 11: with two degrees of freedom the quantile is 7, not 2.3."""
    trace, start = TraceBuilder(), 0
    for step, lasts in enumerate((1_000_000, 2_000_000, 3_000_000)):
        trace.annotation(f"ProfilerStep#{step}", start, 8_000_000 + lasts)
        trace.op("aten::mm", start + 10_000, 7_900_000)
        trace.annotation("log", start + 7_950_000, lasts)
        start += 8_000_000 + lasts
    trace.fill_all()
    with closing(trace._connection) as connection:
        (judged,) = judge(connection, rules=[each for each in as_if_confirmed() if each.name == "host-logging"])
    (log,) = judged.findings
    assert log.saving_low_ns == 0
    assert log.saving_high_ns > 0.7 * (log.expected_step_ns + log.saving_ns)


def test_slow_products_are_named_by_the_kind_with_most_to_win():
    """The longest of all is attention, and most of what can be won is in products."""
    attention = shapes(*[[1, 1, 16384, 512]] * 3, dtype="c10::BFloat16")
    square = shapes([4096, 4096], [4096, 4096], dtype="c10::BFloat16")
    trace = TraceBuilder()
    a100(trace)
    run(
        trace,
        kernel(FLASH, 12_000_000, "aten::_scaled_dot_product_flash_attention", attention),
        *[kernel(GEMM, 2_000_000, "aten::mm", square)] * 8,
    )
    trace.fill_all()
    only = [each for each in as_if_confirmed() if each.name == "slow-matmul"]
    with closing(trace._connection) as connection:
        (judged,) = judge(connection, rules=only)
    (finding,) = judged.findings
    assert finding.title.startswith("Speed up matrix products: ")
    assert "aten::mm of" in finding.fix
