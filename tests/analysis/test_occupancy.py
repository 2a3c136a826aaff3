"""What fits on a multiprocessor, against literal values and a second reckoning by the rules of NVIDIA's occupancy calculator."""

from __future__ import annotations

import math

import pytest
from kernel_tables import add_device, add_kernel, analyse_kernels

# Compute capability -> threads, blocks, shared memory per multiprocessor (CUDA C++ Programming Guide, technical
# specifications per compute capability), shared memory that the system takes per block, unit of shared memory.
LIMITS = {
    "7.0": (2048, 32, 98304, 0, 256),
    "7.5": (1024, 16, 65536, 0, 256),
    "8.0": (2048, 32, 167936, 1024, 128),
    "8.6": (1536, 16, 102400, 1024, 128),
    "8.9": (1536, 24, 102400, 1024, 128),
    "9.0": (2048, 32, 233472, 1024, 128),
    "10.0": (2048, 32, 233472, 1024, 128),
    "12.0": (1536, 24, 102400, 1024, 128),
}
REGISTERS = 65536

# (compute capability, threads, registers, shared memory) -> resident blocks, limiter, reason. Every line was compared with
# cuda_occupancy.h of CUDA 13.0, which the CUDA Toolkit ships as its occupancy calculator. Where several limits allow the
# same, the first of warps, blocks, registers, shared_memory is named.
CASES = [
    ("7.0", 256, 32, 0, 8, "warps", "64 warps / 8; registers allow 8 as well"),
    ("7.0", 32, 16, 0, 32, "blocks", "32 blocks, though 64 warps fit"),
    ("7.0", 256, 64, 0, 4, "registers", "2,048 a warp: 8 warps a partition, 32 / 8"),
    ("7.0", 128, 255, 0, 2, "registers", "8,160 rounds up to 8,192 a warp: 2 a partition, 8 / 4"),
    ("7.0", 256, 40, 49152, 2, "shared_memory", "96 KiB / 48 KiB, nothing reserved before 8.0"),
    ("7.0", 1024, 32, 0, 2, "warps", "64 / 32"),
    ("7.0", 96, 42, 12000, 8, "shared_memory", "12,000 rounds up to 12,032 in units of 256"),
    ("7.5", 256, 32, 0, 4, "warps", "32 / 8: Turing holds half the warps"),
    ("7.5", 32, 32, 0, 16, "blocks", "16 blocks, though 32 warps fit"),
    ("7.5", 512, 65, 0, 1, "registers", "2,080 rounds up to 2,304: 7 warps a partition, 28 / 16"),
    ("7.5", 128, 64, 16384, 4, "shared_memory", "64 KiB / 16 KiB"),
    ("7.5", 1024, 64, 0, 1, "warps", "32 / 32"),
    ("7.5", 96, 128, 0, 5, "registers", "4,096 a warp: 16 warps, 16 / 3 rounded down"),
    ("8.0", 256, 32, 0, 8, "warps", "64 / 8"),
    ("8.0", 64, 16, 0, 32, "warps", "64 / 2, and 32 blocks"),
    ("8.0", 384, 80, 0, 2, "registers", "2,560 a warp: 6 a partition, 24 / 12"),
    ("8.0", 256, 128, 65536, 2, "registers", "4,096 a warp: 16 / 8; shared memory allows 2 as well"),
    ("8.0", 128, 222, 81920, 2, "registers", "7,168 a warp: 2 a partition, 8 / 4; 164 KiB / 81 KiB is 2 too"),
    ("8.0", 128, 168, 163840, 1, "shared_memory", "160 KiB and the 1 KiB reserved"),
    ("8.0", 544, 96, 88016, 1, "registers", "3,072 a warp: 5 a partition, 20 / 17; an NCCL kernel"),
    ("8.0", 1024, 33, 0, 1, "registers", "1,056 rounds up to 1,280: 12 a partition, 48 / 32"),
    ("8.6", 256, 40, 0, 6, "warps", "48 / 8"),
    ("8.6", 1024, 32, 0, 1, "warps", "48 / 32"),
    ("8.6", 64, 32, 0, 16, "blocks", "16 blocks, though 24 fit"),
    ("8.6", 128, 128, 49152, 2, "shared_memory", "100 KiB / 49 KiB"),
    ("8.6", 768, 48, 0, 1, "registers", "1,536 a warp: 10 a partition, 40 / 24"),
    ("8.6", 256, 96, 33000, 2, "registers", "3,072 a warp: 5 a partition, 20 / 8"),
    ("8.9", 256, 40, 0, 6, "warps", "48 / 8"),
    ("8.9", 32, 24, 0, 24, "blocks", "24 blocks, though 48 warps fit"),
    ("8.9", 64, 32, 0, 24, "warps", "48 / 2, and 24 blocks"),
    ("8.9", 128, 96, 99328, 1, "shared_memory", "97 KiB and the 1 KiB reserved"),
    ("8.9", 512, 48, 0, 2, "registers", "1,536 a warp: 10 a partition, 40 / 16"),
    ("8.9", 192, 255, 0, 1, "registers", "8 warps / 6"),
    ("9.0", 384, 168, 231424, 1, "registers", "5,376 a warp: 3 a partition, 12 / 12; an xmma kernel on the H100"),
    ("9.0", 128, 90, 0, 5, "registers", "2,880 rounds up to 3,072: 5 a partition, 20 / 4"),
    ("9.0", 256, 32, 0, 8, "warps", "64 / 8"),
    ("9.0", 64, 40, 6144, 24, "registers", "1,280 a warp: 12 a partition, 48 / 2"),
    ("9.0", 512, 128, 0, 1, "registers", "16 / 16"),
    ("9.0", 1, 0, 0, 32, "blocks", "no registers, no limit by them"),
    ("9.0", 160, 104, 28000, 3, "registers", "3,328 a warp: 4 a partition, 16 / 5"),
    ("10.0", 256, 64, 114688, 2, "shared_memory", "228 KiB / 113 KiB"),
    ("10.0", 128, 128, 0, 4, "registers", "16 / 4"),
    ("10.0", 192, 168, 196608, 1, "shared_memory", "192 KiB and the 1 KiB reserved"),
    ("10.0", 32, 32, 0, 32, "blocks", "32 blocks, though 64 warps fit"),
    ("10.0", 640, 72, 0, 1, "registers", "2,304 a warp: 7 a partition, 28 / 20"),
    ("12.0", 256, 40, 0, 6, "warps", "48 / 8"),
    ("12.0", 1024, 32, 0, 1, "warps", "48 / 32"),
    ("12.0", 32, 32, 0, 24, "blocks", "24 blocks, though 48 warps fit"),
    ("12.0", 128, 255, 0, 2, "registers", "8 / 4"),
    ("12.0", 256, 64, 50176, 2, "shared_memory", "100 KiB / 50 KiB"),
    ("12.0", 384, 56, 16384, 3, "registers", "1,792 a warp: 9 a partition, 36 / 12"),
]


