"""Which kernels of a trace the launches are of that a kernel profiler measured, and what the views say of both."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

from traceq.analysis.kernels.reported_kernel import ReportRow, TraceKernel, find_matches
from traceq.common.kernel_names import are_same_kernel, kernel_word, template_of_kernel

FILL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, T)"
)
ADD = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, std::array<char*, 1ul> >(int, T)"
)
SMALL, LARGE = (8, 1, 1, 128, 1, 1), (64, 1, 1, 128, 1, 1)
UNKNOWN = (None,) * 6


@pytest.mark.parametrize(
    ("name", "word", "template"),
    [
        (FILL, "vectorized_elementwise_kernel", "<4,FillFunctor<float>,array<char*,1>>"),
        (
            "void vectorized_elementwise_kernel<(int)4, FillFunctor<float>, array<char *, 1>>(int, T2)",
            "vectorized_elementwise_kernel",
            "<4,FillFunctor<float>,array<char*,1>>",
        ),
        (
            "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_",
            "vectorized_elementwise_kernel",
            None,
        ),
        ("_Z5saxpyifPfS_", "saxpy", None),
        ("unnamed>::saxpyKernel(float, const float *)", "saxpyKernel", None),
        ("vecCopy(double*, int) [clone .kd]", "vecCopy", None),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16.kd", "Cijk_Ailk_Bljk_SB_MT64x64x16", None),
        ("void (anonymous namespace)::softmax<float, 10, false, true>(x)", "softmax", "<float,10,0,1>"),
        ("void f<int (*)(int), g<1>>(int)", "f", "<int(*)(int),g<1>>"),
        ("void cut<float, at::native::Lo", "cut", "<float,Lo"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn", None),
        ("copy_blocked[v1,cw51cX](Array<long long, 1>)", None, None),
        ("", None, None),
    ],
)
def test_names_of_tools_have_a_word_and_a_template(name, word, template):
    assert (kernel_word(name), template_of_kernel(name)) == (word, template)


@pytest.mark.parametrize(
    "name",
    ["a" + "<" * 200_000 + ">" * 200_000, "a" + " " * 200_000 + "<b", "a<" * 100_000, "a<" + "b" * 200_000 + ">"],
)
def test_a_name_without_end_has_its_word_at_once(name):
    # by patterns that look behind every bracket and blank these take minutes
    assert kernel_word(name) == "a"
    assert (template_of_kernel(name) is None) == (name[1] == " ")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (FILL, FILL, True),
        (FILL, "vectorized_elementwise_kernel", True),
        (FILL, ADD, False),
        (FILL, "void vectorized_elementwise_kernel<4, FillFunctor<flo", True),
        (FILL, "void vectorized_elementwise_kernel<2, FillFunctor<flo", False),
        ("void f<true>(int)", "void f<(bool)1>(int)", True),
        ("void f<1>(int)", "void f<12>(int)", False),
        ("void f<1>(int)", "void g<1>(int)", False),
        (f"gemm_{'x' * 200}_nn", f"gemm_{'x' * 200}_tn", False),
    ],
)
def test_names_of_the_same_kernel(one, other, is_same):
    assert are_same_kernel(one, other) is are_same_kernel(other, one) is is_same


def matches(kernels, reports):
    """The matches of (name, size) with (name, size[, blocks, threads]), as name, size, number of the report, and by what."""
    rows = [
        ReportRow(number, name, size, *(rest or (None, None))) for number, (name, size, *rest) in enumerate(reports)
    ]
    found = find_matches([TraceKernel(*kernel) for kernel in kernels], rows)
    sizes = {SMALL: "small", LARGE: "large", UNKNOWN: "unknown"}
    return [f"{match.kernel.name} {sizes[match.kernel.size]} {match.report_id} {match.matched_by}" for match in found]


def test_a_report_is_of_a_launch_of_the_same_size():
    kernels = [("gemm", SMALL), ("gemm", LARGE), ("other", SMALL)]
    assert matches(kernels, [("gemm", LARGE), ("gemm", LARGE), ("missing", SMALL)]) == [
        "gemm large 0 launch",
        "gemm large 1 launch",
    ]


def test_numbers_of_blocks_and_threads_do_where_there_are_no_sizes():
    kernels = [("gemm", SMALL), ("gemm", LARGE)]
    assert matches(kernels, [("gemm", UNKNOWN, 64, 128), ("gemm", UNKNOWN, 64, 256), ("gemm", UNKNOWN, 8, None)]) == [
        "gemm small 2 size",
        "gemm large 0 size",
    ]


def test_a_name_alone_does_for_a_kernel_of_one_size():
    assert matches([("gemm", SMALL), ("gemm", LARGE)], [("gemm", UNKNOWN)]) == []
    assert matches([("gemm", UNKNOWN)], [("gemm", LARGE)]) == ["gemm unknown 0 name"]


def test_the_template_tells_kernels_of_one_function_apart():
    short = FILL.replace("at::native::", "").replace("std::", "").replace("<4", "<(int)4")
    assert matches([(FILL, SMALL), (ADD, SMALL)], [(short, SMALL)]) == [f"{FILL} small 0 launch"]


def test_a_function_without_its_template_is_ambiguous_where_several_could_be_meant():
    word = "vectorized_elementwise_kernel"
    assert matches([(FILL, SMALL), (ADD, SMALL)], [(word, SMALL)]) == []
    assert matches([(FILL, SMALL), (ADD, LARGE)], [(word, SMALL)]) == [f"{FILL} small 0 launch"]
    assert matches([(word, SMALL)], [(FILL, SMALL), (ADD, SMALL)]) == []


@pytest.fixture
def trace():
    """Two steps with a kernel of two sizes, of which one is reported twice, and another that no report is about."""
    trace = TraceBuilder()
    for step in range(2):
        start = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 900)
        for at, (name, blocks) in enumerate((("gemm", 8), ("gemm", 64), ("other", 8))):
            size = {"grid_x": blocks, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
            trace.kernel(name, start + 100 + 200 * at, 100 + 50 * at, launched=(start + 10 * at, 5), **size)
    about = {"file": "r.csv", "tool": "ncu", "page": "raw", "kernel": "gemm", "device": 3}
    size = {"grid_x": 64, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
    trace.add("kernel_report", report_id=0, launches=1, memory_throughput=0.9, dur=7, limiter="warps", **about, **size)
    trace.add("kernel_report", report_id=1, launches=3, memory_throughput=0.5, compute_throughput=0.2, **about, **size)
    trace.add("kernel_stall", report_id=0, reason="selected", share=0.9)
    trace.add("kernel_stall", report_id=0, reason="long_scoreboard", share=0.6, cycles=12.0)
    trace.add("kernel_stall", report_id=1, reason="long_scoreboard", share=0.2)
    trace.add("kernel_stall", report_id=1, reason="barrier", share=0.25, cycles=3.0)
    return trace.fill_all()


def test_means_are_over_the_launches_of_the_reports(trace):
    assert trace.text("select name, grid_x, report_id, matched_by from reported_kernel order by report_id") == (
        "gemm 64 0 launch\ngemm 64 1 launch"
    )
    query = (
        "select name, grid_x, kernels, dur, launches, memory_throughput, compute_throughput, reported_dur, stall, stall_share,"
        " next_stall, next_stall_share from kernel_reported"
    )
    (row,) = trace.rows(query)
    # (0.9 + 3 * 0.5) / 4, and (0.6 + 3 * 0.2) / 4
    assert row == (
        "gemm",
        64,
        2,
        300,
        4,
        pytest.approx(0.6),
        pytest.approx(0.2),
        7,
        "long_scoreboard",
        pytest.approx(0.3),
        "barrier",
        0.25,
    )


def test_stalls_of_a_kernel(trace):
    rows = trace.rows("select reason, share, cycles from kernel_reported_stall order by reason")
    assert rows == [("barrier", 0.25, 3.0), ("long_scoreboard", pytest.approx(0.3), 12.0), ("selected", 0.9, None)]


def test_nothing_of_it_is_in_the_ledger(trace):
    with_reports = trace.rows("select category, dur from time_ledger order by all")
    assert sum(dur for category, dur in with_reports if category == "compute") == 2 * (100 + 150 + 200)
