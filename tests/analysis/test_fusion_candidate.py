"""Sequences of memory-bound kernels that one kernel could replace, and the bytes that would not move then."""

from __future__ import annotations

import json

from builder import TraceBuilder

FACTS = "sequence, operators, times, steps, kernels, dur::integer as dur, least_bytes, most_bytes"

ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>"
SUM = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>"
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>"


def candidates(*calls, steps=2, shapes=True, select=FACTS, dur=10):
    """Rows of the view: each step runs the calls (operator, kernel, shapes, types), one after another, `dur` ns per kernel."""
    trace = TraceBuilder()
    trace.add("device", device=0, name="NVIDIA H100 80GB HBM3", source="trace")
    pitch = 100 + dur
    length = pitch * len(calls) + 100
    for step in range(steps):
        trace.annotation(f"ProfilerStep#{step}", length * step, length)
        for number, (operator, kernel, dims, types) in enumerate(calls):
            at = length * step + pitch * number + 10
            if operator is not None:
                args = json.dumps({"Input Dims": dims, "Input type": types})
                trace.op(operator, at, 60, args=args if shapes else None)
            trace.kernel(kernel, at + 40, dur, launched=(at + 10, 5))
    trace.fill_all()
    return trace.text(f"select {select} from fusion_candidate order by sequence").splitlines()


GEMM = ("aten::mm", "gemm", [[4, 8], [8, 4]], ["float", "float"])


def test_what_one_writes_and_the_next_reads_need_not_move():
    found = candidates(
        ("aten::mul", ADD, [[4, 8], [8]], ["float", "float"]),
        ("aten::add", ADD, [[4, 8], [4, 8], []], ["float", "float", "Scalar"]),
        ("aten::silu", ADD, [[4, 8]], ["float"]),
        GEMM,
        # the norm writes the shape of its input, whatever that of its weights; half precision
        ("aten::gelu", ADD, [[2, 3, 4]], ["c10::Half"]),
        (
            "aten::native_layer_norm",
            NORM,
            [[2, 3, 4], [], [4], [4]],
            ["c10::Half", "ScalarList", "c10::Half", "c10::Half"],
        ),
        ("aten::neg", ADD, [[2, 3, 4]], ["c10::Half"]),
        GEMM,
        # shapes do not tell what a sum writes
        ("aten::sum", SUM, [[4, 8], []], ["float", "ScalarList"]),
        ("aten::exp", ADD, [[4]], ["float"]),
        GEMM,
        # as many elements in another shape may be the same tensor
        ("aten::relu", ADD, [[4, 8]], ["float"]),
        ("aten::tanh", ADD, [[32]], ["float"]),
        GEMM,
        # one over and over, which may be as many tensors
        ("aten::abs", ADD, [[4, 8]], ["float"]),
        ("aten::abs", ADD, [[4, 8]], ["float"]),
        GEMM,
        # types that are not known, and no shapes
        ("aten::sin", ADD, [[4, 8]], ["unknown"]),
        ("aten::cos", ADD, [[4, 8]], ["float"]),
        GEMM,
        # without an operator, from the name of the kernel
        (None, ADD, None, None),
        (None, SUM, None, None),
    )
    assert found == [
        "CUDAFunctor_add → reduce_kernel 2 2 2 4 40 - -",
        "gelu → native_layer_norm → neg 3 2 2 6 60 192 384",
        "mul → add → silu 3 2 2 6 60 512 1024",
        "relu → tanh 2 2 2 4 40 0 512",
        "sin → cos 2 2 2 4 40 - -",
        "sum → exp 2 2 2 4 40 0 0",
    ]


def test_time_of_the_bytes_at_what_copies_reach_of_the_bandwidth():
    # 4 MB read and written: 1 us at 0.8 of 3352 GB/s is 2,681,600 bytes; of kernels of 10 ns no more than these
    shape = ([[1024, 1024]], ["float"])
    calls = (("aten::mul", ADD, *shape), ("aten::silu", ADD, *shape), GEMM)
    select = "sequence, least_bytes, least_dur, most_dur"
    assert candidates(*calls, select=select) == ["mul → silu 8388608 40 40"]
    assert candidates(*calls, select=select, dur=10_000) == ["mul → silu 8388608 3128 6256"]
    assert candidates(*calls, select=select, shapes=False) == ["mul → silu - - -"]


def test_sequences_that_do_not_repeat_are_none():
    calls = (("aten::mul", ADD, [[4]], ["float"]), ("aten::silu", ADD, [[4]], ["float"]))
    assert candidates(*calls, steps=1) == []
    assert candidates(calls[0], GEMM, calls[1], GEMM) == []
