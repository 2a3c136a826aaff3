"""What operators cost: formulas against literal values and PyTorch's own counter, and who of nested operators has the cost."""

from __future__ import annotations

import json

import pytest
from kernel_tables import add_device, add_kernel
from tables import insert_row

from traceq.analysis.order import AnalysisState, run

ANALYSES = (
    "kernel_family",
    "kernel_occupancy",
    "operator_shape",
    "operator_work",
    "kernel_operand",
    "signature_ceiling",
    "operator_cost",
)
FP32, BF16, NUMBER = "float", "c10::BFloat16", "Scalar"
UNTYPED = "untyped"  # a range of emit_nvtx
TENSOR_CORES, NO_TENSOR_CORES, MYSTERY = "nvjet_tst_1", "ampere_sgemm_128x64_tn", "mystery"


def add_operator(tables, slice_id, name, dims=None, types=None, settings=None, inside=None, ts=None):
    """Insert an operator with its recorded arguments; `types` is one for all tensors, a list, or UNTYPED."""
    if dims is not None:
        types = types if isinstance(types, list) else [types] * len(dims)
        recorded = {"Input Dims": dims} | ({} if UNTYPED in types else {"Input type": types})
        recorded |= {} if settings is None else {"Concrete Inputs": settings}
    args = None if dims is None else json.dumps(recorded)
    place = {"thread_id": 0, "ts": slice_id if ts is None else ts, "dur": 1, "operator_id": inside}
    insert_row(tables, "cpu_slice", slice_id=slice_id, kind="op", name=name, args=args, **place)


def add_launch(tables, slice_id, inside, name=TENSOR_CORES, dur=1000, **columns):
    """Insert a kernel with its launching call inside an operator; ids from 1000 on are free for calls."""
    place = {"thread_id": 0, "ts": slice_id, "dur": 1, "operator_id": inside}
    insert_row(tables, "cpu_slice", slice_id=1000 + slice_id, kind="runtime", name="cudaLaunchKernel", **place)
    add_kernel(tables, slice_id, name=name, ts=slice_id * 10_000, dur=dur, launch_id=1000 + slice_id, **columns)


def read_costs(tables, columns):
    run(tables, ANALYSES, AnalysisState(1))
    return tables.execute(f"select {columns} from operator_cost order by slice_id").fetchall()


