"""Experts of a mixture that run one by one: their tokens and time, by names of ranges and modules."""

from __future__ import annotations

import json

import pytest
from builder import TraceBuilder

ANALYSES = (
    "kernel_family",
    "kernel_occupancy",
    "operator_shape",
    "operator_work",
    "kernel_operand",
    "signature_ceiling",
    "operator_cost",
)


def mixture(*experts, shapes=True, names="model.layers.{layer}.mlp.experts.{expert}"):
    """Rows of the view: of a step with experts (layer, number, tokens, ns of each of two kernels), one after the other."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1_000 * len(experts) + 100)
    for number, (layer, expert, tokens, dur) in enumerate(experts):
        begin = 1_000 * number
        trace.annotation(names.format(layer=layer, expert=expert), begin + 10, 900)
        for place, dims in enumerate(([tokens, 64], [tokens, 256])):
            args = json.dumps({"Input Dims": [dims, [dims[1], 320 - dims[1]]], "Input type": ["float", "float"]})
            at = begin + 20 + 200 * place
            trace.op("aten::mm", at, 100, args=args if shapes else None)
            trace.kernel("gemm", at + 30, dur, launched=(at + 10, 5))
    trace.fill_all()
    return trace.rows("select place, expert, calls, tokens, dur, load from expert_work order by place, expert")


def test_tokens_and_time_of_each_expert():
    found = mixture((0, 0, 30, 40), (0, 1, 10, 20), (1, 0, 20, 30), (1, 1, 20, 30), (0, 1, 20, 30))
    assert found == [
        ("model.layers.0.mlp", 0, 1, 30, 80, 1.0),
        ("model.layers.0.mlp", 1, 2, 30, 100, 1.0),
        ("model.layers.1.mlp", 0, 1, 20, 60, 1.0),
        ("model.layers.1.mlp", 1, 1, 20, 60, 1.0),
    ]


def test_without_shapes_time_tells_the_load():
    assert mixture((0, 0, 30, 60), (0, 1, 10, 20), shapes=False) == [
        ("model.layers.0.mlp", 0, 1, None, 120, 1.5),
        ("model.layers.0.mlp", 1, 1, None, 40, 0.5),
    ]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("experts.{expert}", None),
        ("layers.{layer}.moe.local_experts.{expert}", "layers.0.moe"),
        ("block {layer} expert_{expert}", "block 0"),
        ("nn.Module: LlamaExpertMLP_{expert}", None),
    ],
)
def test_names_of_experts(name, place):
    found = mixture((0, 3, 30, 60), (0, 4, 10, 20), names=name)
    assert [row[:2] for row in found] == [(place, 3), (place, 4)]
    assert [row[5] for row in found] == [1.5, 0.5]


@pytest.mark.parametrize("name", ["shared_experts.{expert}", "layers.{expert}", "nn.Module: GroupedExperts_{expert}"])
def test_what_is_no_single_expert(name):
    assert mixture((0, 3, 30, 60), (0, 4, 10, 20), names=name) == []


def test_products_of_several_experts():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1_000)
    grouped = {"Input Dims": [[96, 64], [8, 64, 256], [8]], "Input type": ["c10::BFloat16"] * 2 + ["int"]}
    plain = {"Input Dims": [[96, 64], [64, 256]], "Input type": ["c10::BFloat16"] * 2}
    for begin, name, args in (
        (10, "aten::_grouped_mm", grouped),
        (300, "aten::mm", plain),
        (600, "aten::_grouped_mm", grouped),
    ):
        trace.op(name, begin, 100, args=json.dumps(args))
        trace.kernel("gemm", begin + 30, 50, launched=(begin + 10, 5))
    trace.fill_all()
    assert trace.rows("select name, calls, rows, dur from grouped_product") == [("aten::_grouped_mm", 2, 192, 100)]
