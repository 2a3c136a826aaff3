"""What the names of kernels tell. Names are real ones, cut where they go on for long."""

from __future__ import annotations

import pytest
from kernel_tables import analysed, kernel

NAMES = [
    # Volta, Turing, Ampere
    ("volta_sgemm_128x64_nn", "cublas", False),
    ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "cublas", True),
    ("volta_h884gemm_256x64_ldg8_nn", "cublas", True),
    ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", "cublas", True),
    ("turing_h1688gemm_128x128_ldg8_nn", "cublas", True),
    ("ampere_sgemm_128x64_tn", "cublas", False),
    ("ampere_fp16_s16816gemm_fp16_64x128_sliced1x2_ldg8_f2f_stages_64x5_tn", "cublas", True),
    (
        "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_stage3_warpsize2x2x1_tensor16x8x8_kernel",
        "cublas",
        True,
    ),
    ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_kernel", "cublas", False),
    ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>(Params)", "cutlass", True),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(Params)",
        "cutlass",
        True,
    ),
    ("void cutlass::Kernel2<cutlass_75_tensorop_i8816gemm_s8_128x64_64x2_tn_align16>(Params)", "cutlass", True),
    ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(Params)", "cutlass", False),
    (
        "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_64x2_tn_align8>(Params)",
        "cutlass",
        True,
    ),
    # Hopper, Blackwell
    ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "nvjet", True),
    ("nvjet_qqtst_128x256_128x6_2x1_h_bz_TNT", "nvjet", True),
    (
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_kernel__5x_cublas",
        "cublas",
        True,
    ),
    ("cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_void_bf16_128x128x64_1x1x1", "cutlass", True),
    (
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<MainloopSm90TmaGmmaWarpSpecialized>",
        "cutlass",
        True,
    ),
    (
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<MainloopSm100TmaUmmaWarpSpecialized>>",
        "cutlass",
        True,
    ),
    ("cutlass3x_sm100_tensorop_s128x256x16gemm_bf16_bf16_f32", "cutlass", True),
    ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<X>>", "cutlass", None),
    ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u>", "deep_gemm", True),
    # attention
    (
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128>>",
        "flash_attention",
        True,
    ),
    ("void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Traits>", "flash_attention", True),
    ("void pytorch_flash::flash_bwd_dot_do_o_kernel<true, Traits>", "flash_attention", False),
    ("void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwd>>", "flash_attention", True),
    ("void cutlass::device_kernel<flash::FlashAttnBwdPostprocessConvertdQ<X>>", "flash_attention", False),
    (
        "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel::Params)",
        "flash_attention",
        True,
    ),
    (
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel::Params)",
        "flash_attention",
        None,
    ),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128", "flash_attention", True),
    ("attn_fwd", "flash_attention", None),
    # convolutions
    ("volta_scudnn_128x64_relu_interior_nn_v1", "cudnn", False),
    ("void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(Params)", "cudnn", False),
    ("void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, true, true>(int)", "cudnn", False),
    (
        "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage3_tensor16x8x8",
        "cudnn",
        True,
    ),
    (
        "void cutlass_cudnn_train::Kernel<cutlass_tensorop_s1688wgrad_optimized_tf32_128x64_16x6_nhwc_align4>",
        "cudnn",
        True,
    ),
    ("void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>", "cudnn", False),
    ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(cudnnTensorStruct)", "norm", False),
    # AMD
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB1", "hipblas", True),
    ("igemm_fwd_gtcx2_nhwc_bf16_bx0_ex0_bt128x128x32_wt32x32x8_ws1x1", "miopen", True),
    ("SubTensorOpWithScalar1d", "miopen", False),
    # compilers: the operators in the name are no family
    ("triton_per_fused_native_layer_norm_native_layer_norm_backward_7", "triton", False),
    ("triton_red_fused__softmax_3", "triton", False),
    ("triton_poi_fused_all_reduce_add_1", "triton", False),
    ("triton_tem_fused_mm_12", "triton", None),
    ("triton__0d1d2de", "triton", None),
    ("_fwd_kernel_0d1d2d3de4d", "triton", None),
    # PyTorch
    ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)", "elementwise", False),
    (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float>>>",
        "reduce",
        False,
    ),
    ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)", "norm", False),
    ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false>(float*)", "softmax", False),
    ("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(int)", "optimizer", False),
    (
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 1, 128, 1>(float*)",
        "copy",
        False,
    ),
    # somebody's own
    ("jacobi_kernel(float*, float const*, float*, int, int, int)", "unknown", None),
    ("Summation::summarize(float*)", "unknown", None),
    ("my_gemm(float*)", "unknown", None),
]


def test_names_tell_family_and_tensor_cores(tables):
    for slice_id, (name, *_) in enumerate(NAMES):
        kernel(tables, slice_id, name=name)
    rows = analysed(tables, "family, tensor_core")
    told = [(name, *row) for (name, *_), row in zip(NAMES, rows, strict=True)]
    assert told == NAMES


@pytest.mark.parametrize("name", ["ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "mine"])
def test_communication_is_a_family_whatever_the_name(tables, name):
    kernel(tables, 0, name=name, is_communication=True)
    assert analysed(tables, "family, tensor_core") == [("communication", False)]


def test_for_each_of_family_and_cores_the_first_pattern_that_says_something_decides(tables):
    kernel(tables, 0, name="cutlass_80_simt_sgemm_128x64")
    kernel(tables, 1, name="triton_poi_fused_softmax_0")
    kernel(tables, 2, name="no such name")
    rows = analysed(tables, "family, tensor_core")
    assert rows == [("cutlass", False), ("triton", False), ("unknown", None)]