LINEAR_BIAS = ["", "", "", "1", "1"]
SDPA = "aten::_scaled_dot_product_"
Q, K = [2, 4, 128, 64], [2, 4, 256, 64]
CONVOLUTION = ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]
TRANSPOSED = ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 1]", "1"]
BACKWARD = ["", "", "", "[8]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"]
WEIGHT_ONLY = [*BACKWARD[:-1], "[False, True, False]"]
# name, shapes, type, settings -> kind, flops, bytes; reckoned by hand
FORMULAS = [
    ("aten::mm", [[2, 3], [3, 5]], BF16, None, "matmul", 60, 2 * (6 + 15 + 10)),
    ("aten::mm", [[2, 3], [3, 5], [2, 5]], BF16, None, "matmul", 60, 2 * (6 + 15 + 10)),
    ("aten::addmm", [[5], [2, 3], [3, 5], [], []], [FP32] * 3 + [NUMBER] * 2, LINEAR_BIAS, "matmul", 60, 4 * (5 + 31)),
    ("aten::bmm", [[7, 2, 3], [7, 3, 5]], FP32, None, "matmul", 420, 4 * 7 * 31),
    (
        "aten::baddbmm",
        [[7, 2, 5], [7, 2, 3], [7, 3, 5], [], []],
        [FP32] * 3 + [NUMBER] * 2,
        ["", "", "", "0.", "0.125"],
        "matmul",
        420,
        4 * 7 * 31,
    ),
    ("aten::matmul", [[7, 1, 2, 3], [4, 3, 5]], FP32, None, "matmul", 28 * 60, 4 * (42 + 60 + 280)),
    ("aten::matmul", [[3], [3, 5]], FP32, None, "matmul", 30, 4 * (3 + 15 + 5)),
    ("aten::mv", [[2, 3], [3]], FP32, None, "matmul", 12, 4 * (6 + 3 + 2)),
    ("aten::linear", [[7, 2, 3], [5, 3], [5]], FP32, None, "matmul", 420, 4 * (42 + 15 + 70)),
    ("aten::_scaled_mm", [[2, 3], [3, 5], [], []], ["c10::Float8_e4m3fn"] * 2 + [FP32] * 2, None, "matmul", 60, None),
    # 3x3 over 8x8 with stride 2: 4x4
    (
        "aten::convolution",
        [[2, 3, 8, 8], [5, 3, 3, 3]] + [[]] * 7,
        [FP32, FP32] + [""] * 7,
        CONVOLUTION,
        "convolution",
        2 * 2 * 16 * 135,
        4 * (384 + 135 + 160),
    ),
    # and back again
    (
        "aten::_convolution",
        [[2, 5, 4, 4], [5, 3, 3, 3]] + [[]] * 11,
        [FP32, FP32] + [""] * 11,
        [*TRANSPOSED, "False", "False", "True", "True"],
        "convolution",
        2 * 2 * 16 * 135,
        4 * (160 + 135 + 384),
    ),
    (
        "aten::convolution_backward",
        [[2, 5, 4, 4], [2, 3, 8, 8], [5, 3, 3, 3]] + [[]] * 8,
        [FP32] * 3 + [""] * 8,
        BACKWARD,
        "convolution",
        2 * 2 * 2 * 16 * 135,
        4 * (160 + 2 * (384 + 135)),
    ),
    (
        "aten::convolution_backward",
        [[2, 5, 4, 4], [2, 3, 8, 8], [5, 3, 3, 3]] + [[]] * 8,
        [FP32] * 3 + [""] * 8,
        WEIGHT_ONLY,
        "convolution",
        2 * 2 * 16 * 135,
        4 * (160 + 384 + 135),
    ),
    (
        f"{SDPA}flash_attention",
        [Q, K, K],
        BF16,
        None,
        "attention",
        2 * 8 * 128 * 256 * 128,
        2 * (2 * 65536 + 2 * 131072),
    ),
    (
        f"{SDPA}efficient_attention_backward",
        [Q, Q, K, K],
        BF16,
        None,
        "attention",
        2 * 8 * 128 * 256 * 320,
        4 * 6 * 65536,
    ),
    (
        "flash_attn::_flash_attn_forward",
        [[2, 128, 4, 64]] * 3,
        BF16,
        None,
        "attention",
        2 * 8 * 128**2 * 128,
        2 * 4 * 65536,
    ),
    ("aten::add", [[4, 1], [3], []], [FP32, FP32, NUMBER], None, "elementwise", None, 4 * (4 + 3 + 12)),
    ("aten::mul_", [[4, 3], []], [FP32, "double"], None, "elementwise", None, 4 * 24 + 8),
    ("aten::copy_", [[4, 3], [4, 3], []], [BF16, FP32, NUMBER], None, "elementwise", None, 12 * 6),
    ("aten::fill_", [[4, 3], []], [BF16, NUMBER], None, "elementwise", None, 24),
    ("aten::native_layer_norm", [[4, 3], [], [3], [3], []], [FP32, "", FP32, FP32, NUMBER], None, "norm", None, 4 * 30),
    ("aten::add", [[4, 3], [4, 3], []], ["c10::Half", FP32, NUMBER], None, "elementwise", None, 12 * (2 + 4 + 4)),
    ("aten::add", [[4, 3], [4, 3]], ["c10::Half", BF16], None, "elementwise", None, 12 * (2 + 2 + 4)),
    ("aten::add", [[4, 3], []], ["c10::Half", "double"], None, "elementwise", None, 12 * (2 + 2) + 8),
    ("aten::add", [[4, 3], [4, 3]], ["long int", "c10::Half"], None, "elementwise", None, 12 * (8 + 2 + 2)),
    ("aten::add_", [[4, 3], [4, 3]], ["c10::Half", FP32], None, "elementwise", None, 12 * (2 + 4 + 2)),
    ("aten::add", [[0, 3], [1, 3]], FP32, None, "elementwise", None, 4 * 3),
    ("aten::matmul", [[0, 2, 3], [1, 3, 5]], FP32, None, "matmul", 0, 4 * 15),
    ("aten::cudnn_batch_norm", [[2, 3, 4, 4], [3], [3]], FP32, None, "norm", None, 4 * (192 + 6)),
]


def test_formulas(tables):
    for slice_id, (name, dims, types, settings, *_) in enumerate(FORMULAS):
        add_operator(tables, slice_id, name, dims, types, settings)
    rows = read_costs(tables, "slice_id, kind, flops, bytes")
    expected = [(slice_id, *case[-3:]) for slice_id, case in enumerate(FORMULAS)]
    assert [(FORMULAS[row[0]][0], *row) for row in rows] == [(FORMULAS[row[0]][0], *row) for row in expected]


