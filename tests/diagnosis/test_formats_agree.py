"""One run, written as each profiler would, gets one report: the same first finding, its saving within a tenth, the same rules.

`emit_nvtx` is nsys with ranges of operators and their shapes, `nsys` the same without operators. Where a profiler cannot know
what another does, that is listed here, with why; nothing else may differ.
"""

from __future__ import annotations

import sys
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures" / "make"))

from labelled import simulated
from simulator import simulate, write_kineto_shapes, write_nsys_ranges, write_nsys_shapes

from traceq.database.connect import connect
from traceq.diagnosis.judge import judge
from traceq.loading.ingest import ingest

WRITERS = {
    "kineto": ("json", write_kineto_shapes),
    "emit_nvtx": ("sqlite", write_nsys_shapes),
    "nsys": ("sqlite", write_nsys_ranges),
}
WITHIN = 0.1

# What the first format calls a cause that the second cannot tell from another one, and why.
CANNOT_TELL = {
    # OS calls come from nsys's own tracing; CUPTI and PyTorch see none: their time is in the range around them
    ("emit_nvtx", "kineto"): {"blocking-os-call": "python-bound"},
    # that a thread was inside an operator, stood still in it, or that the copy is one of the loop's, is what ranges of operators
    # tell
    ("emit_nvtx", "nsys"): {
        "host-bound": "python-bound",
        "host-preempted": "python-bound",
        "late-input-copy": "pageable-copy",
    },
}

# Rules that a format cannot serve and another one can, and why.
NOT_SERVED = {
    "kineto": {
        # what is asked of calls of the operating system
        "blocking-os-call",
        "host-os-calls",
        "main-thread-collate",
        "slow-storage",
        # Kineto says how many ranks there are, of which the others are not here; nsys names no other
        "rank-imbalance",
    },
    "emit_nvtx": {
        # types of operators' tensors, and bytes of elementwise operators that follow from them, which emit_nvtx does not write
        "host-float64",
        "slow-elementwise",
        # bytes of collectives: Kineto writes them with kernels, nsys has NCCL's own payload, which is not simulated
        "low-bus-bandwidth",
        "small-messages",
        "waiting-not-network",
    },
    "nsys": {
        # what is asked of operators
        "conv-bias",
        "data-dependent-shape",
        "fresh-tensor-copy",
        "host-anomaly-mode",
        "host-attention",
        "host-elementwise-chain",
        "host-item-loop",
        "host-many-operators",
        "host-operators",
        "host-optimizer",
        "host-python",
        "host-side-work",
        "host-threads",
        "kernel-autotuning",
        "loop-indexing",
        "recompute",
        "redundant-copy",
        "torchscript-compilation",
        # and of their shapes and types
        "host-float64",
        "low-mfu",
        "memory-bound-matmul",
        "quantization",
        "slow-elementwise",
        "slow-matmul",
        # of bytes of collectives, as above
        "low-bus-bandwidth",
        "small-messages",
        "waiting-not-network",
    },
}

PROGRAMS = {
    case.name.removesuffix(" nsys"): case.make.program for case in simulated.cases() if case.name.endswith(" nsys")
}
# A cause that some cannot tell, every day.
EVERY_DAY = ("idle_os x1.0",)
NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (name not in EVERY_DAY)) for name in PROGRAMS]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """reports(program): what the rules say of it, by format."""

    @cache
    def told(name):
        run, found = simulate(PROGRAMS[name]), {}
        for form, (suffix, write) in WRITERS.items():
            folder = tmp_path_factory.mktemp("run")
            write(run, folder / f"run.{suffix}")
            ingest([folder / f"run.{suffix}"], folder / "run.duckdb")
            with closing(connect(folder / "run.duckdb")) as connection:
                (found[form],) = judge(connection)
        return found

    return told


def said_by(finding):
    """The rules that a finding stands for: its own, and those whose findings the same fix wins."""
    return {finding.rule, *(part.rule for part in finding.parts)}


@pytest.mark.parametrize("name", NAMES)
def test_each_format_gets_the_same_report(name, reports):
    judged = reports(name)
    assert {form: each.failed for form, each in judged.items() if each.failed} == {}
    for pair, taken_for in CANNOT_TELL.items():
        assert_same_first(*(judged[form].findings for form in pair), taken_for)
    asked = {form: {each.rule for each in one.not_applicable} for form, one in judged.items()}
    assert asked["emit_nvtx"] - asked["kineto"] <= NOT_SERVED["emit_nvtx"]
    assert asked["nsys"] - asked["kineto"] <= NOT_SERVED["nsys"]
    assert asked["kineto"] - asked["emit_nvtx"] <= NOT_SERVED["kineto"]


def assert_same_first(one, other, taken_for):
    """The first finding of two formats is the same, but where the first format calls it otherwise (`taken_for`)."""
    assert bool(one) == bool(other)
    if not one:
        return
    merged = {taken_for[each.rule] for each in one if each.rule in taken_for}
    if one[0].rule in taken_for or said_by(other[0]) & merged:
        # one finding stands for two whose fixes win unlike shares of the time: its bounds hold what they win
        (found,) = (each for each in other if said_by(each) & merged)
        joined = sum(each.saving_ns for each in one if taken_for.get(each.rule, each.rule) in said_by(found))
        assert found.saving_low_ns <= joined <= found.saving_high_ns
    else:
        assert other[0].rule == one[0].rule
        assert other[0].saving_ns == pytest.approx(one[0].saving_ns, rel=WITHIN)


@pytest.mark.slow
@pytest.mark.parametrize("form", WRITERS)
def test_what_is_listed_as_not_served_is_not_served(form, reports):
    judged = [reports(name)[form] for name in ("idle_os x1.0", "long_collective")]
    assert NOT_SERVED[form] <= {each.rule for one in judged for each in one.not_applicable}
