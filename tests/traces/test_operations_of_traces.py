"""Operations and MFU of real traces against a count from their raw JSON: PyTorch's formulas on recorded shapes.

The formulas are those of torch.utils.flop_counter, written once more for the operators that are innermost; a test compares both.
"""

from __future__ import annotations

import json
from collections import Counter
from math import prod

import pytest
from raw_chrome import load, to_nanoseconds
from trace_files import SHARED, mark_slow

# TFLOP/s, dense: data sheets of A100 SXM and H100 SXM. Kernels of type float in these traces use no tensor cores.
A100 = {"c10::Half": 312}
H100 = {"c10::BFloat16": 989.4, "float": 66.9}
# Trace -> peaks. Products; attention; products of two types; one convolution.
TRACES = {
    "traces/torch/megatron_tp8_rank0.json.gz": A100,
    "judged3/torch/tl_bert_small_h100.json.gz": H100,
    "judged3/torch/tracelens_h100_qwen.json.gz": H100,
    "judged/torch/tracelens_h100_timesformer.json.gz": H100,
}
EVERY_DAY = tuple(TRACES)[:2]
# Without marks of steps: operations only.
UNMARKED = ("traces/torch/tracelens_h100_owlv2.json.gz", "judged/torch/tracelens_sglang_prefilldecode.json.gz")

SUMS = "select kind, sum(flops)::bigint from operator_cost where flops > 0 group by kind order by kind"
MFU = """
select s.name, m.flops, m.mfu
from step_mfu as m
inner join step as s using (trace_id, step)
where s.excluded is null
order by s.step
"""

needs_traces = pytest.mark.skipif(not SHARED.exists(), reason="the folder shared is not beside the checkout")


def count_product(dims, _settings):
    """Return 2 b m k n of the last two operands, [b] x m x k and [b] x k x n."""
    left, right = [shape for shape in dims if len(shape) > 1][-2:]
    return 2 * prod(left) * right[-1]


def count_convolution(dims, settings):
    """Return 2 x positions of the output x filters x what each of them spans; forward, without transposition."""
    (batch, _, *image), (filters, channels, *window) = dims[:2]
    stride, padding, dilation = (json.loads(text) for text in settings[3:6])
    assert settings[6] == "False"
    output = [
        (size + 2 * pad - dilate * (width - 1) - 1) // step + 1
        for size, pad, dilate, width, step in zip(image, padding, dilation, window, stride, strict=True)
    ]
    return 2 * batch * prod(output) * filters * channels * prod(window)


def count_attention(dims, _settings):
    """Return the operations of queries x keys and of that x values, masks included."""
    (batch, heads, queries, width), (_, _, keys, _), (_, _, _, values) = dims[:3]
    return 2 * batch * heads * queries * keys * (width + values)


COUNTED = {
    **dict.fromkeys(("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm"), ("matmul", count_product)),
    "aten::convolution": ("convolution", count_convolution),
    "aten::_scaled_dot_product_flash_attention": ("attention", count_attention),
}


def count_operators(path):
    """Return (start in ns, kind, operations, type of the first operand with one) of every counted operator of a file."""
    return [
        (to_nanoseconds(event["ts"]), kind, count(args["Input Dims"], args["Concrete Inputs"]), args["Input type"][0])
        for event in load(path)["traceEvents"]
        if event.get("cat") == "cpu_op" and event["name"] in COUNTED
        for (kind, count), args in [(COUNTED[event["name"]], event["args"])]
    ]


def list_steps(events):
    """Return (name, start, end in ns) of every marked step: until the next one, the last until the GPU has done its work."""
    marks, done = [], 0
    for event in events:
        if "dur" not in event:
            continue
        start = to_nanoseconds(event["ts"])
        end = start + to_nanoseconds(event["dur"])
        if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#"):
            marks.append((start, end, event["name"]))
        elif event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            done = max(done, end)
    marks.sort()
    ends = [*(start for start, *_ in marks[1:]), max(done, marks[-1][1])]
    return [(name, start, end) for (start, _, name), end in zip(marks, ends, strict=True)]


@needs_traces
@pytest.mark.parametrize("name", mark_slow([*TRACES, *UNMARKED], EVERY_DAY))
def test_operations_are_those_of_the_recorded_shapes(databases, name):
    counted = Counter()
    for _, kind, flops, _ in count_operators(SHARED / name):
        counted[kind] += flops
    assert counted.total() > 1e9
    assert dict(databases(SHARED / name).execute(SUMS).fetchall()) == dict(counted)


@needs_traces
@pytest.mark.parametrize("name", mark_slow(TRACES, EVERY_DAY))
def test_mfu_is_operations_over_the_peak_and_the_step(databases, name):
    operators, peaks = count_operators(SHARED / name), TRACES[name]
    expected = []
    for step, start, end in list_steps(load(SHARED / name)["traceEvents"]):
        inside = [(flops, peaks[dtype]) for ts, _, flops, dtype in operators if start <= ts < end]
        at_peak = sum(flops / (peak * 1e12) for flops, peak in inside)
        expected.append((step, sum(flops for flops, _ in inside), at_peak / ((end - start) / 1e9)))
    assert expected
    found = databases(SHARED / name).execute(MFU).fetchall()
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in expected], rel=1e-9)


@pytest.mark.slow
def test_the_formulas_are_those_of_pytorch():
    flop_counter = pytest.importorskip("torch.utils.flop_counter")
    product, batched = [[7, 3], [3, 5]], [[2, 7, 3], [2, 3, 5]]
    assert count_product(product, []) == flop_counter.mm_flop(*product)
    assert count_product([[5], *product, [], []], []) == flop_counter.addmm_flop([5], *product)
    assert count_product(batched, []) == flop_counter.bmm_flop(*batched)
    assert count_product([[2, 7, 5], *batched, [], []], []) == flop_counter.baddbmm_flop([2, 7, 5], *batched)
    image, filters, output = [2, 6, 17, 19], [8, 3, 3, 5], [2, 8, 8, 9]
    settings = ["", "", "", "[2, 2]", "[1, 1]", "[2, 1]", "False"]
    assert count_convolution([image, filters], settings) == flop_counter.conv_flop_count(image, filters, output)
    attention = [[2, 4, 32, 16], [2, 4, 48, 16], [2, 4, 48, 24]]
    assert count_attention(attention, []) == flop_counter.sdpa_flop_count(*attention)