@pytest.mark.parametrize(
    ("name", "dims", "types", "settings"),
    [
        ("aten::mm", None, None, None),
        ("aten::mm", [[2, 3], [4, 5]], FP32, None),
        ("aten::mm", [[2, 3], [3, 5]], "c10::complex<float>", None),
        ("aten::mm", [[2, 3]], FP32, None),
        ("aten::mm", [[[2, 3], [3, 5]], []], ["TensorList", ""], None),
        ("aten::convolution", [[2, 3, 8, 8], [5, 3, 3, 3]] + [[]] * 7, FP32, None),
        ("aten::convolution_backward", [[2, 5, 4, 4], [2, 3, 8, 8], [5, 3, 3, 3]] + [[]] * 8, FP32, None),
        (f"{SDPA}flash_attention", [[100, 4, 64]] * 3, BF16, None),
        ("aten::my_own_mm", [[2, 3], [3, 5]], FP32, None),
        ("aten::mm", "oops", "oops", None),
        ("aten::mm", [[2, "a"], [3, 5]], FP32, None),
        ("aten::mm", [[1 << 40, 1 << 40], [1 << 40, 1 << 40]], FP32, None),
        ("aten::add", [[1 << 62], [1 << 62]], FP32, None),
        ("aten::_softmax", [[-5, 3]], FP32, None),
        ("aten::add", [[8], [8]], [FP32, "c10::complex<float>"], None),
        ("aten::add", [[8], [[2], [3]]], [FP32, "TensorList"], None),
        ("aten::mul", [[8], []], ["long int", "double"], None),
        ("aten::mm", [["2", "3"], ["3", "5"]], FP32, None),
        ("aten::mm", [[2.5, 3], [3, 5]], FP32, None),
        ("aten::mm", ["[2, 3]", "[3, 5]"], FP32, None),
        (
            "aten::convolution",
            [[2, 3, 1, 1], [5, 3, 4, 4]] + [[]] * 7,
            FP32,
            [*CONVOLUTION[:4], "[0, 0]", *CONVOLUTION[5:]],
        ),
        ("aten::convolution", [[2, 3, 8, 8], [5, 3, 3, 3]] + [[]] * 7, FP32, ["", "", "", "[0, 0]", *CONVOLUTION[4:]]),
        ("aten::convolution", [[2, 3, 8, 8], [5, 3, 3, 3]] + [[]] * 7, FP32, ["", "", "", "[]", *CONVOLUTION[4:]]),
    ],
    ids=[
        "no shapes",
        "shapes do not meet",
        "complex",
        "cut",
        "lists",
        "settings not recorded",
        "settings not recorded, backward",
        "packed",
        "not known",
        "no list",
        "no number",
        "too large",
        "too many bytes",
        "negative",
        "a type not known",
        "tensors not known",
        "number or tensor",
        "texts",
        "halves",
        "text",
        "negative output",
        "stride of nothing",
        "no stride",
    ],
)
def test_what_cannot_be_told_has_no_row(tables, name, dims, types, settings):
    add_operator(tables, 0, name, dims, types, settings)
    assert read_costs(tables, "*") == []


H100 = "NVIDIA H100 80GB HBM3"
AMPERE_HALF, AMPERE_TF32 = (
    "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_tn",
    "cutlass_80_tensorop_s1688gemm_128x128_align4",
)
FLASH = (
    "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t> >(int)"
)
FP8 = "nvjet_qqtst_128x256_128x4_2x1_v_bz_TNT"


