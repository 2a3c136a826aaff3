"""How right findings and first statements are by a label."""

from __future__ import annotations

from pathlib import Path

import pytest

from traceq.diagnosis.grading.grade import grade, grade_refused
from traceq.diagnosis.grading.labels import LabelledUnit
from traceq.diagnosis.grading.output import Output, Statement
from traceq.diagnosis.grading.shares import compute_shares, count_findings, count_firsts
from traceq.diagnosis.grading.truth import Bottleneck, Truth

STEP = 100.0


def truth(*bottlenecks, first=(), also_true=(), nothing=False, line=()):
    """A truth of bottlenecks as (cause, size, low, high), shares of a step of 100 ns."""
    return Truth(
        "trace",
        Path("trace.json"),
        tuple(Bottleneck(*each, STEP) for each in bottlenecks),
        frozenset(first),
        frozenset(also_true),
        nothing,
        frozenset(line),
    )


def output(*said, remarks=(), unknown=None):
    """A report with findings as (rule, share)."""
    found = (Statement(rule, rule, share, share * STEP, 0, STEP, STEP, "high") for rule, share in said)
    return Output(tuple(found), remarks=remarks, unknown=unknown)


LOADING = truth(
    ("input-loading", 0.4, 0.3, 0.45),
    ("launch-bound", 0.1, 0.05, 0.1),
    first=["input-loading"],
    also_true=["precision"],
    line=["idle_data"],
)
NOTHING = truth(nothing=True)
SATURATED = truth(("slow-kernels", 0.4, 0.3, 0.45), first=["gpu-saturated", "slow-kernels"])


@pytest.mark.parametrize(
    ("true", "said", "first", "verdicts"),
    [
        (LOADING, output(("synchronous-loader", 0.4)), "right", ["right"]),
        (LOADING, output(("synchronous-loader", 0.3)), "right", ["right"]),  # at a bound
        (LOADING, output(("synchronous-loader", 0.2)), "partly", ["partly"]),  # another size
        (LOADING, output(("host-bound", 0.1), ("synchronous-loader", 0.4)), "partly", ["right", "right"]),
        (LOADING, output(("recompute", 0.4)), "wrong", ["wrong"]),
        (LOADING, output(("synchronous-loader", 0.4), ("tf32-off", 0.2)), "right", ["right", "right"]),
        (LOADING, output(("synchronous-loader", 0.4), ("tf32-off", 0.7)), "right", ["right", "partly"]),  # beyond any
        (LOADING, output(), "wrong", []),
        (LOADING, output(unknown="idle_data"), "partly", []),
        (LOADING, output(unknown="idle_python"), "wrong", []),
        (LOADING, output(("synchronous-loader", 0.02), unknown="idle_python"), "partly", ["partly"]),
        (SATURATED, output(unknown="compute"), "right", []),
        (SATURATED, output(remarks=("gpu-saturated",)), "right", []),
        (NOTHING, output(), "right", []),
        (NOTHING, output(unknown="compute"), "right", []),
        (NOTHING, output(("host-bound", 0.1)), "wrong", ["wrong"]),
    ],
)
def test_a_report_is_right_by_the_cause_and_its_size(true, said, first, verdicts):
    result = grade(true, said)
    assert (result.first, [each.verdict for each in result.said]) == (first, verdicts)


def test_a_bottleneck_is_found_by_a_finding_its_parts_or_a_remark():
    part = Statement("host-bound", "", 0.1, 10, 0, 10, STEP, "low", parts=("synchronous-loader",))
    assert grade(LOADING, Output((part,))).found == 2
    assert grade(LOADING, output(remarks=("idle-data",))).found == 1
    assert grade(LOADING, output(("recompute", 0.4))).found == 0


def test_a_file_that_is_refused_is_right_where_there_is_nothing_to_tell():
    assert (grade_refused(NOTHING).first, grade_refused(LOADING).first) == ("right", "wrong")


def test_what_was_reached_is_counted():
    results = [
        grade(LOADING, output(("synchronous-loader", 0.4), ("recompute", 0.1))),
        grade(LOADING, output(("host-bound", 0.1))),
        grade(NOTHING, output()),
    ]
    assert count_firsts(results) == (2, 1, 0)
    assert count_findings(results) == count_findings(results, "high") == (2, 0, 1)
    assert count_findings(results, "low") == (0, 0, 0)
    assert compute_shares(results) == {
        "first_right": 2 / 3,
        "first_wrong": 0,
        "found": 2 / 4,
        "findings_true": 2 / 3,
        "high_true": 2 / 3,
    }


def test_a_unit_is_right_by_its_steps_or_what_it_may_also_be():
    unit = LabelledUnit(6, ({"steps": 3}, {"kind": "none"}, {"steps": 12, "why": "wrong: half of each"}))
    assert [steps for steps in (0, 3, 6, 12) if unit.accepts(steps)] == [0, 3, 6]
    assert LabelledUnit(None).accepts(0)
    assert not LabelledUnit(0).accepts(1)
