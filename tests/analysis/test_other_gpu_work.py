"""Work of a GPU on another one: what is limited by memory, by arithmetic or by neither, and what libraries differ in."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceq.analysis.kernels.known_gpu import KnownGpu
from traceq.analysis.kernels.other_gpu import GpuPair, GpuWork, WorkRead, rescale_work
from traceq.analysis.kernels.signature_ceiling import PEAKS, CostedSignature
from traceq.common.factor_range import FactorRange

US = 1_000


def make_gpu(model="Old", *, maker="NVIDIA", bandwidth=1e12, bf16=100, fp32=20, host=32.0, peer=300.0):
    """A GPU of 100 multiprocessors, 1 TB/s and 100 TFLOP/s in BF16."""
    peaks = tuple({"bf16": bf16, "fp32": fp32}.get(name) for name in PEAKS)
    capability = "9.0" if maker == "NVIDIA" else None
    return KnownGpu(model, model, capability, 100, int(bandwidth), "PCIe", host, "NVLink", peer, peaks)


def make_work(dur, work="memory", **others):
    known = {
        "device": 0,
        "arithmetic": "bf16",
        "is_pageable": False,
        "tokens": None,
        "operator_id": None,
        "signature": None,
        "compute_type": None,
        "operator_dur": None,
        "transfer": None,
        "group_size": None,
    }
    return GpuWork(slice_id=1, dur=dur, work=work, **(known | others))


def rescale(pair, one, costs=(), exchanges=None):
    (found,) = rescale_work(pair, WorkRead([one], {cost.signature: cost for cost in costs}, {"bf16": 2}), exchanges)
    return found


FASTER = make_gpu("New", bandwidth=2e12, bf16=400, fp32=20, host=64.0, peer=900.0)
PAIR = GpuPair(make_gpu(), FASTER)


@pytest.mark.parametrize(
    ("work", "part", "ratio"),
    [
        ({"work": "memory"}, "memory", 1 / 2),
        # few rows of a product: its weights are read
        ({"work": "few_rows", "tokens": 16}, "memory", 1 / 2),
        # as many as would be worth computing: either
        ({"work": "few_rows", "tokens": 1_000}, "unknown", sqrt(1 / 2 * 1 / 4)),
        ({"work": "matrix"}, "unknown", sqrt(1 / 2 * 1 / 4)),
        ({"work": "unknown", "arithmetic": "fp32"}, "unknown", sqrt(1 / 2 * 1)),
        ({"work": "host_copy"}, "host_copy", 1 / 2),
        ({"work": "peer_copy"}, "peer_copy", 1 / 3),
    ],
)
def test_what_limits_a_slice_decides_about_all_but_its_start(work, part, ratio):
    found = rescale(PAIR, make_work(1_005 * US, **work))
    assert found.part == part
    assert found.then.likely == pytest.approx((5 + 1_000 * ratio) * US)
    assert found.then.low <= found.then.likely <= found.then.high


def test_libraries_of_one_maker_reach_what_was_published():
    found = rescale(PAIR, make_work(1_005 * US))
    assert found.then.low == pytest.approx(0.3 * US + 1_004.7 * US / 2 * 0.8 / 0.93)
    assert found.then.high == pytest.approx(5 * US + 1_000 * US / 2 * 0.93 / 0.8)


def test_short_kernels_keep_their_time():
    found = rescale(PAIR, make_work(4 * US))
    assert found == (
        1,
        "start",
        4 * US,
        FactorRange(pytest.approx(0.3 * US + 3.7 * US / 2 * 0.8 / 0.93), 4 * US, 4 * US),
    )


def test_kernels_of_another_maker_are_likely_as_far_off_as_its_libraries_are():
    pair = GpuPair(make_gpu(), make_gpu("Other", maker="AMD"))
    memory, matrix = (pair.limit_factor(limit, "bf16") for limit in ("memory", "matrix"))
    assert memory.likely == pytest.approx(sqrt(0.8 * 0.93 / (0.73 * 0.88)))
    assert (matrix.low, matrix.high) == (pytest.approx(0.65 / 0.65), pytest.approx(0.85 / 0.38))
    # what does not scale may take longer as well
    assert rescale(pair, make_work(4 * US)).then.high == pytest.approx(4 * US * 0.85 / 0.38)


def test_the_same_gpu_changes_nothing():
    pair = GpuPair(make_gpu(), make_gpu())
    for work in ("memory", "matrix", "unknown", "host_copy", "communication"):
        assert rescale(pair, make_work(1_005 * US, work)).then == pytest.approx((1_005 * US,) * 3)


def test_what_no_data_sheet_says_is_kept():
    pair = GpuPair(make_gpu(), make_gpu("New", bf16=None))
    found = rescale(pair, make_work(1_005 * US, "matrix"))
    assert (found.part, found.then) == ("kept", (1_005 * US,) * 3)


def test_arithmetic_that_a_gpu_lacks_is_done_in_another():
    assert GpuPair(make_gpu(), FASTER).limit_factor("matrix", "fp8").likely == pytest.approx(1 / 4)
    assert GpuPair(make_gpu(), FASTER).limit_factor("matrix", "tf32").likely == pytest.approx(1)


def test_pageable_copies_are_as_fast_as_the_host():
    found = rescale(PAIR, make_work(1_005 * US, "host_copy", is_pageable=True))
    assert found.then == pytest.approx(((5 + 1_000 / 2) * US, 1_005 * US, 1_005 * US))


def test_of_a_collective_only_the_transfer_changes():
    one = make_work(300 * US, "communication", transfer=90 * US, group_size=8)
    assert rescale(PAIR, one).then.likely == pytest.approx((210 + 90 / 3) * US)
    # sixteen are more than a board: a network joins them
    assert rescale(PAIR, one._replace(group_size=16)).then == pytest.approx((300 * US,) * 3)
    # among more ranks that factor holds
    assert rescale(PAIR, one, exchanges={1: FactorRange(1, 2, 3)}).then.likely == pytest.approx((210 + 90 * 2) * US)


def make_cost(m, n, k):
    sizes = (1, m, n, k)
    bytes_ = 2 * (m * k + k * n + m * n)
    return CostedSignature(
        7, "matmul", "matmul", "bf16", 2 * m * n * k, bytes_, None, *sizes, None, None, None, None, None
    )


@pytest.mark.parametrize(
    ("sizes", "part", "ratio"),
    [((8192, 8192, 8192), "matrix", 1 / 4), ((8, 8192, 8192), "memory", 1 / 2)],
)
def test_ceilings_of_the_operator_decide_where_they_are_known(sizes, part, ratio):
    one = make_work(20_005 * US, "matrix", signature=7, compute_type="bf16", operator_id=3, operator_dur=20_005 * US)
    found = rescale(PAIR, one, [make_cost(*sizes)])
    assert found.part == part
    assert found.then.likely == pytest.approx((5 + 20_000 * ratio) * US, rel=0.1)


def test_another_makers_kernel_need_not_be_as_far_from_its_ceiling():
    one = make_work(80_005 * US, "matrix", signature=7, compute_type="bf16", operator_id=3, operator_dur=80_005 * US)
    same, other = (
        rescale(GpuPair(make_gpu(), make_gpu("Other", maker=maker, bf16=99)), one, [make_cost(8192, 8192, 8192)])
        for maker in ("NVIDIA", "AMD")
    )
    # 1.1 TFLOP at 70 TFLOP/s are 15.7 ms
    assert same.then.low > 60_000 * US
    assert other.then.low == pytest.approx(15_700 * US, rel=0.1)


@given(
    st.floats(300, 1e9),
    st.sampled_from(["memory", "matrix", "unknown", "few_rows", "host_copy", "peer_copy"]),
    st.floats(1e11, 1e13),
    st.integers(10, 5_000),
    st.sampled_from(["NVIDIA", "AMD"]),
)
def test_bounds_hold_what_is_likely_and_a_faster_gpu_is_never_likely_slower(dur, work, bandwidth, peak, maker):
    then = make_gpu("New", maker=maker, bandwidth=bandwidth, bf16=peak)
    found = rescale(GpuPair(make_gpu(), then), make_work(dur, work, tokens=16)).then
    assert 0 < found.low <= found.likely * 1.000001
    assert found.likely <= found.high * 1.000001
    if maker == "NVIDIA" and bandwidth >= 1e12 and peak >= 100:
        assert found.likely <= dur * 1.000001
