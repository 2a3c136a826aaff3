"""What decode steps read of weights and of the KV cache, and the time that takes at least."""

from __future__ import annotations

import json

from builder import TraceBuilder

BF16 = "c10::BFloat16"


def add_operator(trace, name, dims, ts, dtype=BF16):
    """An operator of 10 ns that launches a kernel."""
    args = json.dumps({"Input Dims": dims, "Input type": [dtype] * len(dims)})
    trace.op(name, ts, 10, args=args)
    trace.kernel("gemm", ts + 20, 10, launched=(ts + 1, 2))


def build_decode_step(bandwidth=2_000_000_000, graph=False):
    """A decode step of 100 ns, whose linear layer has 2 x 3 x 5 bytes and whose keys and values 2 x 2 x 64 bytes."""
    trace = TraceBuilder()
    trace.add("device", device=0, source="trace", memory_bandwidth=bandwidth)
    trace.annotation("step[DECODE bs=1]", 0, 100)
    add_operator(trace, "aten::mm", [[1, 3], [3, 5]], 10)
    add_operator(trace, "aten::_scaled_dot_product_flash_attention", [[1, 1, 1, 8], [1, 1, 8, 8], [1, 1, 8, 8]], 40)
    if graph:
        trace.call("cudaGraphLaunch", 70, 5)
    return trace.fill("kernel_occupancy", "serving_bytes", step_range=r"^step\[")


ROOFLINE = "select weight_bytes, kv_bytes, memory_bandwidth, least_dur, roofline_share, reason from serving_roofline"


def test_weights_and_keys_and_values_are_read_once():
    assert build_decode_step().text(ROOFLINE) == "30 256 2000000000 143 1.43 -"


def test_which_operand_is_the_weight():
    trace = TraceBuilder()
    trace.annotation("step[DECODE bs=1]", 0, 1000)
    add_operator(trace, "aten::linear", [[1, 4], [8, 4], [8]], 10)
    add_operator(trace, "aten::addmm", [[8], [1, 4], [4, 16]], 110)
    add_operator(trace, "aten::mv", [[100, 4], [4]], 210)
    add_operator(trace, "aten::bmm", [[2, 1, 4], [2, 4, 1000]], 310)  # of activations, as attention multiplies them
    trace.fill("kernel_occupancy", "serving_bytes", step_range=r"^step\[")
    assert trace.text("select weight_bytes, kv_bytes from serving_bytes") == f"{2 * (32 + 64 + 400)} -"


def test_what_is_not_known_has_its_reason():
    assert build_decode_step(bandwidth=None).text(ROOFLINE) == "30 256 - - - memory bandwidth of the GPU is not known"
    assert build_decode_step(graph=True).text("select weight_bytes, least_dur, reason from serving_roofline") == (
        "- - it was launched as a graph, and no other step records its operators"
    )
    trace = TraceBuilder()
    trace.annotation("step[DECODE bs=1]", 0, 100)
    trace.kernel("gemm", 20, 10, launched=(2, 5))
    trace.fill(step_range=r"^step\[")
    assert trace.text("select reason from serving_roofline") == "shapes of its matrix products are not recorded"


def serve_steps(*steps, bandwidth=1_000_000_000):
    """Steps of vLLM, (annotation, operators with their sizes or None for a graph), of 1000 ns."""
    trace = TraceBuilder()
    trace.add("device", device=0, source="trace", memory_bandwidth=bandwidth)
    for number, (name, operators) in enumerate(steps):
        start = 1000 * number
        trace.annotation(name, start, 1000)
        for place, (operator_name, dims) in enumerate(operators or ()):
            add_operator(trace, operator_name, dims, start + 10 + 100 * place)
        if operators is None:
            trace.call("cudaGraphLaunch", start + 10, 5, correlation=7 + number)
            trace.gpu("kernel", "gemm", start + 100, 800, correlation_id=7 + number)
    return trace.fill("kernel_occupancy", "serving_bytes", step_range="^execute_")


PROMPT = "execute_context_1(sq9sk9)_generation_0(sq0sk0sqsq0sqsk0)"
DECODE = "execute_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk100sqsq2sqsk100)"
LAYER = [
    ("aten::mm", [[9, 3], [3, 5]]),
    ("_C_cache_ops::reshape_and_cache_flash", [[9, 2, 4], [9, 2, 4], [10, 2, 4], [10, 2, 4], [9]]),
]


def test_a_graph_reads_the_weights_that_steps_with_operators_read_and_the_cache_of_its_tokens():
    """30 bytes of weights; a token has 2 x 8 elements of 2 bytes in the cache, of 100 tokens 3,200."""
    trace = serve_steps((PROMPT, LAYER), (DECODE, None), (DECODE, None))
    assert trace.text("select step, weight_bytes, kv_bytes, token_bytes from serving_bytes") == "0 30 - 32"
    rows = trace.rows("select weight_bytes, kv_bytes, least_dur, reason from serving_roofline order by step")
    assert rows == [(30, 3200, 3230, None)] * 2


def test_a_paged_cache_is_read_as_it_is_written():
    rows = serve_steps((DECODE, LAYER)).rows("select weight_bytes, kv_bytes, reason from serving_roofline")
    assert rows == [(30, 3200, None)]
