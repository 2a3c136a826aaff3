-- Kernels of matrix products and convolutions, and the arithmetic they are done in: by the operator's types, else by names.
-- uses: busy, kernel_name
with
-- Names are few and long, kernels many: names are looked at once each.
named as materialized (
    select
        name,
        case
            when regexp_matches(name, '(?i)fp?16|half|bfloat|hgemm|h?884|16816|8816|h1688|f8|e4m3|e5m2|int8|^nvjet_(sm\d+_)?[htqo]') then 'half'
            when regexp_matches(name, '(?i)dgemm|f64|d884|dmma|gemm_d|complex|cgemm|zgemm') then 'other'
        end as told,
        regexp_matches(name, '(?i)sgemm|scudnn|ffma|_simt_|winograd|implicit_convolve|(dgrad|wgrad)_(alg\d+_)?engine|wgrad_alg|fft2d|f32f32_f32f32|conv2d_grouped') as is_fp32,
        regexp_matches(name, '(^|_)(volta|turing)_') as is_old,
        regexp_matches(name, '(^|_)(volta|turing|ampere|hopper)_|sm(7[05]|8\d|9\d|1\d\d)_|cutlass_(7|8|9)') as has_tensor_cores,
        regexp_matches(name, '_align[12]\b') as is_unaligned
    from kernel_name
    where not regexp_matches(name, '(?i)splitKreduce|epilogue::|gemv|dot_kernel|nchwToNhwc|nhwcToNchw|scalePackedTensor|reduction|reduce_wgrad')
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur,
    coalesce(r.operator, o.name) as operator,
    if(k.family = 'cudnn', 'convolution', 'matmul') as kind,
    n.is_old, n.has_tensor_cores, n.is_unaligned,
    x.bytes / (0.8 * x.memory_bandwidth / 1e9) / nullif(x.gpu_dur, 0) as memory_share,
    case
        when x.dtype = 'fp32' then if(k.tensor_core, 'tf32', 'fp32')
        when x.dtype is not null then if(x.dtype in ('fp16', 'bf16', 'fp8', 'int8'), 'half', 'other')
        when n.told is not null then n.told
        when k.tensor_core then 'tf32'
        when n.is_fp32 then 'fp32'
        else 'other'
    end as arithmetic
from busy as b
inner join kernel_occupancy as k using (trace_id, slice_id)
inner join named as n on n.name = b.name
left join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
left join cpu_slice as o on o.trace_id = b.trace_id and o.slice_id = l.operator_id
left join graph_kernel as r on r.trace_id = b.trace_id and r.slice_id = b.slice_id
left join operator_cost as x on x.trace_id = b.trace_id and x.slice_id = coalesce(r.operator_id, o.slice_id) and x.kind in ('matmul', 'convolution')
where
    b.category = 'compute'
    and k.family in ('cublas', 'cutlass', 'cudnn', 'nvjet')
