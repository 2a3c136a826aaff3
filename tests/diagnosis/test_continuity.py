"""A little more of a cause is a little more to win: no threshold makes a saving jump.

A threshold that moves by 1 % stands for a cause that moves by 1 % against it.
"""

from __future__ import annotations

import pytest
from failure_list import assert_none
from labelled.rule_cases import _alone, _subject, expected, functions
from labelled.sensitivity import _files
from msgspec.structs import replace

from traceq.diagnosis.judge import judge_subject
from traceq.diagnosis.query import Workspace, all_thresholds
from traceq.diagnosis.rules.registry import RULES, all_rules

# Rules that hold work against a limit of the GPU or a link, or against the work it can hide behind, and those whose claims grow
# from nothing at a threshold (database/ramps.sql). The others are tried in the slow run.
BY_DEFAULT = (
    "slow_matmul",
    "slow_elementwise",
    "memory_bound_matmul",
    "decode_bandwidth",
    "late_input_copy",
    "exposed_copy_h2d",
    "exposed_copy_d2h",
    "tensor_cores_unused",
    "communication_contention",
    "host_many_operators",
    "launch_blocking",
    "low_bus_bandwidth",
    "low_copy_bandwidth",
    "low_occupancy",
    "main_thread_collate",
    "slow_collective",
    "slow_storage",
)
REMARKS = {each.name.replace("-", "_") for each in all_rules() if each.remarks}
FINDING = [rule for rule in RULES if rule not in REMARKS and any(expected(name) == "found" for name in functions(rule))]
# Numbers that say what is looked at, not how much of it there is: a kernel's length, a habit, a share of something else.
OF_POPULATIONS = {"shortest", "most", "turn_ns", "right_after", "most_tokens"}
# Pauses shorter than a slice of time are something else, and latency rules copies that are smaller.
OF_POPULATIONS_OF_RULE = {("time_slices", "least_ns"), ("low_copy_bandwidth", "least_bytes")}
# Whole numbers up to this one are how many there must be before a pattern is one, or per cent of a counter: none moves by 1 %.
COUNTS = 100
STEP = 1.01
# Of the largest saving that the rule can come to; what saves less than 1 % of the step is not listed.
JUMP, LISTED = 0.1, 0.01


def jumps(rule):
    """List where the saving of a rule's first case changes by more than JUMP when a threshold moves by 1 %."""
    name = next(name for name in functions(rule) if expected(name) == "found")
    keys = [each.key for each in all_thresholds() if each.place in _files(rule) and is_size(rule, each)]
    with _subject(functions(rule)[name]) as subject:

        def saving(key, factor):
            fresh = Workspace(subject.connection, subject.trace_id, subject.workspace.device, {key: factor})
            judged = judge_subject(
                replace(subject, workspace=fresh, _of_claims={}, _culprits={}, _common={}), _alone(rule)
            )
            assert not judged.failed, judged.failed
            return sum(each.saving_ns for each in judged.every_finding)

        for key in keys:
            least = LISTED * subject.step_ns
            if found := jump(lambda factor, key=key: saving(key, factor), 0.5, 2.0, least):
                yield f"{rule}: {key[0]}.{key[1]} at {found[0]:.3f} times its value: {found[1]:.0f} to {found[2]:.0f} ns"


def is_size(rule, threshold):
    """Return whether the threshold is an amount that can move by 1 %."""
    is_count = 1 < threshold.value <= COUNTS and threshold.value == int(threshold.value)
    of_population = threshold.name in OF_POPULATIONS or (rule, threshold.name) in OF_POPULATIONS_OF_RULE
    return not is_count and not of_population


def jump(value, low, high, least):
    """Return the place and both sides of the largest jump between two factors, by bisection; None where there is none."""
    at_low, at_high = value(low), value(high)
    most = JUMP * max(at_low, at_high) + least
    while high / low > STEP:
        if abs(at_high - at_low) <= most:
            return None
        middle = (low * high) ** 0.5
        at_middle = value(middle)
        if abs(at_middle - at_low) > abs(at_high - at_middle):
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle
    return (low, at_low, at_high) if abs(at_high - at_low) > most else None


@pytest.mark.parametrize(
    "rule", [rule if rule in BY_DEFAULT else pytest.param(rule, marks=pytest.mark.slow) for rule in FINDING]
)
def test_no_threshold_makes_a_saving_jump(rule):
    assert_none(jumps(rule))


def test_a_jump_is_found():
    assert jump(lambda factor: 100.0 if factor < 1.3 else 0.0, 0.5, 2.0, 1.0) is not None
    assert jump(lambda factor: 100.0 * (2.0 - factor), 0.5, 2.0, 1.0) is None


def test_they_are_rules():
    assert set(BY_DEFAULT) <= set(FINDING)
