"""Which kernel is which: what a compiler, a profiler or an autotuner calls otherwise is found again."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from traceq.runs.compare.match import MatchPiece, match_pieces
from traceq.runs.compare.names import canonical_name, family_name

CUDNN = "cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, true, false>(cudnnTensor)"
CUBLAS = "ampere_sgemm_128x64_tn"


def piece(name, dur=1, shape=None, operator=None, count=1):
    return MatchPiece("compute", name, shape, operator, Fraction(count), Fraction(dur))


def table(base, new):
    """A line per match: kind, base, new; times where they differ from 1."""
    return sorted(
        f"{match.kind}: {' & '.join(match.names[0]) or '-'} | {' & '.join(match.names[1]) or '-'}"
        for match in match_pieces(base, new)
    )


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        pytest.param([piece("gemm", shape="1")], [piece("gemm", shape="1")], "same: gemm | gemm", id="same"),
        pytest.param([piece("gemm", shape="1")], [piece("gemm", shape="2")], "resized: gemm | gemm", id="shape"),
        pytest.param([piece("gemm")], [piece("gemm", shape="2")], "resized: gemm | gemm", id="shape told once"),
        pytest.param(
            [piece("gemm<float, 128>")],
            [piece("gemm<__half, 64>")],
            "re-tuned: gemm<float, 128> | gemm<__half, 64>",
            id="template arguments",
        ),
        pytest.param(
            [piece("triton_poi_fused_add_3")],
            [piece("triton_poi_fused_add_7")],
            "renamed: triton_poi_fused_add_3 | triton_poi_fused_add_7",
            id="triton's number",
        ),
        pytest.param(
            [piece("triton_poi_fused_add_relu_0d1d2d3de")],
            [piece("triton_poi_fused_add_relu_4_0d1d2de")],
            "renamed: triton_poi_fused_add_relu_0d1d2d3de | triton_poi_fused_add_relu_4_0d1d2de",
            id="triton's variant",
        ),
        pytest.param(
            [piece("void gemm<(int)128, (bool)1>(float*)", shape="1")],
            [piece("void gemm<128, 1>(float*)", shape="1")],
            "same: void gemm<(int)128, (bool)1>(float*) | void gemm<128, 1>(float*)",
            id="casts of nsys",
        ),
        pytest.param(
            [piece("gemm<float, 4>(a, b)", shape="1")],
            [piece("void gemm<float,4>(a,b)", shape="1")],
            "same: gemm<float, 4>(a, b) | void gemm<float,4>(a,b)",
            id="blanks and return type",
        ),
        pytest.param(
            [piece(CUDNN, operator="aten::conv2d")],
            [piece(CUBLAS, operator="aten::conv2d")],
            f"re-tuned: {CUDNN} | {CUBLAS}",
            id="cuDNN against cuBLAS",
        ),
        pytest.param(
            [piece("a"), piece("b")],
            [piece("b"), piece("c")],
            "new: - | c\nsame: b | b\nvanished: a | -",
            id="new and vanished",
        ),
        pytest.param(
            [piece("a", operator="x")], [piece("c", operator="y")], "new: - | c\nvanished: a | -", id="other operators"
        ),
        pytest.param([piece("a")], [piece("c")], "new: - | c\nvanished: a | -", id="no operators"),
        pytest.param([piece(None)], [piece(None)], "same: - | -", id="what is too small to be listed"),
        pytest.param([], [piece("a")], "new: - | a", id="nothing before"),
        pytest.param([], [], "", id="nothing"),
    ],
)
def test_how_kernels_are_found_again(base, new, expected):
    assert "\n".join(table(base, new)) == expected


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        pytest.param(
            [piece("nvkernel_main_F1L204_2")],
            [piece("nvkernel_main_F1L210_2")],
            "renamed: nvkernel_main_F1L204_2 | nvkernel_main_F1L210_2",
            id="a line was added",
        ),
        pytest.param(
            [piece("nvkernel_main_F1L204_2", 7), piece("nvkernel_main_F1L210_3", 1)],
            [piece("nvkernel_main_F1L210_2", 7), piece("nvkernel_main_F1L216_3", 1)],
            "renamed: nvkernel_main_F1L204_2 | nvkernel_main_F1L210_2\n"
            "renamed: nvkernel_main_F1L210_3 | nvkernel_main_F1L216_3",
            id="in the order of their lines, not by chance",
        ),
        pytest.param(
            [piece("jacobi_45_gpu"), piece("jacobi_45_gpu__red")],
            [piece("jacobi_47_gpu"), piece("jacobi_47_gpu__red")],
            "renamed: jacobi_45_gpu | jacobi_47_gpu\nrenamed: jacobi_45_gpu__red | jacobi_47_gpu__red",
            id="OpenACC, and its reduction",
        ),
        pytest.param(
            [piece("__omp_offloading_fd00_2e1c_step_l30")],
            [piece("__omp_offloading_fd00_99aa_step_l33_debug__")],
            "renamed: __omp_offloading_fd00_2e1c_step_l30 | __omp_offloading_fd00_99aa_step_l33_debug__",
            id="LLVM",
        ),
        pytest.param(
            [piece("step$_omp_fn$0")], [piece("step$_omp_fn$1")], "renamed: step$_omp_fn$0 | step$_omp_fn$1", id="GCC"
        ),
        pytest.param(
            [piece("nvkernel_main_F1L204_2")],
            [piece("nvkernel_main_F1L204_2"), piece("nvkernel_main_F1L230_4")],
            "new: - | nvkernel_main_F1L230_4\nsame: nvkernel_main_F1L204_2 | nvkernel_main_F1L204_2",
            id="another region",
        ),
        pytest.param(
            [piece("nvkernel_main_F1L204_2"), piece("nvkernel_other_F2L10_2")],
            [piece("nvkernel_other_F2L10_2"), piece("nvkernel_third_F3L9_2")],
            "new: - | nvkernel_third_F3L9_2\n"
            "same: nvkernel_other_F2L10_2 | nvkernel_other_F2L10_2\n"
            "vanished: nvkernel_main_F1L204_2 | -",
            id="other functions",
        ),
    ],
)
def test_offloaded_regions_are_found_again_when_their_lines_move(base, new, expected):
    assert "\n".join(table(base, new)) == expected


def copies(*shapes):
    return [MatchPiece("copy_h2d", "h2d", shape, None, Fraction(1), Fraction(1)) for shape in shapes]


def test_a_copy_from_other_memory_is_the_same_copy():
    found = match_pieces(copies("4096 B pageable", "8 B pageable"), copies("4096 B", "16 B"))
    assert [(match.kind, match.shapes) for match in found] == [
        ("other memory", ("4096 B pageable", "4096 B")),
        ("resized", ("8 B pageable", "16 B")),
    ]


def waits(*names):
    return [MatchPiece("idle_launch", name, None, None, Fraction(1), Fraction(1)) for name in names]


def test_calls_of_other_runtimes_are_the_same_calls_and_no_graphs():
    found = table(waits("cudaGraphLaunch", "cudaMemcpyAsync"), waits("hipGraphLaunch", "aten::copy_"))
    assert found == [
        "new: - | aten::copy_",
        "renamed: cudaGraphLaunch | hipGraphLaunch",
        "vanished: cudaMemcpyAsync | -",
    ]


def test_kernels_of_a_role_belong_together_where_nothing_else_tells():
    def of(name, role):
        return replace(piece(name), role=role)

    base = [of("volta_sgemm", "matrix products"), of("fmha", "attention"), of("ampere_sgemm<1>", "matrix products")]
    new = [of("nvjet", "matrix products"), of("ampere_sgemm<2>", "matrix products"), of("softmax", None)]
    assert table(base, new) == [
        "new: - | softmax",
        "renamed: ampere_sgemm<1> | ampere_sgemm<2>",
        "same role: volta_sgemm | nvjet",
        "vanished: fmha | -",
    ]


def test_the_exact_match_goes_first():
    base = [piece("gemm<1>", shape="1"), piece("gemm<2>", shape="1")]
    new = [piece("gemm<2>", shape="1"), piece("gemm<3>", shape="1")]
    assert table(base, new) == ["renamed: gemm<1> | gemm<3>", "same: gemm<2> | gemm<2>"]


def test_what_belongs_together_is_summed_and_named_by_its_longest():
    base = [piece("gemm<1>", 3, "8x1", count=2), piece("gemm<2>", 10, "9x1", "aten::mm"), piece("gemm<1>", 8, "8x1")]
    (found,) = match_pieces(base, [piece("gemm<7>", 1, "8x1", "aten::mm", 5)])
    assert (found.kind, found.names) == ("renamed", (("gemm<1>", "gemm<2>"), ("gemm<7>",)))
    assert (found.dur, found.count) == ((21, 1), (4, 5))
    assert found.shapes == (None, "8x1")
    assert found.operator is None


def test_kernels_of_different_layers_stay_apart_by_their_shape():
    base = [piece("gemm", 1, "8x1"), piece("gemm", 2, "16x1")]
    new = [piece("gemm", 1, "8x1"), piece("gemm", 5, "16x1")]
    assert {match.shapes: match.dur for match in match_pieces(base, new)} == {
        ("8x1", "8x1"): (1, 1),
        ("16x1", "16x1"): (2, 5),
    }


pieces = st.lists(
    st.builds(
        piece,
        st.sampled_from(
            (None, "gemm", "void gemm", "gemm<1>", "gemm<2>", "triton_poi_3", "triton_poi_7", "a", "b", "<", "")
        ),
        st.integers(0, 9),
        st.sampled_from((None, "1x1", "2x1")),
        st.sampled_from((None, "aten::mm", "aten::conv")),
    ),
    max_size=10,
)


@settings(max_examples=200)
@given(pieces, pieces)
def test_every_piece_is_in_exactly_one_match(base, new):
    numbered = [
        [
            MatchPiece("compute", each.name, each.shape, each.operator, Fraction(16) ** place, each.dur)
            for place, each in enumerate(side)
        ]
        for side in (base, new)
    ]
    found = match_pieces(*numbered)
    for side in (0, 1):
        # Every piece once: its own power of 16 in one of the counts.
        assert sum(match.count[side] for match in found) == sum(
            Fraction(16) ** place for place in range(len(numbered[side]))
        )
        assert sum(match.dur[side] for match in found) == sum(each.dur for each in numbered[side])
        named = {name for match in found for name in match.names[side]}
        told = {each.name for each in numbered[side]} - {None}
        assert named == told or (named < told and any(match.names == ((), ()) for match in found))
    for match in found:
        assert (match.kind == "new") <= (match.count[0] == 0 and match.names[0] == ())
        assert (match.kind == "vanished") <= (match.count[1] == 0 and match.names[1] == ())
        one_sided = match.kind in ("new", "vanished", "resized") or match.names == ((), ())
        assert one_sided or all(match.count)


@settings(max_examples=100)
@given(pieces, pieces)
def test_the_other_way_round_the_same_belong_together(base, new):
    turned = {"new": "vanished", "vanished": "new"}
    there = [(match.kind, *map(frozenset, match.names), match.dur) for match in match_pieces(base, new)]
    back = [(match.kind, *map(frozenset, match.names), match.dur) for match in match_pieces(new, base)]
    swapped = [(turned.get(kind, kind), names, others, (dur[1], dur[0])) for kind, others, names, dur in back]
    assert sorted(map(repr, swapped)) == sorted(map(repr, there))


@pytest.mark.parametrize(
    ("names", "family"),
    [
        (("triton_poi_fused_add_3", "triton_poi_fused_add_7", "triton_poi_fused_add_0d1d2de"), "triton_poi_fused_add"),
        (("ampere_sgemm_128x64_tn", "ampere_sgemm_32x128_tn"), "ampere_sgemm_tn"),
        (
            ("void at::native::(anonymous namespace)::softmax<1>(float*)", "at::native::<unnamed>::softmax<4>()"),
            "at::native::softmax",
        ),
        (("gemm_0123abcd4567ef89", "gemm_89ef4567abcd0123"), "gemm"),
        (("<1>",), "<1>"),
        (("",), ""),
        (
            ("kernel<int, 4, std::vector<float>>(int)", "kernel<int, 8, std::vector<float>>()"),
            "kernel<int,,std::vector<float>>",
        ),
    ],
)
def test_what_of_a_name_is_the_kernel(names, family):
    assert {family_name(name) for name in names} == {family}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_nn"),
        ("triton_poi_fused_add_3", "triton_red_fused_add_3"),
        ("void gemm<float>(float*)", "void gemv<float>(float*)"),
        ("forward", "backward"),
        ("gemm_fp16_tn", "gemm_fp32_tn"),
        ("conv2d_kernel", "conv3d_kernel"),
        (
            "at::native::vectorized_elementwise_kernel<4, Mul>(int)",
            "at::native::vectorized_elementwise_kernel<4, Add>(int)",
        ),
    ],
)
def test_other_kernels_are_other_families(one, other):
    assert family_name(one) != family_name(other)


@pytest.mark.parametrize(
    ("nsys", "kineto"),
    [
        ("void gemm<(int)128, (bool)1, (unsigned int)4>(T1 *)", "void gemm<128, 1, 4>(T1 *)"),
        ("void k<(long)-1>()", "void k<-1>()"),
        ("k<(bool)true>", "k<true>"),
    ],
)
def test_what_the_profilers_write_differently(nsys, kineto):
    assert canonical_name(nsys) == canonical_name(kineto)


def test_a_cast_of_a_value_stays():
    assert canonical_name("k<(int)N>") == "k<(int)N>"


def test_from_an_unbalanced_bracket_on_nothing_is_left_out():
    """As the docstring says: a comparison in a name is no template."""
    assert family_name("operator<one") != family_name("operator<other")


HOSTILE = {
    "digits behind an underscore": "k_" + "1" * 24 + "x",
    "one long number": "1" * 4_000 + "g",
    "one long hash": "a" * 6_000 + "g",
    "opening brackets": "<" * 100_000,
    "underscores": "_1" * 3_000 + "x",
    "lambdas": "{lambda" * 10_000,
    "tiles": "x".join("1" * 5_000),
    "long": "x" * 1_000_000,
    "blanks": " \n\t" * 30_000,
    "regions": "nvkernel_" + "_F1L1" * 2_000 + "x",
    "numbered": "_1_gp" * 3_000,
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_name_takes_long(name):
    """A second is far more than it takes, and far less than what grows with the square of the length, or worse."""
    begin = time.process_time()
    family_name.__wrapped__(name)
    canonical_name.__wrapped__(name)
    assert time.process_time() - begin < 0.3
