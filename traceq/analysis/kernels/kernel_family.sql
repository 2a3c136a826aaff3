-- What the name of a kernel tells: its family and whether it runs on tensor cores (matrix cores on AMD). The one list of
-- names, in order: for each of the two the first pattern that matches and says something decides; NULL says nothing.

create temp macro _tells(family, tensor_core, matches) as
    if(matches, {'family': family::varchar, 'tensor_core': tensor_core::boolean}, null);

-- Names are few, kernels are many. Patterns are constants of the query, for those of a table would be compiled anew for
-- every name.
with
told as (
    select name, [
        -- Triton first: Inductor names a kernel after the operators in it, norms and collectives among them
        _tells('triton', false, regexp_matches(name, '^triton_(poi|red|per|for)_')),  -- Inductor: pointwise, reductions
        _tells('triton', null, regexp_matches(name, '^triton_|_0d1d|\d(de?\d)+(de?c?)*$')),  -- Inductor's templates, Triton 2's signatures at the end of the name
        -- helpers of matrix kernels, which multiply nothing themselves
        _tells('cublas', false, regexp_matches(name, 'splitKreduce|cublasLt::epilogue|epilogue::impl::|cublasTransposeParams')),  -- cuBLAS: sums of split products, epilogues
        _tells('cublas', false, regexp_matches(name, '(?i)gemv|\bdot_kernel<|reduce_1Block_kernel|\bgemmk1_kernel|\bscal_kernel<|\baxpy_kernel')),  -- cuBLAS: matrix times vector, dot products
        _tells('cudnn', false, regexp_matches(name, 'cask_cudnn|(?i)nchwToNhwc|nhwcToNchw|scalePackedTensor|im2col')),  -- cuDNN: offsets, layouts
        _tells('cudnn', false, regexp_matches(name, 'cudnn\w*::(reduction|reduce)|ReduceSplitK')),  -- sums of split convolutions
        _tells('flash_attention', false, regexp_matches(name, '(?i)flash_(bwd_(dot_do_o|convert_d|clear_d|postprocess|preprocess)|fwd_(splitkv_|mla_)?combine)|FlashAttn(Bwd(Pre|Post)process|FwdCombine)')),  -- FlashAttention: work around the products
        _tells('flash_attention', false, regexp_matches(name, 'FmhaBwd(OGradDotO|ConvertQGrad)|FmhaFwdSplitKVCombine|(?i:fmhaReduction|merge_?states?\w*kernel|VariableLengthMergeStates|get_mla_metadata|mla_reduce)|paged_attention_\w*reduce|^_fwd_kernel_stage2|^reduce_segments')),  -- the same of others: sums of what several blocks computed
        _tells('quantize', false, regexp_matches(name, '(?i)marlin\w*repack|awq_marlin_repack|gptq_marlin_repack')),  -- Marlin: layout of the weights
        _tells('quantize', false, regexp_matches(name, '(?i)to_mxfp8_dim\d|cast_mxfp8_|cast_transpose|quantize_transpose')),  -- torchao, Transformer Engine: casts to 8 and 4 bits, transposed or not
        _tells('deep_gemm', false, regexp_matches(name, 'mqa_logits_metadata')),  -- DeepGEMM: which block computes what
        _tells('routing', false, regexp_matches(name, '(?i)moe_?(align|sort|sum|permute|unpermute|topk|gating)|MoeSorting|grouped_topk|count_and_sort_expert|_combined_routing|_bitmatrix|topksoftmax|(expand|shuffle)Input?Rows|finalize(Moe|Kernel)|routing\w*Kernel|computeStridesTma')),  -- mixtures of experts: which token goes where
        _tells('kv_cache', false, regexp_matches(name, '(?i)(reshape|concat)_and_cache|store_kv_?cache|set_(mla_)?kv_?(buffer|cache)|kv_indices|gather_(and_\w+_)?cache|(copy|swap)_blocks_kernel|_kv_cache_kernel|kv_kernel$')),  -- servers: keys and values written to their pages
        _tells('norm', false, regexp_matches(name, 'cudnn\w*::bn_|bn_(fw|bw)_|(?i)batch_?norm|layer_?norm|rms_?norm|group_?norm|GammaBetaBackward|RowwiseMoments|ComputeFusedParams|ln_(fwd|bwd)_')),  -- normalisations, cuDNN's included
        _tells('softmax', false, regexp_matches(name, '(?i)softmax')),  -- softmax; fused attention does not name it
        -- attention
        _tells('flash_attention', true, regexp_matches(name, '(?i)flash_?(attn_?)?(fwd|bwd)|FlashAttn(Fwd|Bwd)|FlashAttention(For|Back)ward|\bflash::|pytorch_flash')),  -- FlashAttention 1 to 4, forward and backward; FlashMLA
        _tells('flash_attention', true, regexp_matches(name, '(?i)cudnn.*(sdpa|flash_(f|b)prop|_mha_|fused_attention)')),  -- cuDNN's fused attention
        _tells('flash_attention', true, regexp_matches(name, '(?i)fmhaSm\d+\w*Kernel|Sm(90|100|120)Fmha|kernel_mha|xqa_kernel')),  -- TensorRT-LLM's attention, CUTLASS's examples
        _tells('flash_attention', true, regexp_matches(name, 'Fmha(Fwd|Bwd|BatchPrefill)\w*Kernel|aiter\d*(::)?(fmha_(fwd|bwd)|mla_(dec|a\d+w\d+|pfl)|pa_|PA_)|paged_attention_ll4mi_QKV_mfma|UnifiedAttentionKernel')),  -- AMD: Composable Kernel's and AITER's attention
        _tells('flash_attention', true, regexp_matches(name, '(Batch|Single)Prefill|BatchMLAPagedAttention|qk_int8_sv_f|flash_attn_ext_f16')),  -- FlashInfer, SageAttention, llama.cpp
        -- tl.dot is an instruction of tensor cores, but for single precision without TF32
        _tells('flash_attention', true, regexp_matches(name, '^_?attn_(fwd|bwd)|^bwd_kernel_(d[kq]|fuse)|^_fwd_grouped_kernel_stage1|^kernel_unified_attention_\dd|^_attn_bwd')),  -- attention in Triton
        _tells('flash_attention', false, regexp_matches(name, '(Batch|Single)Decode|paged_attention_(v[12]_)?kernel|^_fwd_kernel_stage1|flash_attn_(vec|tile)')),  -- one query at a time: no product of matrices
        _tells('linear_attention', true, regexp_matches(name, '^_?chunk_(scan|state|gated_delta|scaled_dot|fwd_kernel_o|bwd_kernel)|^_bmm_chunk|^recompute_w_u')),  -- Mamba 2, gated delta networks: products of chunks
        _tells('linear_attention', false, regexp_matches(name, '(?i)selective_scan|causal_conv1d|fused_recurrent_|selective_state_update')),  -- the same token by token
        _tells('flash_attention', true, regexp_matches(name, 'fmha_cutlass[FB]\w*_(f16|bf16)_\w*sm(7[05]|[89]\d|1\d\d)|fmha_(v\d|fprop|dgrad)')),  -- memory-efficient attention in half precision; TensorRT's fused attention
        _tells('flash_attention', false, regexp_matches(name, 'fmha_cutlass[FB]\w*_sm50')),  -- memory-efficient attention for GPUs without tensor cores
        _tells('flash_attention', null, regexp_matches(name, '(?i)fmha|\battn_fwd|\bbwd_kernel_d[kq]|(paged|unified|ragged)_?attention|attention_kernel|mha_(fwd|bwd)')),  -- attention of other makers and of inference engines; the name does not tell
        -- told by the instruction
        _tells(null, false, regexp_matches(name, '(?i)simt|ffma|_fma_|dfma')),  -- no tensor instruction
        _tells(null, true, regexp_matches(name, '(?i:(^|[^a-z])(tensorop|wmma|wgmma|gmma|umma|hmma|imma|dmma|qmma))|OpClassTensorOp|Gmma|Umma|tcgen05')),  -- CUTLASS's tensorop; mma, wgmma (Hopper) and tcgen05 (Blackwell) instructions
        _tells(null, true, regexp_matches(name, '(?i)[a-z](884|1688|8816|8832|16816|16832|16864)(gemm|cudnn|fprop|dgrad|wgrad|_|$)')),  -- shapes of the instruction: h884, s1688, i8816, s16816
        _tells(null, true, regexp_matches(name, '(?i)xmma_.*(tensor\d|warpgroupsize|tf32)')),  -- xmma kernels name the instruction's shape or a group of warps
        _tells(null, true, regexp_matches(name, '(?i)(^|[^a-z])tf32')),  -- TF32 exists on tensor cores only
        _tells(null, true, regexp_matches(name, 'MainloopSm(90Tma|100|120)|Sm(90|100|120)\w*(Tma|Warp)\w*Specialized')),  -- CUTLASS 3 for Hopper and Blackwell
        _tells(null, true, regexp_matches(name, '_MI\d+x\d+x\d+|(?i:xdlops|[_:]xdl|GemmXdl|xdl_?cshuffle)|_gtcx\d?_|(\b|_)mfma')),  -- AMD: matrix (xdl, mfma) instructions
        _tells(null, false, regexp_matches(name, '^Cijk_\w*_MT\d+x\d+x\d+_S[EN]_')),  -- Tensile names the matrix instruction behind the tile: none there
        _tells('deep_gemm', true, regexp_matches(name, 'deep_gemm::.*gemm|^_ZN9deep_gemm\d+\w*gemm')),  -- DeepGEMM, FP8 and BF16
        -- 8- and 4-bit floating point is multiplied on tensor cores only
        _tells('trtllm', true, regexp_matches(name, '^(bmm|gemm)(Gated)?_(Bfloat16|Fp16|Fp32|E4m3|E2m1|MxE4m3|MxE2m1)_')),  -- TensorRT-LLM's own products
        _tells('aiter', true, regexp_matches(name, 'aiter\d*(::)?\w*((bf16|fp8|f4|i8)_?gemm|fmoe_|moe_)|^fmoe_|kernel_moe_mxgemm|moe_ck2stages')),  -- AMD: AITER's products
        _tells('triton', true, regexp_matches(name, '^_?(p_)?matmul_ogs_|^fused_moe_kernel|^_?w8a8_(block|triton_block)_\w*(matmul|gemm)|_block_scaled_matmul|^scaled_mm_kernel$|^_fbgemm_grouped_gemm|^_kernel_grouped_gemm_\w*bf16')),  -- Triton: experts, products of quantised operands, FBGEMM's and torchtitan's grouped ones
        _tells('triton', null, regexp_matches(name, '^_kernel_grouped_gemm_|^matmul_kernel_(\w+_)?persistent$')),  -- the type decides whether tl.dot is one for tensor cores
        _tells('quantize', false, regexp_matches(name, '(?i)gemm_half_q_half|gemv_?4bit|kgemm_4bit_inference_naive|k(De)?QuantizeBlockwise|kOptimizer|kPreconditionOptimizer|dequantize_weights|mul_mat_vec|LLGemm1')),  -- exllama, bitsandbytes, llama.cpp: without tensor cores
        _tells('quantize', true, regexp_matches(name, 'gemm_forward_4bit_cuda|tinygemm_m16n8|machete::|wvSplitKQ|kgemm_4bit_inference_mma')),  -- AWQ, tinygemm, Machete
        _tells(null, true, regexp_matches(name, '(?i)(fp8|fp4|mxfp|nvfp4|e4m3|e2m1|e5m2)\w*(gemm|_mm_|matmul)|(gemm|matmul)\w*(fp8|fp4|mxfp|e4m3|e2m1|a8w8|a4w4|w8a8)|mqa_logits')),
        _tells(null, true, regexp_matches(name, 'device_kernel.*(Sm|SM|sm)(90|100|103|110|120)\D.*(?i:gemm|mma)')),  -- CUTLASS 3 for Hopper and Blackwell, whatever is around it
        -- libraries
        _tells('nvjet', true, regexp_matches(name, '^nvjet')),  -- cuBLASLt from CUDA 12.4 on, Hopper and Blackwell
        _tells('cudnn', null, regexp_matches(name, '(?i)cudnn.*cutlass|cutlass.*cudnn|xmma_(fprop|dgrad|wgrad)|(fprop|dgrad|wgrad)_(optimized|analytic|implicit)')),  -- cuDNN's convolutions built from CUTLASS and xmma
        _tells('cudnn', false, regexp_matches(name, '(?i)scudnn|winograd|(wgrad|dgrad)_(alg\d+_)?engine|(explicit|implicit)_convolve_sgemm|wgrad_alg|reduce_wgrad|fft2d|conv2d_grouped_direct|conv_depthwise|cudnn_\w*dconv')),  -- cuDNN and PyTorch: convolutions without tensor cores
        _tells('cudnn', null, regexp_matches(name, '(?i)cudnn')),  -- cuDNN, everything else
        _tells('cublas', null, regexp_matches(name, '(?i)xmma_gemm|^(maxwell|volta|turing|ampere|hopper|sm\d+)_\w*gemm|cublas')),  -- cuBLAS
        _tells(null, false, regexp_matches(name, '(?i)(^|_)[sh]gemm(_|$)|gemmSN|gemm_(tiny|largek)|sgemm_largek|magma_\w*gemm|^(maxwell|volta|turing|ampere|hopper)_g?[dcz]gemm_')),  -- without an instruction in the name: single, half, double precision, complex
        _tells('cublas', false, regexp_matches(name, '(?i)^void (sgemm|gemmSN|gemm)')),  -- older cuBLAS
        _tells('cutlass', null, regexp_matches(name, '(?i)cutlass|cute::|device_kernel<.*(Gemm|gemm)')),  -- CUTLASS, whoever built it
        _tells('miopen', false, regexp_matches(name, '(?i)SubTensorOp|batched_transpose_\d')),  -- AMD: MIOpen's fills, casts and layouts
        _tells('miopen', null, regexp_matches(name, '(?i)^igemm_(fwd|bwd|wrw)|miopen')),  -- AMD: MIOpen
        _tells('composable_kernel', null, regexp_matches(name, '\bck::|_ZN2ck|ck_tile')),  -- AMD: Composable Kernel
        _tells('composable_kernel', true, regexp_matches(name, 'ck_tile.*(Gemm|Flatmm)|ck(::|\d+)kernel_moe_(mx)?gemm')),  -- its tiles are multiplied by matrix instructions
        _tells('marlin', true, regexp_matches(name, '(?i)marlin')),  -- Marlin: quantised weights times half precision
        _tells('hipblas', null, regexp_matches(name, '^(Custom_)?Cijk_|rocblas|hipblas|Tensile')),  -- AMD: hipBLASLt, rocBLAS, Tensile
        _tells('nvfuser', false, regexp_matches(name, 'nvfuser_(pointwise|reduction|inner_persistent|outer_persistent|inner_outer_persistent|transpose)|CudaCodeGen::')),  -- nvFuser
        _tells('nvfuser', null, regexp_matches(name, 'nvfuser')),  -- nvFuser, everything else
        -- what PyTorch's own kernels do
        _tells('optimizer', false, regexp_matches(name, '(?i)multi_tensor_apply.*(adam|sgd|lamb|adagrad|rmsprop|lars|novograd)|fused_?adam|adam_cuda_kernel|adamw?_kernel')),  -- fused optimizers
        _tells('embedding', false, regexp_matches(name, '(?i)embedding|embeddings|pooled_embs|bounds_check_indices')),  -- embeddings, FBGEMM's included
        _tells('index', false, regexp_matches(name, '(?i)index_?(select|func|put|elementwise|copy|add|fill)|gather|scatter|masked_|index_kernel')),  -- indexing
        _tells('scan_sort', false, regexp_matches(name, '(?i)\bcub::|::cub::|radix|sort|scan|top_?k|searchsorted|unique|nonzero')),  -- scans, sorts, selections
        _tells('pooling', false, regexp_matches(name, '(?i)pool')),  -- pooling
        _tells('loss', false, regexp_matches(name, '(?i)nll_loss|NLLCriterion|cross_entropy|ctc_loss')),  -- losses
        _tells('copy', false, regexp_matches(name, '(?i)CatArray|direct_copy|copy_kernel|batch_copy|_copy_async|transpose|permute|chunk_cat|split_with_sizes')),  -- copies, concatenations, layouts
        _tells('reduce', false, regexp_matches(name, '(?i)at::native::reduce_kernel|::reduce_kernel|\breduce_|_reduce_|reduction|col_sum|column_sum')),  -- reductions
        _tells('elementwise', false, regexp_matches(name, '(?i)elementwise|multi_tensor_apply|pointwise|FillFunctor|\bfill_|distribution_|triu_tril|dropout|_bias_|gelu|silu|swiglu|geglu|relu|sigmoid|(swi|do)?activation\w*kernel|act_and_mul|rotary|\brope|_rope|upsample|hadamard')),  -- element by element
        _tells('quantize', false, regexp_matches(name, '(?i)(de)?quant|cvt_(fp|bf)?16_to_fp|cast_transpose|cast_to_fp8|FP8rowwise|FP8_qparam')),  -- to fewer bits and back
        _tells('sampling', false, regexp_matches(name, '(?i)sampl(ing|er)|penalt|bitmask|argmax|logits_process|token_ids|slot_mapping|(clamp|compute)_position|prepare_inputs|build_req_to_token')),  -- servers: the next token, tables of requests
        -- libraries and compilers of which no other kernel multiplies matrices on tensor cores
        _tells('elementwise', false, regexp_matches(name, '^cupy_\w+__|^cupy_(fill|copy|arange|take|nonzero)|Eigen::internal::|_GPU_DT_\w+_kernel|^(k_bin_bcast|unary_op_kernel|cpy_|k_get_rows|scale_f32)')),  -- CuPy, TensorFlow, llama.cpp
        _tells('xla', true, regexp_matches(name, '^gemm_fusion')),  -- XLA's products in Triton
        _tells('xla', false, regexp_matches(name, '^(loop|input|wrapped|concatenate|transpose|broadcast|reduce|select|add|multiply|convert|copy|slice|dynamic)\w*(fusion|wrapped_\w+)(_\d+)*$|^fusion(_\d+)?$|^wrapped_\w+$')),  -- XLA's loops
        _tells('pytorch', false, regexp_matches(name, '\bat::(native|cuda)::|at_cuda_detail|::indexing_backward_kernel|at::to_dense|\bcompute_cuda_kernel<|\bc10d?::|torch::')),  -- PyTorch, everything else
        _tells('fbgemm', false, regexp_matches(name, '\bfbgemm_gpu::')),  -- FBGEMM, everything else
        _tells('triton', false, regexp_matches(name, '^_?liger_')),  -- Liger: losses, norms, activations
        _tells('thrust', false, regexp_matches(name, '\bthrust::|\bcudf::|\bcuspatial::'))  -- Thrust, cuDF
    ] as told
    from (select unnest($names::varchar[]) as name)
)

select
    name,
    coalesce(list_filter(list_transform(told, lambda t: t.family), lambda f: f is not null)[1], 'unknown') as family,
    list_filter(list_transform(told, lambda t: t.tensor_core), lambda c: c is not null)[1] as tensor_core
from told;
