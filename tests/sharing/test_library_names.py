"""Of names of kernels, operators and calls the words that libraries use stay, and no others."""

from __future__ import annotations

import json
import time

import pytest

import traceq
from traceq.app.anonymise import anonymise
from traceq.common.library_names import is_of_library, replace_unknown_words
from traceq.reports.redact import redact_report

PREFIXED = {
    "kernel": (
        "ncclDevKernel_johndoe",
        "void at::native::johndoe_kernel<float>(float*)",
        "triton_acme_projectx_fwd",
        "triton_poi_fused_johndoe_0",
        "void acme::secretmodel::kernel<acme::Projectx<4>>(int)",
        "_Z12johndoe_kernPf",
        "_ZN4acme11secretmodel6kernelIfEEvPT_",
        "cutlass_acme_johndoe_gemm",
        "void cutlass::Kernel<johndoe>(int)",
        "Cijk_Ailk_Bljk_johndoe_MT128x128x16",
        "sm90_xmma_gemm_acme_tn",
        "johndoe::attention",
        "flash_fwd_johndoe2_kernel",
    ),
    "cpu_op": (
        *(
            "aten::johndoe2",
            "c10d::johndoe3",
            "prims::acme",
            "torchvision::acme_nms",
            "_C::johndoe",
            "profiler::_johndoe",
        ),
        *("autograd::engine::evaluate_function: JohndoeBackward0", "quantized::acme", "triton_per_fused_acme_1"),
    ),
    "cuda_runtime": ("cudaJohndoe9", "cuAcmeLaunch", "ncclJohndoe", "cublasAcmeGemm", "hipJohndoe"),
    "user_annotation": ("nccl:johndoe7", "gloo:acme", "cudaJohndoe9", "Optimizer.step#Adam.johndoe", "aten::johndoe2"),
}
SECRETS = ("johndoe", "acme", "projectx", "secretmodel")


@pytest.mark.parametrize("name", [name for names in PREFIXED.values() for name in names])
def test_a_prefix_does_not_make_a_name_known(name):
    assert not is_of_library(name)
    assert not [secret for secret in SECRETS if secret in replace_unknown_words(name, lambda _: "name").lower()]


@pytest.fixture
def trace(tmp_path):
    """A trace whose kernels, operators, calls and ranges are called so."""
    events = [
        {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": 10 * number, "dur": 5,
         "args": {"device": 0, "stream": 7, "kernel": name}}
        for category, names in PREFIXED.items() for number, name in enumerate(names)
    ]  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def test_none_of_them_is_in_an_anonymised_trace(trace, tmp_path):
    target = tmp_path / "shared.json"
    anonymise(trace, target)
    written = target.read_text().lower()
    assert not [secret for secret in SECRETS if secret in written]
    assert written.count("gemm") >= 3


def test_none_of_them_is_in_a_ticket(trace, tmp_path):
    database = traceq.ingest(trace, tmp_path / "t.duckdb").database
    report = redact_report(traceq.report(database).content)
    shown = repr(
        [(each.topics, each.observations, each.findings, each.notes, each.phases) for each in report.traces]
    ).lower()
    assert "gemm" in shown
    assert not [secret for secret in SECRETS if secret in shown]


@pytest.mark.parametrize(
    "name",
    [
        "ampere_sgemm_128x64_tn",
        "ampere_gcgemm_64x64_nt",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, cutlass::bfloat16_t>, true>(Params)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
        "triton_per_fused_add_native_layer_norm_0",
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEENS_6detail5ArrayIPcLi1EEEEEviT0_T1_",
        "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE9_clEvEUlfE_EEvT_",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1",
        "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>(Params)",
        "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT",
        "cutlass_tensorop_bf16bf16f32_gemm_bf16_64x64_32x10_tn",
        "triton__0d1d2d3d4d5d6d",
        "gemm_16_128_2",
        "gemm_4096_4096<256, 4, 100000>",
        "void thrust::THRUST_200600_500_520_600_900_NS::transform<int>(int)",
        "aten::_scaled_dot_product_flash_attention_backward",
        "aten::upsample_bilinear2d_aa",
        "c10d::_allgather_base_",
        "nccl:_all_gather_base",
        "cudaStreamGetCaptureInfo_v2_v11030",
        "cuGetProcAddress_v2",
        "cudaGraphExecKernelNodeSetParams",
        "hipExtModuleLaunchKernel",
        "cublasLtMatmulAlgoGetHeuristic",
        "ncclGroupStart",
    ],
)
def test_what_libraries_call_theirs_stays(name):
    assert replace_unknown_words(name, lambda word: f"<{word}>") == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ncclDevKernel_AllReduce_10.23.45.67", "ncclDevKernel_AllReduce_*"),
        ("sm90_xmma_gemm_192.168.7.21_8080", "sm90_xmma_gemm_*"),
        ("void at::native::k_00_1b_44_11_3a_b7(int)", "void at::native::k_*(int)"),
        ("k00_1B_44_11_3a_b7", "k*"),
        ("gemm_001b44113ab7", "gemm_*"),
        ("gemm_001b.4411.3ab7", "gemm_*"),
        ("gemm_2001:db8:85a3::8a2e:370:7334", "gemm_*"),
        ("gemm_550e8400-e29b-41d4-a716-446655440000", "gemm_*"),
        ("void gemm_123-45-6789(float*)", "void gemm_*(float*)"),
        ("gemm123_45_6789", "gemm*"),
        ("void k_2026_11_26_4111_1111_1111_1111(int)", "void k_*(int)"),
        ("void 4111111111111111<float>(int)", "void *<float>(int)"),
        ("k<+41791234567>", "k<+*>"),
        ("gemm_4111x1111x1111x1111", "gemm_*"),
        ("gemm_10_0_0_5", "gemm_*"),
        ("gemm_\u0664\u0661\u0661\u0661_\u0661\u0661", "gemm_*"),
        ("_Z4gemmILi4111111111111111EEvv", "_Z4gemmILi*EEvv"),
        ("_Z4111111111111111gemm", "_Z*gemm"),
    ],
)
def test_numbers_that_are_no_sizes_go(name, shown):
    assert replace_unknown_words(name, lambda _: "*") == shown


def test_the_time_is_linear_in_the_length_of_a_name():
    for part in ("1_", "a_", "f.", "1::", "1a", "00_", "1-_", "1x"):
        begin = time.process_time()
        replace_unknown_words(part * 20_000, lambda _: "*")
        assert time.process_time() - begin < 2


def test_mangled_names_can_still_be_read():
    assert replace_unknown_words("_ZN4acme4gemmEPf", lambda _: "other") == "_ZN5other4gemmEPf"


def test_a_hash_is_no_name():
    assert replace_unknown_words("kernel_a1b2c3d4e5", lambda _: "x") == "kernel_x"
