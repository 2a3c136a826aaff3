"""Another GPU is said before anything else, and its kernels are paired by what they do."""

from __future__ import annotations

import pytest
from handmade_runs import MS, item, noisy, run

from traceq.runs.compare.compare import compare
from traceq.runs.compare.names import find_role
from traceq.runs.run import CaptureFacts

pytestmark = pytest.mark.usefixtures("fewer_draws")

NVIDIA = {"device_name": "NVIDIA B300", "capture": CaptureFacts(vendor="nvidia")}
AMD = {"device_name": None, "capture": CaptureFacts(vendor="amd")}


def decode(products, attention, name, **facts):
    kernels = [
        item(products, 60 * MS, 96, family="nvjet" if "nvjet" in products else "hipblas", steps=12),
        item(attention, 30 * MS, 48, family="flash_attention", steps=12),
        item("silu", 10 * MS, 48, family="elementwise", steps=12),
    ]
    return run(*noisy(100 * MS, 12, 0.01), items=kernels, name=name, **facts)


BASE = decode("nvjet_sm103_tst_64x16", "fmhaSm100fKernel", "b300", **NVIDIA)
NEW = decode("Cijk_Alik_Bljk_BBS_BH_MT16x16x512", "paged_attention_ll4mi", "mi300", **AMD)


def test_the_maker_says_that_the_gpu_is_another_where_the_name_is_not_in_the_trace():
    found = compare([BASE], [NEW])
    assert found.obstacles == ("another GPU: NVIDIA B300 against one of AMD (name not in the trace)",)
    assert found.reasons == found.obstacles


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ({"device_name": "NVIDIA H100"}, {"device_name": "AMD MI300X"}, "another GPU: NVIDIA H100 against AMD MI300X"),
        (
            {"device_name": None, "capture": CaptureFacts(vendor="nvidia")},
            {"device_name": None, "capture": CaptureFacts(vendor="amd")},
            "another GPU: one of NVIDIA (name not in the trace) against one of AMD (name not in the trace)",
        ),
    ],
)
def test_another_gpu(base, new, expected):
    sides = [
        run(*noisy(MS, 12, 0.01), name=name, world_size=size, **facts)
        for name, size, facts in (("a", 8, base), ("b", 4, new))
    ]
    assert compare(sides[:1], sides[1:]).obstacles == (expected, "world size: 8 against 4")


@pytest.mark.parametrize(
    "facts",
    [{"device_name": None}, {"device_name": None, "capture": CaptureFacts(vendor="nvidia")}],
    ids=["nothing", "maker"],
)
def test_nothing_is_said_where_nothing_tells(facts):
    assert compare([decode("nvjet", "fmha", "a", **NVIDIA)], [decode("nvjet", "fmha", "b", **facts)]).obstacles == ()


def test_kernels_of_other_makers_are_paired_by_role():
    (compute,) = compare([BASE], [NEW]).causes
    assert sorted((part.kind, part.role, part.new_names) for part in compute.parts if part.name is not None) == [
        ("same", "elementwise", ("silu",)),
        ("same role", "attention", ("paged_attention_ll4mi",)),
        ("same role", "matrix products", ("Cijk_Alik_Bljk_BBS_BH_MT16x16x512",)),
    ]


def test_another_version_of_a_library_is_the_same_program():
    """Without operators: all names are others, and products are called for as often."""

    def step(kernel, calls, name):
        return run(*noisy(MS, 12, 0.01), items=[item(kernel, MS, calls, family="cublas", steps=12)], name=name)

    base = step("volta_sgemm_128x64_tn", 24, "a")
    found = compare([base], [step("ampere_sgemm_64x64_nn", 24, "b")])
    assert found.obstacles == ()
    assert [part.kind for part in found.causes[0].parts if part.name is not None] == ["same role"]
    (obstacle,) = compare([base], [step("ampere_sgemm_64x64_nn", 4, "c")]).obstacles
    assert obstacle.startswith("they do not run the same program: only 0.0 %")


@pytest.mark.parametrize(
    ("name", "family", "expected"),
    [
        ("nvjet_sm90_hsh_64x8", "nvjet", "matrix products"),
        ("Cijk_Ailk_Bljk_HHS", "hipblas", "matrix products"),
        ("void ck::kernel_moe_gemm<ck::GridwiseMoeGemm>", "composable_kernel", "products of experts"),
        ("bmm_Bfloat16_tmaOpt_clmp_dynB_sm100f", "trtllm", "products of experts"),
        ("fmhaSm100fKernel_QkvBfloat16", "flash_attention", "attention"),
        ("fused_rope_kernel", "elementwise", "rotary embedding"),
        ("rotary_embedding_kernel", "embedding", "rotary embedding"),
        ("vectorized_elementwise_kernel", "elementwise", "elementwise"),
        ("my_kernel", "unknown", None),
        ("my_kernel", None, None),
    ],
)
def test_role(name, family, expected):
    assert find_role(name, family) == expected
