"""Ceilings of operators: tiles and waves reckoned by hand, bounds that hold for every shape, columns of operator_cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_tables import add_device
from test_operator_cost import BF16, add_launch, add_operator, read_costs

from traceq.analysis.kernels.ceiling import (
    LEAST_START,
    STREAMED,
    SUSTAINED,
    TILES,
    USUAL_START,
    Gpu,
    Product,
    attention_work,
    causal_shares,
    convolution_work,
    find_ceiling,
    matmul_work,
    moving_work,
)

# 100 multiprocessors of 1 TFLOP/s, 1 TB/s, no cache: a tile of 128 x 128 takes 32.768 ns per element of k.
GPU = Gpu(100, 100e12, 1e12, 0)
SIZE = st.integers(1, 20_000)


def matmul(m, n, k, batch=1, bytes_=None, gpu=GPU):
    return find_ceiling(matmul_work(Product(batch, m, n, k), 0 if bytes_ is None else bytes_), gpu)


def test_a_last_wave_takes_as_long_as_a_full_one():
    full, more = matmul(1280, 1280, 8192), matmul(1280, 1280 + 128, 8192)
    assert (full.tile, full.waves, full.limit) == ((128, 128), 1, "peak")
    assert full.reachable == pytest.approx(2 * 128 * 128 * 8192 / (1e12 * SUSTAINED) * 1e9 + USUAL_START)
    assert full.filled == pytest.approx(full.reachable)
    # 110 tiles: the ten of the second wave may be cut smaller, but take longer than their share
    assert more.limit == "tiles"
    assert more.reachable > 1.1 * more.filled


def test_k_is_split_where_tiles_are_few():
    found = matmul(128, 128, 1 << 20)
    assert found.split > 1
    assert found.reachable < 2 * 128 * 128 * (1 << 20) / (1e12 * SUSTAINED) * 1e9


def test_few_rows_are_limited_by_bytes():
    m, n, k = 1, 8192, 8192
    bytes_ = 2 * (m * k + k * n + m * n)
    found = matmul(m, n, k, bytes_=bytes_)
    assert found.limit == "memory"
    assert found.reachable == pytest.approx(bytes_ / (1e12 * STREAMED) * 1e9 + USUAL_START)
    assert found.least == pytest.approx(bytes_ / 1e12 * 1e9)


def test_what_a_cache_holds_need_not_come_from_memory():
    held = GPU._replace(cache=1 << 30)
    assert matmul(1, 8192, 8192, bytes_=1 << 27, gpu=held).least == pytest.approx(2 * 8192 * 8192 / 100e12 * 1e9)
    assert find_ceiling(moving_work(3 << 30, 2 << 30), held).least == pytest.approx((1 << 30) / 1e12 * 1e9)


@given(m=SIZE, n=SIZE, k=SIZE, batch=st.integers(1, 64), bytes_=st.integers(0, 1 << 36))
def test_ceilings_are_in_order(m, n, k, batch, bytes_):
    found = matmul(m, n, k, batch, bytes_)
    assert found.least <= found.reachable
    assert found.filled <= found.reachable
    # no program beats the peak
    assert found.least >= 2 * batch * m * n * k / 100e12 * 1e9


@given(m=SIZE, n=SIZE, k=SIZE)
def test_the_best_tiles_are_the_best_of_all(m, n, k):
    """Whole tiles without a split, in plain integers."""
    plain = min(
        -(-(-(-m // rows) * -(-n // columns)) // 100)
        * 2
        * rows
        * columns
        * k
        / min(1, rows * columns / (rows + columns) / 64)
        for rows, columns in TILES
    )
    found = matmul(m, n, k)
    assert found.reachable <= plain / (1e12 * SUSTAINED) * 1e9 + USUAL_START + 1e-3 * plain


@given(queries=st.integers(1, 60), keys=st.integers(1, 60))
def test_a_causal_mask_leaves_the_pairs_that_it_leaves(queries, keys):
    from_first = sum(key <= query for query in range(queries) for key in range(keys))
    to_last = sum(key <= query + keys - queries for query in range(queries) for key in range(keys))
    assert causal_shares(queries, keys) == pytest.approx(
        (min(from_first, to_last) / (queries * keys), max(from_first, to_last) / (queries * keys))
    )


def test_a_causal_chunk_of_a_prompt_computes_nearly_all_pairs():
    """512 new tokens after 7,680 others: as many operations as without a mask, up to a thirtieth."""
    chunk = Product(32, 512, 256, 8192)
    reachable = [
        find_ceiling(
            attention_work(chunk, 0, group=1, is_causal=is_causal, backward=False, windowed=False), GPU
        ).reachable
        for is_causal in (True, False)
    ]
    assert reachable[0] == pytest.approx(reachable[1], rel=0.04)


def test_heads_that_share_keys_share_tiles():
    """One token each for 128 heads over the same keys: two tiles of 64, and not 128 tiles with a row each."""
    token = Product(64 * 128, 1, 1088, 8192)
    alone, shared = (
        find_ceiling(
            attention_work(token, 0, group=group, is_causal=False, backward=False, windowed=False), GPU
        ).reachable
        for group in (1, 128)
    )
    assert shared == pytest.approx(alone / 64, rel=0.25)


@pytest.mark.parametrize(
    ("is_causal", "windowed", "least"), [(False, False, 1), (True, False, 0.5), (None, False, 0.5), (None, True, 0)]
)
def test_attention_takes_at_the_least_what_its_mask_is_known_to_leave(is_causal, windowed, least):
    work = attention_work(
        Product(32, 4096, 256, 4096), 0, group=1, is_causal=is_causal, backward=False, windowed=windowed
    )
    found = find_ceiling(work, GPU)
    assert found.least == pytest.approx(max(LEAST_START, least * work.products[0].flop_count / 100e12 * 1e9), rel=1e-3)
    assert found.reachable > found.least


def test_filters_of_three_by_three_need_a_quarter_and_larger_ones_are_not_known():
    product = Product(1, 100_352, 128, 576)
    leasts = [find_ceiling(convolution_work(product, window, 0), GPU).least for window in (1, 9, 25)]
    assert leasts == pytest.approx([product.flop_count / 1e5, product.flop_count / 4e5, LEAST_START])


@pytest.mark.parametrize("gpu", [GPU._replace(peak=None), GPU._replace(bandwidth=None)])
def test_without_peak_or_bandwidth_nobody_can_tell(gpu):
    found = matmul(4096, 4096, 4096, bytes_=1 << 26, gpu=gpu)
    assert (found.reachable, found.filled, found.limit) == (None, None, "unknown")


def test_operators_have_their_ceilings(tables):
    add_device(tables, 0, name="NVIDIA A100-SXM4-80GB", compute_capability="8.0", sm_count=108)
    add_operator(tables, 1, "aten::mm", [[4096, 4096], [4096, 4096]], BF16)
    add_operator(tables, 2, "aten::mm", [[4096, 4096], [4096, 4096]], BF16)
    add_operator(tables, 3, "aten::relu", [[1 << 20, 512]], BF16)
    for slice_id in (1, 2, 3):
        add_launch(tables, 10 + slice_id, slice_id)
    product = find_ceiling(matmul_work(Product(1, 4096, 4096, 4096), 3 << 25), Gpu(108, 312e12, 2.039e12, 48 << 20))
    mm = (round(product.least), round(product.reachable), round(product.filled), "peak")
    relu = (round(((1 << 30) - (48 << 20)) / 2039), round((1 << 31) / (2039 * STREAMED) + USUAL_START))
    found = read_costs(tables, "ceiling_dur, reachable_dur, filled_dur, ceiling_limit")
    assert found == [mm, mm, (relu[0], relu[1], relu[1], "memory")]
