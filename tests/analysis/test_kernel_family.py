"""What the names of kernels tell. Names are real ones, cut where they go on for long."""

from __future__ import annotations

import json

import pytest
from kernel_tables import add_kernel, analyse_kernels
from tables import insert_row

from traceq.analysis.kernels import kernel_family

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
    # experts, grouped products, 8 and 4 bits
    (
        "void ck::kernel_moe_gemm<ck::GridwiseMoeGemmBlockScale<ck::tensor_layout::gemm::RowMajor, ",
        "composable_kernel",
        True,
    ),
    ("_ZN2ck15kernel_moe_gemmINS_25GridwiseMoeGemmBlockScaleINS_13tensor_layout4gemm", "composable_kernel", True),
    ("_ZN9deep_gemm24sm100_fp8_gemm_1d1d_implILN4cute4UMMA5MajorE0ELS3_0ELj0ELj128ELj128E", "deep_gemm", True),
    ("_ZN9deep_gemm5sched31sm100_paged_mqa_logits_metadataILj1ELb1ELb0ELj256ELj148EEEvjjPKjS3_Pj", "deep_gemm", False),
    ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u", "deep_gemm", True),
    ("_fbgemm_grouped_gemm", "triton", True),
    ("_fbgemm_grouped_gemm_fp8_rowwise", "triton", True),
    ("_kernel_grouped_gemm_persistent_bf16", "triton", True),
    ("_kernel_grouped_gemm_backward_x", "triton", None),
    ("matmul_kernel_persistent", "triton", None),
    ("to_mxfp8_dim1_kernel", "quantize", False),
    ("void transformer_engine::mxfp8_kernel::cast_mxfp8_2D_kernel<false>", "quantize", False),
    ("void transformer_engine::dispatch::mxfp8::quantize_kernel::quantize_mxfp8_kernel<false>", "quantize", False),
    ("void transformer_engine::dispatch::nvfp4::quantize_transpose_nvfp4_kernel<true>", "quantize", False),
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
    # Hopper, Blackwell: servers (public profiles of SGLang, vLLM and TensorRT-LLM)
    ("nvjet_sm100_tst_64x16_64x16_2x4_2cta_h_bz_splitK_TNT", "nvjet", True),
    ("nvjet_sm103_tst_128x32_64x16_2x1_h_bz_TNT", "nvjet", True),
    ("nvjet_sm120_tst_mma_64x64x128_3_32x32x128_tmaAB_alignCD4_bz_TNNN", "nvjet", True),
    ("nvjet_hsh_192x192_64x3_1x2_h_bz_coopB_NTT", "nvjet", True),
    (
        "void deep_gemm::sm100_fp8_fp4_gemm_1d1d_impl<(cute::UMMA::Major)0, (cute::UMMA::Major)0, 128u, 128u>(int*)",
        "deep_gemm",
        True,
    ),
    (
        "bmm_E4m3_E4m3E4m3_Fp32_t128x64x128u2_s6_et64x64_m64x64x32_c1x1x1_rM_TN_transOut_noShfl_dsFp8_sm100f",
        "trtllm",
        True,
    ),
    ("bmm_E2m1_E2m1E2m1_Fp32_bA16_bB16_bC16_t128x8x512u2_s5_et128x8", "trtllm", True),
    ("bmm_Bfloat16_E4m3E4m3_Fp32_t128x16x128_s6_et64x16_m64x16x32_c1x1x1_rM_TN_transOut", "trtllm", True),
    (
        "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ128Kv128PersistentContext",
        "flash_attention",
        True,
    ),
    (
        "fmhaSm100fKernel_QkvE4m3OBfloat16HQk576HV512HVPerCta256PagedKvDenseP64MultiCtasKvVarSeqQ8Kv128",
        "flash_attention",
        True,
    ),
    ("void cutlass::device_kernel<vllm::cutlass_3x_gemm_fp8_blockwise<cutlass::bfloat16_t>>(Params)", "cutlass", True),
    ("_ZN7cutlass13device_kernelIN10flashinfer4gemm23DeviceGemmFp4GemmSm100", "cutlass", True),
    (
        "void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm10<MainloopSm100ArrayTmaUmmaWarpSpecialized<3>>>",
        "cutlass",
        True,
    ),
    ("cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x32x16_1x1x1_3_tnn_align1_bias_f32_relu", "cutlass", False),
    ("cutlass3x_sm90_tensorop_h64x128x16gemm_f16_f16_f16_void_f16_128x128x64_1x1x1_0_nnn_align8", "cutlass", True),
    ("void marlin::Marlin<1125899906909960l, 1125899907892224l, 1125899906909960l>(int4 const*)", "marlin", True),
    ("void marlin::gptq_marlin_repack_kernel<256, 4, false>(unsigned int const*)", "quantize", False),
    ("fused_moe_kernel", "triton", True),
    ("_w8a8_block_fp8_matmul", "triton", True),
    ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", "triton", True),
    (
        "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<1u>>(Params)",
        "flash_attention",
        True,
    ),
    (
        "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(PosEncodingMode)0, 2u, 4u>(Params)",
        "flash_attention",
        False,
    ),
    (
        "void flashinfer::mla::BatchMLAPagedAttentionKernel<flashinfer::mla::KernelTraits<true, 2u>>",
        "flash_attention",
        True,
    ),
    ("void vllm::paged_attention_v1_kernel<unsigned short, unsigned short, 128, 16, 128>", "flash_attention", False),
    ("void flash_fwd_splitkv_mla_fp8_sparse_kernel<Traits>(Params)", "flash_attention", True),
    (
        "kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensor0000",
        "flash_attention",
        True,
    ),
    ("qk_int8_sv_f8_accum_f32_attn_inst_buf", "flash_attention", True),
    ("kernel_unified_attention_2d", "flash_attention", True),
    ("_fwd_grouped_kernel_stage1", "flash_attention", True),
    ("_fwd_kernel_stage1", "flash_attention", False),
    ("chunk_gated_delta_rule_fwd_kernel_h_blockdim64", "linear_attention", True),
    ("_chunk_scan_fwd_kernel", "linear_attention", True),
    ("void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)", "norm", False),
    ("kernel_cutlass_kernel_flashinfernormkernelsrmsnormRMSNormKernel_object_at__tensorptrbf16", "norm", False),
    ("void per_token_group_quant_8bit_kernel<NaiveScheduler, 128, 8, __nv_bfloat16>(void const*)", "quantize", False),
    ("void vllm::moe::moe_align_block_size_kernel<int, 256>(int*)", "routing", False),
    ("void moe_sum_reduce_warp_per_token_vec_kernel<8>(c10::BFloat16 const*)", "routing", False),
    (
        "void moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<cutlass::bfloat16_t>>",
        "routing",
        False,
    ),
    ("void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16>(void*)", "kv_cache", False),
    ("kgemm_4bit_inference_naive", "quantize", False),
    ("void gemm_half_q_half_gptq_4bit_kernel<true, 4>(half const*)", "quantize", False),
    ("gemm_forward_4bit_cuda_m16n128k32(int, half*)", "quantize", True),
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
    ("attn_fwd", "flash_attention", True),
    ("my_attention_kernel(float*)", "flash_attention", None),
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
    (
        "Custom_Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT64x16x64_MI16x16x1_SN_LDSB0",
        "hipblas",
        True,
    ),
    ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN_1LDSB0_APM1_ABV0_ACED0_AF0EM1", "hipblas", True),
    ("Cijk_Ailk_Bljk_SB_MT64x64x16_SE_1LDSB0_APM1_ABV0_ACED0_AF0EM1", "hipblas", False),
    ("_ZN5aiter36bf16gemm_bf16_tn_256x256_bpreshuffleE", "aiter", True),
    ("_ZN5aiter44f4gemm_bf16_per1x32Fp4_noBpreShuffle_256x256E", "aiter", True),
    ("_ZN5aiter52fmoe_bf16_blockscaleFp8_g1u1_novs_silu_1tg_ps_32x256E", "aiter", True),
    ("_ZN5aiter41mla_dec_stage1_bf16_a16w16_subQ128_mqa128E", "flash_attention", True),
    ("_ZN5aiter19fmha_fwd_hd128_bf16E", "flash_attention", True),
    ("aiter::fmha_bwd_hd64_bf16_causal_a16_rtne_recompile", "flash_attention", True),
    ("_ZN5aiter19topksoftmax_4x128x4E", "routing", False),
    ("_ZN2ck40kernel_gemm_xdl_cshuffle_v3_multi_d_b_preshuffle", "composable_kernel", True),
    ("void ck::kernel_moe_mxgemm_2lds<ck::GridwiseMoeGemmMX>", "aiter", True),
    (
        "void ck_tile::kentry<1, ck_tile::GroupedGemmKernel<ck_tile::GemmSpatiallyLocalTilePartitioner>>",
        "composable_kernel",
        True,
    ),
    ("void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<ck_tile::Rmsnorm2dFwdPipelineOnePass>>", "norm", False),
    ("void ck_tile::kentry<256, 1, ck_tile::FmhaBwdDQDKDVKernel<ck_tile::BlockFmha>>", "flash_attention", True),
    ("void ck_tile::kentry<256, 1, ck_tile::FmhaBwdOGradDotOKernel<ck_tile::BlockFmha>>", "flash_attention", False),
    ("_ZN7ck_tile6kentryILi1ENS_16MoeSortingKernelINS_16MoeSortingProblemEEEEEvNT0_5KargsE", "routing", False),
    ("paged_attention_ll4mi_QKV_mfma16_kernel", "flash_attention", True),
    ("wvSplitK_hf_sml_", "unknown", None),
    ("LLGemm1_kernel", "quantize", False),
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
    ("void (anonymous namespace)::indexing_backward_kernel<float, 4>(long*)", "pytorch", False),
    ("void fbgemm_gpu::_offsets_range_cuda_kernel<long>(long, long, long const*, long*)", "fbgemm", False),
    ("ampere_gcgemm_64x64_nt", "cublas", False),
    # others
    ("cupy_multiply__float64_float64_float64", "elementwise", False),
    ("loop_add_multiply_fusion_3", "xla", False),
    ("wrapped_add", "xla", False),
    ("gemm_fusion_dot_7", "xla", True),
    ("void mul_mat_vec_q<(ggml_type)12, 1>(void const*)", "quantize", False),
    # somebody's own
    ("jacobi_kernel(float*, float const*, float*, int, int, int)", "unknown", None),
    ("Summation::summarize(float*)", "unknown", None),
    ("my_gemm(float*)", "unknown", None),
]