@pytest.mark.parametrize(
    ("name", "dims", "kernel_name", "expected"),
    [
        ("aten::mm", [[2, 3], [3, 5]], TENSOR_CORES, ("bf16", 60, 2 * 31, "bf16")),
        ("aten::addmm", [[5], [2, 3], [3, 5], [], []], AMPERE_HALF, ("fp16", 60, 2 * 36, "fp16")),
        ("aten::linear", [[7, 2, 3], [5, 3], [5]], NO_TENSOR_CORES, ("fp32", 420, 4 * 127, "fp32")),
        ("aten::mm", [[2, 3], [3, 5]], AMPERE_TF32, ("fp32", 60, 4 * 31, "tf32")),
        (f"{SDPA}flash_attention", [Q, K, K], FLASH, ("bf16", 2 * 8 * 128 * 256 * 128, 2 * 6 * 65536, "bf16")),
        ("aten::mm", [[2, 3], [3, 5]], FP8, (None, 60, None, None)),
        ("aten::mm", [[2, 3], [3, 5]], MYSTERY, (None, 60, None, None)),
        # whether it is added is a setting, which is not recorded
        ("aten::baddbmm", [[7, 2, 5], [7, 2, 3], [7, 3, 5], [], []], AMPERE_HALF, ("fp16", 420, None, "fp16")),
    ],
)
def test_without_types_kernels_tell_those_of_products(tables, name, dims, kernel_name, expected):
    add_device(tables, 0, "9.0", name=H100)
    add_operator(tables, 0, name, dims, UNTYPED)
    add_launch(tables, 10, 0, name=kernel_name)
    assert read_costs(tables, "dtype, flops, bytes, compute_type") == [expected]


def test_without_types_kernels_of_several_tell_nothing(tables):
    add_operator(tables, 0, "aten::mm", [[2, 3], [3, 5]], UNTYPED)
    add_launch(tables, 10, 0, name=TENSOR_CORES)
    add_launch(tables, 11, 0, name=AMPERE_HALF)
    assert read_costs(tables, "dtype, flops, bytes") == [(None, 60, None)]


def test_without_types_elementwise_operators_keep_their_kernels_and_have_no_row(tables):
    add_operator(tables, 0, "aten::mm", [[2, 3], [3, 5]], UNTYPED)
    add_operator(tables, 1, "aten::copy_", [[2, 3], [2, 3], []], UNTYPED, inside=0)
    add_launch(tables, 10, 0, dur=1000)
    add_launch(tables, 11, 1, dur=500)
    assert read_costs(tables, "slice_id, kernels, gpu_dur") == [(0, 1, 1000)]


MM = ("aten::mm", [[1024, 1024], [1024, 1024]], BF16)


def test_kernels_belong_to_the_innermost_operator_with_a_cost(tables):
    add_device(tables, 0, "9.0", name=H100)
    add_operator(tables, 0, "aten::linear", [[8, 4], [2, 4]], BF16)
    add_operator(tables, 1, "aten::t", inside=0)
    add_operator(tables, 2, "aten::addmm", [[2], [8, 4], [4, 2]], BF16, inside=0)
    add_operator(tables, 3, "mine::helper", inside=2)
    add_operator(tables, 4, "aten::copy_", [[2], [2]], BF16, inside=3)
    for slice_id, inside in ((10, 2), (11, 3), (12, 4), (13, 0)):
        add_launch(tables, slice_id, inside, dur=slice_id)
    # 13, in the outer operator only, is nobody's: what linear computes is counted once, with addmm
    assert read_costs(tables, "slice_id, kind, kernels, gpu_dur") == [(2, "matmul", 2, 21), (4, "elementwise", 1, 12)]


def test_bytes_around_bytes_are_those_inside_and_bytes_inside_products_take_nothing_from_them(tables):
    add_operator(tables, 0, "aten::add", [[8], [8]], FP32)
    add_operator(tables, 1, "aten::copy_", [[8], [8]], FP32, inside=0)
    add_operator(tables, 2, "aten::bmm", [[1, 2, 3], [1, 3, 5]], FP32)
    add_operator(tables, 3, "aten::fill_", [[8], []], [FP32, NUMBER], inside=2)
    assert read_costs(tables, "slice_id") == [(1,), (2,), (3,)]


def test_rates_and_the_roofline(tables):
    add_device(tables, 0, "9.0", name=H100)
    add_operator(tables, 0, *MM)
    add_launch(tables, 10, 0, dur=10_000)
    add_operator(tables, 1, "aten::mm", [[1024, 16], [16, 1024]], BF16)
    add_launch(tables, 11, 1, dur=10_000)
    rows = read_costs(tables, "peak, achieved, intensity, ridge, bound")
    ridge = pytest.approx(989.4e12 / 3352e9)
    assert rows == [
        (
            989.4,
            pytest.approx(2 * 1024**3 / 10_000 / 1000),
            pytest.approx(2 * 1024**3 / (6 * 1024**2)),
            ridge,
            "compute",
        ),
        (989.4, pytest.approx(2 * 16 * 1024**2 / 10_000 / 1000), pytest.approx(15.52, abs=0.01), ridge, "memory"),
    ]


