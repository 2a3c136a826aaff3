"""traceq.estimate: operations and bytes against PyTorch's own counter and plain arithmetic, and what is refused."""

from __future__ import annotations

import json
from math import prod

import pytest
from click.testing import CliRunner

import traceq
from traceq.cli import main
from traceq.errors import WrongUse


def estimate(text, gpu="H100 SXM", **choices):
    return traceq.estimate(*text.split(), gpu=gpu, **choices).content


def nbytes(*shapes, size=2):
    return sum(prod(shape) for shape in shapes) * size


# operator -> operations, bytes
COUNTED = {
    "matmul 64x96x128": (2 * 64 * 96 * 128, nbytes((64, 128), (128, 96), (64, 96))),
    "matmul 3x64x96x128": (3 * 2 * 64 * 96 * 128, 3 * nbytes((64, 128), (128, 96), (64, 96))),
    "matmul 4x64x128 128x96": (4 * 2 * 64 * 96 * 128, nbytes((4 * 64, 128), (128, 96), (4 * 64, 96))),
    "linear 16x4096 4096x11008": (2 * 16 * 4096 * 11008, nbytes((16, 4096), (4096, 11008), (16, 11008))),
    "linear 16x4096 11008x4096": (2 * 16 * 4096 * 11008, nbytes((16, 4096), (4096, 11008), (16, 11008))),
    "attention b=2,h=8,hk=2,s=256,d=64": (
        2 * 2 * 8 * 256 * 256 * 128,
        nbytes(*[(2, 8, 256, 64)] * 2, *[(2, 2, 256, 64)] * 2),
    ),
    "attention b=2,h=8,q=1,s=256,d=64": (2 * 2 * 8 * 256 * 128, nbytes(*[(2, 8, 1, 64)] * 2, *[(2, 8, 256, 64)] * 2)),
    "conv 4x6x17x19 8x6x3x3 stride=2,padding=1": (
        2 * 4 * 8 * 9 * 10 * 6 * 9,
        nbytes((4, 6, 17, 19), (8, 6, 3, 3), (4, 8, 9, 10)),
    ),
    "norm 512x1024": (0, nbytes(*[(512, 1024)] * 2)),
    "elementwise 512x1024 1x1024": (0, nbytes((512, 1024), (1, 1024), (512, 1024))),
    "embedding 50257x768 1024": (0, nbytes(*[(1024, 768)] * 2) + 8 * 1024),
    "optimizer adam 1e6": (0, 7 * 2 * 10**6),
}


@pytest.mark.parametrize("text", COUNTED)
def test_operations_and_bytes_are_those_of_plain_arithmetic(text):
    found = estimate(text)
    assert (found.flops, found.bytes) == COUNTED[text]
    assert found.least_ns <= found.reachable_ns
    assert found.filled_ns <= found.reachable_ns


@pytest.mark.slow
def test_operations_are_those_that_pytorch_counts():
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

    functional = torch.nn.functional
    shapes = {
        "matmul 64x96x128": (torch.matmul, [(64, 128), (128, 96)]),
        "matmul 3x64x96x128": (torch.bmm, [(3, 64, 128), (3, 128, 96)]),
        "linear 5x7x128 128x96": (functional.linear, [(5, 7, 128), (96, 128)]),
        "conv 2x6x17x19 8x6x3x3 stride=2,padding=1": (
            lambda x, w: functional.conv2d(x, w, stride=2, padding=1),
            [(2, 6, 17, 19), (8, 6, 3, 3)],
        ),
    }
    for text, (function, operands) in shapes.items():
        tensors = [torch.rand(*shape, requires_grad=True) for shape in operands]
        with FlopCounterMode(display=False) as forward:
            output = function(*tensors)
        with FlopCounterMode(display=False) as backward:
            output.sum().backward()
        counted = (forward.get_total_flops(), backward.get_total_flops())
        assert (text, estimate(text).flops, estimate(text, backward=True).flops) == (text, *counted)
    # the counter itself leaves out attention on the CPU
    query, key = (2, 4, 32, 16), (2, 4, 48, 16)
    text = "attention b=2,h=4,q=32,s=48,d=16"
    assert estimate(text).flops == sdpa_flop_count(query, key, key)
    assert estimate(text, backward=True).flops == sdpa_backward_flop_count(query, query, key, key)


def test_the_bound_follows_from_intensity_and_ridge():
    large, decode = estimate("matmul 8192x8192x8192"), estimate("linear 16x4096 4096x11008")
    assert (large.bound, decode.bound) == ("compute", "memory")
    assert large.ridge == pytest.approx(989.4e12 / 3.352e12)
    # at the peak: 1.1 PFLOP in 1.11 ms
    assert large.least_ns == pytest.approx(large.flops / 989.4e12 * 1e9, abs=1)
    assert decode.reachable_ns == pytest.approx(decode.bytes / (0.8 * 3.352e12) * 1e9 + 5000, abs=1)