def test_names_tell_family_and_tensor_cores(tables):
    for slice_id, (name, *_) in enumerate(NAMES):
        add_kernel(tables, slice_id, name=name)
    rows = analyse_kernels(tables, "family, tensor_core")
    told = [(name, *row) for (name, *_), row in zip(NAMES, rows, strict=True)]
    assert [row for row in zip(told, NAMES, strict=True) if row[0] != row[1]] == []


@pytest.mark.parametrize("name", ["ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "mine"])
def test_communication_is_a_family_whatever_the_name(tables, name):
    add_kernel(tables, 0, name=name, is_communication=True)
    assert analyse_kernels(tables, "family, tensor_core") == [("communication", False)]


def test_for_each_of_family_and_cores_the_first_pattern_that_says_something_decides(tables):
    add_kernel(tables, 0, name="cutlass_80_simt_sgemm_128x64")
    add_kernel(tables, 1, name="triton_poi_fused_softmax_0")
    add_kernel(tables, 2, name="no such name")
    rows = analyse_kernels(tables, "family, tensor_core")
    assert rows == [("cutlass", False), ("triton", False), ("unknown", None)]


def test_names_beyond_the_limit_are_told_but_not_remembered(tables, monkeypatch):
    remembered = {}
    monkeypatch.setattr(kernel_family, "_known", remembered)
    monkeypatch.setattr(kernel_family, "_MOST_NAMES", 1)
    add_kernel(tables, 0, name="triton_poi_fused_0")
    add_kernel(tables, 1, name="volta_sgemm_128x64_nn")
    assert analyse_kernels(tables, "family") == [("triton",), ("cublas",)]
    assert remembered == {}


@pytest.mark.parametrize(("types", "told"), [("c10::BFloat16", True), ("float", None)])
def test_templates_of_inductor_are_told_by_the_operands_of_their_operator(tables, types, told):
    add_kernel(tables, 0, name="triton_tem_fused_mm_12", launch_id=11)
    recorded = json.dumps({"Input type": [types, types]})
    insert_row(
        tables,
        "cpu_slice",
        slice_id=10,
        thread_id=0,
        ts=0,
        dur=1,
        kind="op",
        name="triton_tem_fused_mm_12",
        args=recorded,
    )
    insert_row(
        tables,
        "cpu_slice",
        slice_id=11,
        thread_id=0,
        ts=0,
        dur=1,
        kind="runtime",
        name="cuLaunchKernel",
        operator_id=10,
    )
    assert analyse_kernels(tables, "family, tensor_core") == [("triton", told)]


@pytest.mark.parametrize(("types", "told"), [("c10::BFloat16", True), ("float", None)])
def test_templates_in_graphs_are_told_by_the_operands_that_a_capture_tells(tables, types, told):
    add_kernel(tables, 0, name="triton_tem_fused_mm_12")
    insert_row(tables, "graph_kernel", slice_id=0, launch_id=11, types=json.dumps([types, types]))
    assert analyse_kernels(tables, "family, tensor_core") == [("triton", told)]
