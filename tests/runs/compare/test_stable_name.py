"""What of a name changes from call to call, step to step or process to process is no part of it."""

from __future__ import annotations

import pytest
from handmade_runs import MS, item, run

from traceq.runs.compare.compare import compare
from traceq.runs.compare.names import stable_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten::mm, op_id = 1092", "aten::mm"),
        ("MmBackward0, seq = 17, op_id = 4", "MmBackward0"),
        ("ProfilerStep#12", "ProfilerStep#"),
        ("train step 7", "train step "),
        (
            "<built-in method run_backward of torch object at 0x7f09a1b2c3d0>",
            "<built-in method run_backward of torch object at 0x>",
        ),
        (
            "## Call CompiledFxGraph fqwzxkqj3ybvbl2hqlmkmtvpyqdh7f2dxw6gqlq5u4yrhnmtjbzf ##",
            "## Call CompiledFxGraph  ##",
        ),
        ("kernels of 3f8a9c0d12", "kernels of "),
        ("aten::convolution_backward", "aten::convolution_backward"),
        ("defaced facade 12345678 layer2", "defaced facade 12345678 layer2"),
        ("0x1234", "0x"),
    ],
)
def test_names(name, expected):
    assert stable_name(name) == expected


def test_operators_with_numbers_of_their_calls_are_one_row():
    """1,092 rows of noise, once."""
    sides = []
    for side, first in (("base", 0), ("new", 500)):
        items = [
            item("gemm", MS, operator=f"aten::mm, op_id = {first + number}", steps=12, shape=f"{number}x1x1")
            for number in range(20)
        ]
        sides.append([run(*[20 * MS] * 12, items=items, name=side)])
    found = compare(*sides)
    assert [(row.name, row.base_ns, row.delta_ns) for row in found.operators] == [("aten::mm", 20 * MS, 0)]