@pytest.mark.parametrize(
    ("kernels", "dtype", "compute_type", "peak"),
    [
        ([TENSOR_CORES], FP32, "tf32", 494.7),
        ([TENSOR_CORES, "splitKreduce_kernel"], FP32, "tf32", 494.7),
        ([NO_TENSOR_CORES], FP32, "fp32", 66.9),
        ([MYSTERY], FP32, None, None),
        ([NO_TENSOR_CORES, MYSTERY], FP32, None, None),
        ([MYSTERY], "double", None, None),
        (["cutlass_80_tensorop_d884gemm_64x64"], "double", "fp64_tensor", 66.9),
        ([MYSTERY], BF16, "bf16", 989.4),
        ([MYSTERY], "int", "int32", None),
    ],
)
def test_the_peak_of_single_precision_depends_on_what_kernels_are_named(tables, kernels, dtype, compute_type, peak):
    add_device(tables, 0, "9.0", name=H100)
    add_operator(tables, 0, "aten::mm", [[8, 8], [8, 8]], dtype)
    for number, name in enumerate(kernels):
        add_launch(tables, 10 + number, 0, name=name)
    assert read_costs(tables, "compute_type, peak") == [(compute_type, peak)]


@pytest.mark.parametrize(
    "columns",
    [{}, {"capability": "9.0"}, {"name": "NVIDIA GTX 9999"}, {"name": "AMD Radeon Graphics", "warp_size": 64}],
)
def test_on_a_gpu_that_is_not_known_nothing_is_said_of_peaks(tables, columns):
    add_device(tables, 0, **columns)
    add_operator(tables, 0, *MM)
    add_launch(tables, 10, 0)
    rows = read_costs(tables, "gpu_dur, peak, ridge, bound, achieved is not null")
    assert rows == [(1000, None, None, "unknown", True)]


def test_single_precision_on_matrix_cores_of_amd_is_no_tf32(tables):
    add_device(tables, 0, "9.4", name="AMD Instinct MI300X", warp_size=64)
    add_operator(tables, 0, "aten::mm", [[8, 8], [8, 8]], FP32)
    add_launch(tables, 10, 0, name="Cijk_Alik_Bljk_SB_MT64x64x16_MI16x16x1_SN")
    assert read_costs(tables, "compute_type, peak, bound") == [(None, None, "unknown")]


def test_without_a_gpu_operators_have_operations_and_no_rates(tables):
    insert_row(tables, "step", step=0, name="s", source="annotation", ts=0, dur=100)
    add_operator(tables, 5, *MM)
    add_operator(tables, 6, *MM, ts=500)
    rows = read_costs(tables, "step, device, flops, kernels, gpu_dur, achieved, bound")
    assert rows == [
        (0, None, 2 * 1024**3, 0, None, None, "unknown"),
        (None, None, 2 * 1024**3, 0, None, None, "unknown"),
    ]
    assert tables.execute("from step_mfu").fetchall() == []


def test_utilization_of_a_step_mixes_types_by_the_time_they_need_at_their_peaks(tables):
    add_device(tables, 0, "9.0", name=H100)
    insert_row(tables, "step", step=0, name="s", source="annotation", ts=0, dur=10_000)
    add_operator(tables, 0, *MM)
    add_operator(tables, 1, MM[0], MM[1], FP32)
    add_launch(tables, 10, 0, step=0, dur=3000)
    add_launch(tables, 11, 1, step=0, dur=5000)
    read_costs(tables, "*")
    seconds = 2 * 1024**3 / 989.4e12 + 2 * 1024**3 / 494.7e12
    rows = tables.execute("select flops, share_with_peak, gpu_dur, mfu, kernel_efficiency from step_mfu").fetchall()
    assert rows == [(4 * 1024**3, 1, 8000, pytest.approx(seconds / 10e-6), pytest.approx(seconds / 8e-6))]


def test_utilization_is_unknown_where_one_peak_is(tables):
    add_device(tables, 0, "9.0", name=H100)
    insert_row(tables, "step", step=0, name="s", source="annotation", ts=0, dur=10_000)
    add_operator(tables, 0, *MM)
    add_operator(tables, 1, MM[0], MM[1], FP32)
    add_launch(tables, 10, 0, step=0)
    add_launch(tables, 11, 1, step=0, name=MYSTERY)
    read_costs(tables, "*")
    assert tables.execute("select share_with_peak, mfu, kernel_efficiency from step_mfu").fetchall() == [
        (0.5, None, None)
    ]