def count_resident_blocks(capability, threads, registers, shared):
    """Apply the rules one after the other; return blocks per multiprocessor."""
    most_threads, most_blocks, per_sm, reserved, unit = LIMITS[capability]
    warps = math.ceil(threads / 32)
    allowed = {"warps": most_threads // 32 // warps, "blocks": most_blocks}
    per_warp = math.ceil(registers * 32 / 256) * 256
    if per_warp:
        per_partition = REGISTERS // 4 // per_warp
        allowed["registers"] = per_partition * 4 // warps
    allocated = math.ceil((shared + reserved) / unit) * unit
    if allocated:
        allowed["shared_memory"] = per_sm // allocated
    return min(allowed.values()), min(allowed, key=lambda name: allowed[name])


def test_blocks_that_fit_on_a_multiprocessor_are_those_of_nvidias_calculator(tables):
    for number, capability in enumerate(LIMITS):
        add_device(tables, number, capability)
    for slice_id, (capability, threads, registers, shared, *_) in enumerate(CASES):
        # enough blocks to fill the GPU, or the grid would be the limit
        add_kernel(tables, slice_id, list(LIMITS).index(capability), 10_000, threads, registers, shared)
    rows = analyse_kernels(tables, "resident_blocks, limiter, theoretical_occupancy")
    for case, (blocks, limiter, theoretical) in zip(CASES, rows, strict=True):
        capability, threads, registers, shared, expected, name, reason = case
        assert (blocks, limiter) == (expected, name), reason
        assert (blocks, limiter) == count_resident_blocks(capability, threads, registers, shared), reason
        warps = math.ceil(threads / 32)
        assert theoretical == pytest.approx(expected * warps * 32 / LIMITS[capability][0])


def test_there_are_cases_of_every_architecture():
    assert len(CASES) >= 40
    assert {case[0] for case in CASES} == set(LIMITS)


def test_a_small_grid_is_the_limit_and_waves_and_coverage_say_so(tables):
    add_device(tables, 0, "9.0", sm_count=100)
    # 8 blocks of 256 threads fit on each of 100 multiprocessors
    for slice_id, blocks in enumerate((50, 400, 800, 1200)):
        add_kernel(tables, slice_id, 0, blocks, 256, 32, 0)
    rows = analyse_kernels(tables, "limiter, waves, wave_efficiency, sm_coverage, estimated_occupancy")
    assert rows == [
        ("grid", 0.0625, 0.0625, 0.5, 0.0625),
        ("grid", 0.5, 0.5, 1, 0.5),
        ("warps", 1, 1, 1, 1),
        ("warps", 1.5, 0.75, 1, 1),
    ]


def test_limits_of_the_trace_go_before_those_of_the_table(tables):
    add_device(tables, 0, "9.0", max_threads_per_sm=1024, max_blocks_per_sm=2)
    add_kernel(tables, 0, 0, 10_000, 128, 16, 0)
    assert analyse_kernels(tables, "resident_blocks, limiter, theoretical_occupancy") == [(2, "blocks", 0.25)]


def test_the_name_of_a_gpu_tells_its_limits(tables):
    add_device(tables, 0, sm_count=None, name="Tesla V100-SXM2-16GB")
    add_kernel(tables, 0, 0, 160, 256, 32, 0)
    assert analyse_kernels(tables, "resident_blocks, waves, sm_coverage") == [(8, 0.25, 1)]


UNKNOWN = [(None, "unknown", None, None, None, None)]
COLUMNS = "resident_blocks, limiter, theoretical_occupancy, waves, wave_efficiency, estimated_occupancy"


@pytest.mark.parametrize(
    "columns",
    [
        {"sm_count": None},
        {"sm_count": None, "name": "NVIDIA GTX 9999"},
        {"name": "AMD Instinct MI300X", "capability": "9.4", "warp_size": 64, "max_threads_per_sm": 2048},
        # ROCm's 9.0 is no Hopper, with or without a name.
        {"capability": "9.0", "warp_size": 64, "max_threads_per_sm": 2048, "shared_memory_per_sm": 65536},
        {"name": "AMD Radeon Graphics", "capability": "9.0"},
        {"capability": "6.1"},
    ],
    ids=["not described", "not in the table", "MI300X", "AMD without name", "AMD without warp size", "before Volta"],
)
def test_a_gpu_whose_rules_are_not_known_has_unknown_occupancy(tables, columns):
    add_device(tables, 0, **columns)
    add_kernel(tables, 0, 0, 160, 256, 32, 0)
    assert analyse_kernels(tables, COLUMNS) == UNKNOWN


def test_coverage_needs_no_more_than_blocks_and_multiprocessors(tables):
    add_device(tables, 0, "9.4", sm_count=304, name="AMD Instinct MI300X", warp_size=64)
    add_kernel(tables, 0, 0, 152, 256, None, None)
    assert analyse_kernels(tables, f"sm_coverage, {COLUMNS}") == [(0.5, *UNKNOWN[0])]


def test_a_kernel_without_geometry_has_unknown_occupancy(tables):
    add_device(tables, 0, "9.0")
    add_kernel(tables, 0, 0, None, None, None, None)
    add_kernel(tables, 1, 0, 100, 256, None, 0)
    add_kernel(tables, 2, 0, 100, 256, 32, None)
    assert analyse_kernels(tables, COLUMNS) == UNKNOWN * 3


def test_a_kernel_that_ran_though_it_cannot_fit_has_unknown_occupancy(tables):
    add_device(tables, 0, "8.9")
    add_kernel(tables, 0, 0, 100, 256, 32, 200_000)
    assert analyse_kernels(tables, COLUMNS) == UNKNOWN


def test_clusters_and_the_profilers_own_figure_are_kept_as_they_are(tables):
    add_device(tables, 0, "9.0")
    add_kernel(tables, 0, 0, 100, 256, 32, 0, '{"cluster_x":2,"cluster_y":1,"cluster_z":1}')
    add_kernel(tables, 1, 0, 100, 256, 32, 0, '{"est. achieved occupancy %":13}')
    rows = analyse_kernels(tables, "cluster_x, cluster_y, cluster_z, recorded_occupancy")
    assert rows == [(2, 1, 1, None), (None, None, None, 0.13)]


@pytest.mark.parametrize(
    "damaged",
    [
        {"block_y": 65535, "block_z": 65535},
        {"threads": 0},
        {"registers": 1_000_000},
        {"shared": 1 << 60},
        {"grid": 2**31 - 1, "grid_y": 2**31 - 1, "grid_z": 2**31 - 1},
        {"args": '{"est. achieved occupancy %":"x","cluster_x":"y"}', "registers": None},
    ],
)
def test_numbers_beyond_what_cuda_allows_are_not_known(tables, damaged):
    add_device(tables, 0, "9.0")
    add_kernel(tables, 0, 0, **{"grid": 100, "threads": 256, "registers": 32, "shared": 0, **damaged})
    rows = analyse_kernels(tables, "estimated_occupancy, recorded_occupancy, cluster_x")
    assert rows == [(None, None, None)]


@pytest.mark.parametrize(
    ("recorded", "share"), [("50", 0.5), ('"NaN"', None), ('"inf"', None), ("-5", None), ("5000", None)]
)
def test_a_recorded_occupancy_that_is_no_share_is_unknown(tables, recorded, share):
    add_kernel(
        tables, 0, args=f'{{"est. achieved occupancy %": {recorded}, "cluster_x": -1, "cluster_y": 0, "cluster_z": 2}}'
    )
    rows = analyse_kernels(tables, "recorded_occupancy, cluster_x, cluster_y, cluster_z")
    assert rows == [(share, None, None, 2)]
