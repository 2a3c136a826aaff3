-- What the name of a kernel tells: its family and whether it runs on tensor cores (matrix cores on AMD). The one list of
-- names, in order: for each of the two the first pattern that matches and says something decides; NULL says nothing.

create temp macro _tells(family, tensor_core, matches) as
    if(matches, {'family': family::varchar, 'tensor_core': tensor_core::boolean}, null);

-- Names are few, kernels are many. Patterns are constants of the query, for those of a table would be compiled anew for
-- every name.
create temp table _kernel_class as
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
        _tells('flash_attention', false, regexp_matches(name, '(?i)flash_(bwd_(dot_do_o|convert_d|clear_d|postprocess|preprocess)|fwd_splitkv_combine|fwd_combine)|FlashAttn(Bwd(Pre|Post)process|FwdCombine)')),  -- FlashAttention: work around the products
        _tells('norm', false, regexp_matches(name, 'cudnn\w*::bn_|bn_(fw|bw)_|(?i)batch_?norm|layer_?norm|rms_?norm|group_?norm|GammaBetaBackward|RowwiseMoments|ComputeFusedParams|ln_(fwd|bwd)_')),  -- normalisations, cuDNN's included
        _tells('softmax', false, regexp_matches(name, '(?i)softmax')),  -- softmax; fused attention does not name it
        -- attention
        _tells('flash_attention', true, regexp_matches(name, '(?i)flash_?(attn_?)?(fwd|bwd)|FlashAttn(Fwd|Bwd)|\bflash::|pytorch_flash')),  -- FlashAttention 1, 2 and 3, forward and backward
        _tells('flash_attention', true, regexp_matches(name, '(?i)cudnn.*(sdpa|flash_(f|b)prop|_mha_|fused_attention)')),  -- cuDNN's fused attention
        _tells('flash_attention', true, regexp_matches(name, 'fmha_cutlass[FB]\w*_(f16|bf16)_\w*sm(7[05]|[89]\d|1\d\d)|fmha_(v\d|fprop|dgrad)')),  -- memory-efficient attention in half precision; TensorRT's fused attention
        _tells('flash_attention', false, regexp_matches(name, 'fmha_cutlass[FB]\w*_sm50')),  -- memory-efficient attention for GPUs without tensor cores
        _tells('flash_attention', null, regexp_matches(name, '(?i)fmha|\battn_fwd|\bbwd_kernel_d[kq]|(paged|unified|ragged)_?attention|attention_kernel|mha_(fwd|bwd)|BatchPrefill|BatchDecode')),  -- attention of other makers and of inference engines; the name does not tell
        -- told by the instruction
        _tells(null, false, regexp_matches(name, '(?i)simt|ffma|_fma_|dfma')),  -- no tensor instruction
        _tells(null, true, regexp_matches(name, '(?i:(^|[^a-z])(tensorop|wmma|wgmma|gmma|umma|hmma|imma|dmma|qmma))|OpClassTensorOp|Gmma|Umma|tcgen05')),  -- CUTLASS's tensorop; mma, wgmma (Hopper) and tcgen05 (Blackwell) instructions
        _tells(null, true, regexp_matches(name, '(?i)[a-z](884|1688|8816|8832|16816|16832|16864)(gemm|cudnn|fprop|dgrad|wgrad|_|$)')),  -- shapes of the instruction: h884, s1688, i8816, s16816
        _tells(null, true, regexp_matches(name, '(?i)xmma_.*(tensor\d|warpgroupsize|tf32)')),  -- xmma kernels name the instruction's shape or a group of warps
        _tells(null, true, regexp_matches(name, '(?i)(^|[^a-z])tf32')),  -- TF32 exists on tensor cores only
        _tells(null, true, regexp_matches(name, 'MainloopSm(90Tma|100|120)|Sm(90|100|120)\w*(Tma|Warp)\w*Specialized')),  -- CUTLASS 3 for Hopper and Blackwell
        _tells(null, true, regexp_matches(name, '_MI\d+x\d+x\d+|xdlops|_gtcx\d?_|\bmfma|[_:]xdl')),  -- AMD: matrix (xdl, mfma) instructions
        -- libraries
        _tells('nvjet', true, regexp_matches(name, '^nvjet')),  -- cuBLASLt from CUDA 12.4 on, Hopper and Blackwell
        _tells('cudnn', null, regexp_matches(name, '(?i)cudnn.*cutlass|cutlass.*cudnn|xmma_(fprop|dgrad|wgrad)|(fprop|dgrad|wgrad)_(optimized|analytic|implicit)')),  -- cuDNN's convolutions built from CUTLASS and xmma
        _tells('cudnn', false, regexp_matches(name, '(?i)scudnn|winograd|(wgrad|dgrad)_(alg\d+_)?engine|(explicit|implicit)_convolve_sgemm|wgrad_alg|reduce_wgrad|fft2d|conv2d_grouped_direct|conv_depthwise|cudnn_\w*dconv')),  -- cuDNN and PyTorch: convolutions without tensor cores
        _tells('cudnn', null, regexp_matches(name, '(?i)cudnn')),  -- cuDNN, everything else
        _tells('cublas', null, regexp_matches(name, '(?i)xmma_gemm|^(maxwell|volta|turing|ampere|hopper|sm\d+)_\w*gemm|cublas')),  -- cuBLAS
        _tells(null, false, regexp_matches(name, '(?i)(^|_)[sh]gemm(_|$)|gemmSN|gemm_(tiny|largek)|sgemm_largek')),  -- single and half precision without tensor cores
        _tells('cublas', false, regexp_matches(name, '(?i)^void (sgemm|gemmSN|gemm)')),  -- older cuBLAS
        _tells('cutlass', null, regexp_matches(name, '(?i)cutlass|cute::|device_kernel<.*(Gemm|gemm)')),  -- CUTLASS, whoever built it
        _tells('miopen', false, regexp_matches(name, '(?i)SubTensorOp|batched_transpose_\d')),  -- AMD: MIOpen's fills, casts and layouts
        _tells('miopen', null, regexp_matches(name, '(?i)^igemm_(fwd|bwd|wrw)|miopen')),  -- AMD: MIOpen
        _tells('composable_kernel', null, regexp_matches(name, '\bck::|_ZN2ck|ck_tile')),  -- AMD: Composable Kernel
        _tells('deep_gemm', true, regexp_matches(name, 'deep_gemm::.*gemm')),  -- DeepGEMM, FP8 and BF16
        _tells('marlin', true, regexp_matches(name, '(?i)marlin')),  -- Marlin: quantised weights times half precision
        _tells('hipblas', null, regexp_matches(name, '^Cijk_|rocblas|hipblas|Tensile')),  -- AMD: hipBLASLt, rocBLAS, Tensile
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
        _tells('elementwise', false, regexp_matches(name, '(?i)elementwise|multi_tensor_apply|pointwise|FillFunctor|\bfill_|distribution_|triu_tril|dropout|_bias_|gelu|silu|relu|rotary|rope'))  -- element by element
    ] as told
    from (select distinct name from gpu_slice where kind = 'kernel')
)

select
    name,
    coalesce(list_filter(list_transform(told, lambda t: t.family), lambda f: f is not null)[1], 'unknown') as family,
    list_filter(list_transform(told, lambda t: t.tensor_core), lambda c: c is not null)[1] as tensor_core
from told;