BARE_CONVOLUTION = ("aten::convolution", [[2, 3, 8, 8], [5, 3, 3, 3]] + [[]] * 7, [BF16, BF16] + [""] * 7)


def test_utilization_is_unknown_where_operations_of_a_convolution_are(tables):
    add_device(tables, 0, "9.0", name=H100)
    insert_row(tables, "step", step=0, name="s", source="annotation", ts=0, dur=10_000)
    add_operator(tables, 0, *MM)
    add_operator(tables, 1, *BARE_CONVOLUTION)
    add_operator(tables, 2, "aten::cudnn_convolution", inside=1)
    add_launch(tables, 10, 0, step=0, dur=3000)
    add_launch(tables, 11, 2, step=0, dur=5000)
    assert read_costs(tables, "slice_id, kind, flops, gpu_dur") == [
        (0, "matmul", 2 * 1024**3, 3000),
        (2, "convolution", None, 5000),
    ]
    rows = tables.execute("select flops, gpu_dur, unknown_dur, mfu, kernel_efficiency from step_mfu").fetchall()
    efficiency = pytest.approx(2 * 1024**3 / 989.4e12 / 3e-6)
    assert rows == [(2 * 1024**3, 3000, 5000, None, efficiency)]


def test_a_product_that_is_only_around_one_with_known_operations_is_not_unknown(tables):
    add_operator(tables, 0, "aten::matmul")
    add_operator(tables, 1, *MM, inside=0)
    add_operator(tables, 2, "mine::helper", inside=0)
    add_launch(tables, 10, 1)
    add_launch(tables, 11, 2)
    assert read_costs(tables, "slice_id, kernels") == [(1, 1)]


def test_an_operator_with_kernels_on_two_devices_is_on_neither(tables):
    insert_row(tables, "step", step=0, name="s", source="annotation", ts=0, dur=1000)
    add_operator(tables, 0, *MM)
    add_launch(tables, 10, 0, step=0, dur=900)
    add_launch(tables, 11, 0, step=0, dur=900, on=1)
    assert read_costs(tables, "device, kernels, peak") == [(None, 2, None)]
    assert tables.execute("from step_mfu").fetchall() == []


def test_kernels_of_a_graph_are_of_the_operators_that_its_capture_tells(tables):
    """Around the launch of the graph stands an operator as well, which has none of them; those without a capture are its."""
    add_device(tables, 0)
    dims = {"Input Dims": [[2, 3], [3, 5]], "Input type": [BF16, BF16]}
    add_operator(tables, 1, "aten::mm", [[7, 7], [7, 7]], BF16)
    add_launch(tables, 20, 1)
    add_launch(tables, 21, 1, dur=500)
    place = {"launch_id": 1020, "ts": 20}
    insert_row(tables, "graph_operator", slice_id=5001, name="aten::linear", args=json.dumps(dims), **place)
    insert_row(
        tables, "graph_operator", slice_id=5000, name="aten::mm", args=json.dumps(dims), operator_id=5001, **place
    )
    insert_row(tables, "graph_kernel", slice_id=20, launch_id=1020, operator_id=5000, operator="aten::mm")
    assert read_costs(tables, "slice_id, flops, kernels, gpu_dur") == [(1, 686, 1, 500), (5000, 60, 1, 1000)]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("vllm::moe_forward", "experts"),
        ("vllm::outplace_fused_experts", "experts"),
        ("vllm::unified_attention_with_output", "attention"),
    ],
)
def test_what_servers_run_as_one_operator_has_no_known_operations(tables, name, kind):
    """A product beside it has: the operations of the step are at least those."""
    add_device(tables, 0)
    add_operator(tables, 1, "aten::mm", [[2, 3], [3, 5]], BF16)
    add_operator(tables, 2, name, [[32, 3072], [32, 32]], BF16)
    add_launch(tables, 20, 1, step=0)
    add_launch(tables, 21, 2, step=0, dur=500)
    insert_row(tables, "step", step=0, name="decode", ts=0, dur=10_000_000, source="annotation")
    assert read_costs(tables, "slice_id, kind, flops, gpu_dur") == [(1, "matmul", 60, 1000), (2, kind, None, 500)]
    assert tables.execute("select unknown_dur, mfu from step_mfu").fetchall() == [(500, None)]