def test_a_causal_mask_halves_the_time_and_not_what_is_counted():
    full, causal = (estimate("attention h=32,s=4096,d=128", causal=causal) for causal in (False, True))
    assert causal.flops == full.flops
    assert causal.computed_share == pytest.approx(0.5, abs=1e-3)
    assert causal.least_ns == pytest.approx(full.least_ns / 2, rel=1e-3)


def test_a_ring_sends_what_nccl_tests_count():
    found = estimate("all_reduce 1GiB", ranks=8)
    assert (found.bound, found.link, found.bytes) == ("link", "NVLink 4", 2 * 7 * (1 << 30) // 8)
    assert found.reachable_ns == pytest.approx(found.bytes / (0.8 * 450) + 5000, abs=1)
    # switches add up on the way: what a rank receives
    assert found.least_ns == pytest.approx((1 << 30) / 450 + 300, abs=1)
    unknown = estimate("all_reduce 1GiB", ranks=16)
    assert (unknown.least_ns, unknown.reachable_ns) == (None, None)
    assert estimate("all_reduce 1GiB", ranks=16, link=50).reachable_ns > found.reachable_ns


@pytest.mark.parametrize(
    ("name", "model", "others"),
    [
        ("H100", "H100 SXM", ("H100 PCIe", "H100 NVL")),
        ("h100-pcie", "H100 PCIe", ()),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM 80GB", ()),
        ("a100 40gb", "A100 SXM 40GB", ("A100 PCIe 40GB",)),
        ("rtx 4090", "GeForce RTX 4090", ()),
        ("MI300X", "MI300X", ()),
    ],
)
def test_gpus_have_the_names_that_people_give_them(name, model, others):
    found = estimate("norm 8x8", gpu=name)
    assert (found.gpu, set(found.gpu_might_be)) == (model, set(others))


@pytest.mark.parametrize(
    ("text", "choices", "words"),
    [
        ("matmull 2x2x2", {}, "did you mean matmul"),
        ("matmul 2x2", {}, "one shape is m x n x k"),
        ("matmul 2x3 4x5", {}, "as many rows as the first has columns"),
        ("matmul 2xax3", {}, "'2xax3' is not a shape"),
        ("linear 4x5 6x7", {}, "one of which is the last of the input"),
        ("attention b=1,h=2", {}, "s, d is missing"),
        ("attention h=3,hk=2,s=8,d=8", {}, "cannot share"),
        ("conv 1x3x8x8 4x3x9x9", {}, "larger than the input"),
        ("optimizer adamm 7e9", {}, "one of adam"),
        ("all_reduce 1GiB", {}, "--ranks N is missing"),
        ("norm 8x8", {"ranks": 8}, "are for collectives"),
        ("norm 8x8", {"causal": True}, "is for attention"),
        ("elementwise 8x8", {"backward": True}, "no formula for the backward pass"),
        ("elementwise 16x8 8x16", {}, "must be that of the others or 1"),
        ("elementwise 2x8 8 3x1", {}, "must be that of the others or 1"),
        ("norm 8x8", {"dtype": "bf17"}, "known are fp64"),
        ("norm 8x8", {"gpu": "H10"}, "did you mean H20"),
        ("norm 8x8", {"gpu": "?"}, "known are V100"),
    ],
)
def test_a_refusal_says_the_way_out(text, choices, words):
    with pytest.raises(WrongUse, match="(?s)" + words.replace("?", r"\?")):
        estimate(text, **choices)


def test_the_command_prints_what_the_function_returns():
    arguments = ["estimate", "matmul", "1024x1024x1024", "--gpu", "H100", "--format"]
    text, page = (CliRunner().invoke(main, [*arguments, form]) for form in ("text", "json"))
    content = estimate("matmul 1024x1024x1024")
    assert json.loads(page.stdout)["reachable_ns"] == content.reachable_ns
    assert "Arithmetic is the limit on H100 SXM: 2.170 µs at the least" in text.stdout
    assert "In a shape that fills tiles and waves" in text.stdout
    unknown = CliRunner().invoke(main, ["estimate", "matmul", "2x2x2", "--gpu", "V100"])
    assert "its maker publishes no peak in bf16; --dtype has others" in " ".join(unknown.stdout.split())
    assert CliRunner().invoke(main, ["estimate", "matmul", "2x2", "--gpu", "H100"]).exit_code == 2
