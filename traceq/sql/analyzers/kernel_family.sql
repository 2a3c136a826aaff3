-- What the name of a kernel tells: its family and whether it runs on tensor cores (matrix cores on AMD). The one list of
-- names. For each of the two the first pattern that matches and says something decides; NULL says nothing.

create temp table _kernel_name as
from (values
    -- Triton first: Inductor names a kernel after the operators in it, norms and collectives among them
    (1, 'triton', false, '^triton_(poi|red|per|for)_', 'Inductor: pointwise, reductions'),
    (2, 'triton', null, '^triton_|_0d1d|\d(de?\d)+(de?c?)*$', 'Inductor''s templates, Triton 2''s signatures at the end of the name'),
    -- helpers of matrix kernels, which multiply nothing themselves
    (10, 'cublas', false, 'splitKreduce|cublasLt::epilogue|epilogue::impl::|cublasTransposeParams', 'cuBLAS: sums of split products, epilogues'),
    (11, 'cublas', false, '(?i)gemv|\bdot_kernel<|reduce_1Block_kernel|\bgemmk1_kernel|\bscal_kernel<|\baxpy_kernel', 'cuBLAS: matrix times vector, dot products'),
    (12, 'cudnn', false, 'cask_cudnn|(?i)nchwToNhwc|nhwcToNchw|scalePackedTensor|im2col', 'cuDNN: offsets, layouts'),
    (13, 'cudnn', false, 'cudnn\w*::(reduction|reduce)|ReduceSplitK', 'sums of split convolutions'),
    (14, 'flash_attention', false, '(?i)flash_(bwd_(dot_do_o|convert_d|clear_d|postprocess|preprocess)|fwd_splitkv_combine|fwd_combine)|FlashAttn(Bwd(Pre|Post)process|FwdCombine)', 'FlashAttention: work around the products'),
    (15, 'norm', false, 'cudnn\w*::bn_|bn_(fw|bw)_|(?i)batch_?norm|layer_?norm|rms_?norm|group_?norm|GammaBetaBackward|RowwiseMoments|ComputeFusedParams|ln_(fwd|bwd)_', 'normalisations, cuDNN''s included'),
    (16, 'softmax', false, '(?i)softmax', 'softmax; fused attention does not name it'),
    -- attention
    (20, 'flash_attention', true, '(?i)flash_?(attn_?)?(fwd|bwd)|FlashAttn(Fwd|Bwd)|\bflash::|pytorch_flash', 'FlashAttention 1, 2 and 3, forward and backward'),
    (21, 'flash_attention', true, '(?i)cudnn.*(sdpa|flash_(f|b)prop|_mha_|fused_attention)', 'cuDNN''s fused attention'),
    (22, 'flash_attention', true, 'fmha_cutlass[FB]\w*_(f16|bf16)_\w*sm(7[05]|[89]\d|1\d\d)|fmha_(v\d|fprop|dgrad)', 'memory-efficient attention in half precision; TensorRT''s fused attention'),
    (23, 'flash_attention', false, 'fmha_cutlass[FB]\w*_sm50', 'memory-efficient attention for GPUs without tensor cores'),
    (24, 'flash_attention', null, '(?i)fmha|\battn_fwd|\bbwd_kernel_d[kq]|(paged|unified|ragged)_?attention|attention_kernel|mha_(fwd|bwd)|BatchPrefill|BatchDecode', 'attention of other makers and of inference engines; the name does not tell'),
    -- told by the instruction
    (30, null, false, '(?i)simt|ffma|_fma_|dfma', 'no tensor instruction'),
    (31, null, true, '(?i:(^|[^a-z])(tensorop|wmma|wgmma|gmma|umma|hmma|imma|dmma|qmma))|OpClassTensorOp|Gmma|Umma|tcgen05', 'CUTLASS''s tensorop; mma, wgmma (Hopper) and tcgen05 (Blackwell) instructions'),
    (32, null, true, '(?i)[a-z](884|1688|8816|8832|16816|16832|16864)(gemm|cudnn|fprop|dgrad|wgrad|_|$)', 'shapes of the instruction: h884, s1688, i8816, s16816'),
    (33, null, true, '(?i)xmma_.*(tensor\d|warpgroupsize|tf32)', 'xmma kernels name the instruction''s shape or a group of warps'),
    (34, null, true, '(?i)(^|[^a-z])tf32', 'TF32 exists on tensor cores only'),
    (35, null, true, 'MainloopSm(90Tma|100|120)|Sm(90|100|120)\w*(Tma|Warp)\w*Specialized', 'CUTLASS 3 for Hopper and Blackwell'),
    (36, null, true, '_MI\d+x\d+x\d+|xdlops|_gtcx\d?_|\bmfma|[_:]xdl', 'AMD: matrix (xdl, mfma) instructions'),
    -- libraries
    (40, 'nvjet', true, '^nvjet', 'cuBLASLt from CUDA 12.4 on, Hopper and Blackwell'),
    (41, 'cudnn', null, '(?i)cudnn.*cutlass|cutlass.*cudnn|xmma_(fprop|dgrad|wgrad)|(fprop|dgrad|wgrad)_(optimized|analytic|implicit)', 'cuDNN''s convolutions built from CUTLASS and xmma'),
    (42, 'cudnn', false, '(?i)scudnn|winograd|(wgrad|dgrad)_(alg\d+_)?engine|(explicit|implicit)_convolve_sgemm|wgrad_alg|reduce_wgrad|fft2d|conv2d_grouped_direct|conv_depthwise|cudnn_\w*dconv', 'cuDNN and PyTorch: convolutions without tensor cores'),
    (43, 'cudnn', null, '(?i)cudnn', 'cuDNN, everything else'),
    (44, 'cublas', null, '(?i)xmma_gemm|^(maxwell|volta|turing|ampere|hopper|sm\d+)_\w*gemm|cublas', 'cuBLAS'),
    (45, null, false, '(?i)(^|_)[sh]gemm(_|$)|gemmSN|gemm_(tiny|largek)|sgemm_largek', 'single and half precision without tensor cores'),
    (46, 'cublas', false, '(?i)^void (sgemm|gemmSN|gemm)', 'older cuBLAS'),
    (47, 'cutlass', null, '(?i)cutlass|cute::|device_kernel<.*(Gemm|gemm)', 'CUTLASS, whoever built it'),
    (53, 'hipblas', null, '^Cijk_|rocblas|hipblas|Tensile', 'AMD: hipBLASLt, rocBLAS, Tensile'),
    (48, 'miopen', false, '(?i)SubTensorOp|batched_transpose_\d', 'AMD: MIOpen''s fills, casts and layouts'),
    (49, 'miopen', null, '(?i)^igemm_(fwd|bwd|wrw)|miopen', 'AMD: MIOpen'),
    (50, 'composable_kernel', null, '\bck::|_ZN2ck|ck_tile', 'AMD: Composable Kernel'),
    (51, 'deep_gemm', true, 'deep_gemm::.*gemm', 'DeepGEMM, FP8 and BF16'),
    (52, 'marlin', true, '(?i)marlin', 'Marlin: quantised weights times half precision'),
    (62, 'nvfuser', false, 'nvfuser_(pointwise|reduction|inner_persistent|outer_persistent|inner_outer_persistent|transpose)|CudaCodeGen::', 'nvFuser'),
    (63, 'nvfuser', null, 'nvfuser', 'nvFuser, everything else'),
    -- what PyTorch's own kernels do
    (70, 'optimizer', false, '(?i)multi_tensor_apply.*(adam|sgd|lamb|adagrad|rmsprop|lars|novograd)|fused_?adam|adam_cuda_kernel|adamw?_kernel', 'fused optimizers'),
    (71, 'embedding', false, '(?i)embedding|embeddings|pooled_embs|bounds_check_indices', 'embeddings, FBGEMM''s included'),
    (72, 'index', false, '(?i)index_?(select|func|put|elementwise|copy|add|fill)|gather|scatter|masked_|index_kernel', 'indexing'),
    (73, 'scan_sort', false, '(?i)\bcub::|::cub::|radix|sort|scan|top_?k|searchsorted|unique|nonzero', 'scans, sorts, selections'),
    (74, 'pooling', false, '(?i)pool', 'pooling'),
    (75, 'loss', false, '(?i)nll_loss|NLLCriterion|cross_entropy|ctc_loss', 'losses'),
    (76, 'copy', false, '(?i)CatArray|direct_copy|copy_kernel|batch_copy|_copy_async|transpose|permute|chunk_cat|split_with_sizes', 'copies, concatenations, layouts'),
    (77, 'reduce', false, '(?i)at::native::reduce_kernel|::reduce_kernel|\breduce_|_reduce_|reduction|col_sum|column_sum', 'reductions'),
    (78, 'elementwise', false, '(?i)elementwise|multi_tensor_apply|pointwise|FillFunctor|\bfill_|distribution_|triu_tril|dropout|_bias_|gelu|silu|relu|rotary|rope', 'element by element')
) as t (rank_order, family, tensor_core, pattern, meaning);

-- Names are few, kernels are many.
create temp table _kernel_class as
with
name as (
    select distinct name from gpu_slice where kind = 'kernel'
),

told as (
    select
        n.name,
        arg_min(k.family, k.rank_order) filter (k.family is not null) as family,
        arg_min(k.tensor_core, k.rank_order) filter (k.tensor_core is not null) as tensor_core
    from name as n
    inner join _kernel_name as k on regexp_matches(n.name, k.pattern)
    group by n.name
)

select n.name, coalesce(t.family, 'unknown') as family, t.tensor_core
from name as n
left join told as t using (name);
