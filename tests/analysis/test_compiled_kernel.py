"""compiled_kernel: operators in the names of kernels of torch.compile, and what its own files tell of them."""

from __future__ import annotations

import json

import pytest
from builder import TraceBuilder

from traceq.analysis.kernels.compiled import Compiled, Origin
from traceq.analysis.kernels.compiled_kernel import fill_compiled, parts_of

WORDS = {"_to_copy", "constant_pad_nd", "native_layer_norm", "native_layer_norm_backward", "moe_forward"}


@pytest.mark.parametrize(
    ("name", "kind", "operators"),
    [
        ("triton_poi_fused_add_relu_3", "pointwise", ["add", "relu"]),
        ("triton_red_fused__to_copy_add_0", "reduction", ["_to_copy", "add"]),
        ("triton_per_fused_native_layer_norm_native_layer_norm_backward_12", "persistent reduction",
         ["native_layer_norm", "native_layer_norm_backward"]),
        ("triton_poi_fused_constant_pad_nd_moe_forward_0", "pointwise", ["constant_pad_nd", "moe_forward"]),
        ("triton_tem_fused_mm_7", "template", ["mm"]),
        ("triton_poi_fused_0", "pointwise", []),
        ("triton_zzz_fused_add_0", None, ["add"]),
        ("_matmul_ogs", None, []),
    ],
)  # fmt: skip
def test_a_name_tells_the_kind_and_the_operators(name, kind, operators):
    assert parts_of(name, WORDS) == (kind, operators)


ADD = Origin("aten::add", "model.py(6): forward", "y = a + b")
MUL = Origin("aten::mul", "model.py(7): forward", "z = y * 2")
NAME = "triton_poi_fused_add_0"


def analyse_compiled(*kernels, hashes=(None,)):
    """Return the rows for a trace in which the kernel runs once for each of `hashes`, of which files tell `kernels`."""
    trace = TraceBuilder()
    for number, hash_ in enumerate(hashes):
        at = 100 * number
        if hash_ is not None:
            trace.op(NAME, at, 20, args=json.dumps({"kernel_hash": hash_, "kernel_backend": "triton"}))
        trace.kernel(NAME, at + 20, 10, launched=(at + 5, 5))
    trace.kernel("other", 900, 10)
    trace.fill("gpu_slice")
    fill_compiled(trace._connection, 1, kernels)
    return trace.text(
        "select kernel_hash, operators, lines, code, told_by, kernels, dur from compiled_kernel order by all"
    )


def test_without_files_the_name_tells():
    assert analyse_compiled() == "- add - - name 1 10"


def test_files_tell_operators_and_lines():
    told = analyse_compiled(Compiled(NAME, None, (ADD, MUL), "provenance"))
    assert told == (
        "- aten::add, aten::mul model.py(6): forward\nmodel.py(7): forward y = a + b\nz = y * 2 provenance 1 10"
    )


def test_kernels_of_one_name_are_told_apart_by_their_files():
    told = analyse_compiled(
        Compiled(NAME, "cabc", (ADD,), "code"), Compiled(NAME, "cxyz", (MUL,), "code"), hashes=("cabc", "cxyz", "cxyz")
    )
    assert told == (
        "cabc aten::add model.py(6): forward y = a + b code 1 10\ncxyz aten::mul model.py(7): forward z = y * 2 code 2 20"
    )


def test_of_kernels_of_one_name_that_cannot_be_told_apart_only_the_name_tells():
    assert analyse_compiled(Compiled(NAME, "cabc", (ADD,), "code"), Compiled(NAME, "cxyz", (MUL,), "code")) == (
        "- add - - name 1 10"
    )


def test_files_of_another_compilation_tell_nothing():
    assert analyse_compiled(Compiled(NAME, "cxyz", (MUL,), "code"), hashes=("cabc",)) == "cabc add - - name 1 10"
