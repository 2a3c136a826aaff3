-- Matrix products and convolutions in 32 bits on a GPU whose tensor cores compute in 16. The part that can go is what is faster by
-- the peaks (at most a factor of four), but not below the time that moving operands of half the size takes.
with
-- Names are few and long, kernels many: names are looked at once each.
named as materialized (
    select
        name,
        case
            when regexp_matches(name, '(?i)f16|half|bfloat|hgemm|h?884|16816|8816|h1688|f8|e4m3|e5m2|int8|^nvjet_[htq]') then 'half'
            when regexp_matches(name, '(?i)dgemm|f64|d884|dmma|gemm_d|complex|cgemm|zgemm') then 'other'
        end as told,
        regexp_matches(name, '(?i)sgemm|scudnn|ffma|_simt_|winograd|implicit_convolve|(dgrad|wgrad)_(alg\d+_)?engine|wgrad_alg|fft2d|f32f32_f32f32|conv2d_grouped') as is_fp32,
        regexp_matches(name, '(^|_)(volta|turing)_') as is_old,
        regexp_matches(name, '(^|_)(volta|turing|ampere|hopper)_|sm(7[05]|8\d|9\d|1\d\d)_|cutlass_(7|8|9)') as has_tensor_cores,
        regexp_matches(name, '_align[12]\b') as is_unaligned
    from common_kernel_name
    where not regexp_matches(name, '(?i)splitKreduce|epilogue::|gemv|dot_kernel|nchwToNhwc|nhwcToNchw|scalePackedTensor|reduction|reduce_wgrad')
),

product as (
    select
        b.step,
        b.ts,
        b.dur,
        b.name,
        b.slice_id,
        b.ledger_dur,
        o.name as operator,
        if(k.family = 'cudnn', 'convolution', 'matmul') as kind,
        n.is_old,
        n.has_tensor_cores,
        n.is_unaligned,
        x.bytes / (0.8 * x.memory_bandwidth / 1e9) / nullif(x.gpu_dur, 0) as memory_share,
        case
            when x.dtype = 'fp32' then if(k.tensor_core, 'tf32', 'fp32')
            when x.dtype is not null then if(x.dtype in ('fp16', 'bf16', 'fp8', 'int8'), 'half', 'other')
            when n.told is not null then n.told
            when k.tensor_core then 'tf32'
            when n.is_fp32 then 'fp32'
            else 'other'
        end as arithmetic
    from busy_piece as b
    inner join kernel_occupancy as k using (trace_id, slice_id)
    inner join named as n on n.name = b.name
    left join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    left join cpu_slice as o on o.trace_id = b.trace_id and o.slice_id = l.operator_id
    left join operator_cost as x on x.trace_id = b.trace_id and x.slice_id = o.slice_id and x.kind in ('matmul', 'convolution')
    where
        b.trace_id = $trace_id
        and b.device = $device
        and b.category = 'compute'
        and k.family in ('cublas', 'cutlass', 'cudnn', 'nvjet')
),

told as (
    select
        coalesce(sum(ledger_dur) filter (arithmetic = 'half') / nullif(sum(ledger_dur) filter (arithmetic <> 'other'), 0), 0) as half_share,
        bool_or(is_old) as is_old,
        bool_or(has_tensor_cores) as has_tensor_cores
    from product
),

model as (
    select
        t.half_share,
        coalesce(try_cast(m.compute_capability as double) >= 8.0, not t.is_old) as has_bfloat,
        greatest(0.25, coalesce(m.fp32 / coalesce(m.bf16, m.fp16), 0.25)) as from_fp32,
        greatest(0.25, coalesce(m.tf32 / coalesce(m.bf16, m.fp16), 0.5)) as from_tf32
    from told as t
    left join device_model as m on m.trace_id = $trace_id and m.device = $device
    where
        coalesce(try_cast(m.compute_capability as double) >= 7.0 and not regexp_matches(m.name, 'GTX 16|\bT[46]00\b'), t.has_tensor_cores)
        and t.half_share < $most
)

select
    p.step,
    p.ts,
    p.dur,
    p.name,
    p.slice_id,
    p.ledger_dur * greatest(0, 1 - greatest(if(p.arithmetic = 'tf32', m.from_tf32, m.from_fp32), coalesce(p.memory_share / 2, 0))) as claimed,
    'compute' as cause,
    p.slice_id as busy_id,
    p.operator,
    p.arithmetic,
    m.half_share,
    m.has_bfloat
from product as p
cross join model as m
where
    p.arithmetic in ('fp32', 'tf32')
    -- operands that are not aligned are as slow in 16 bits: another rule's
    and not p.is_unaligned
    and claimed > 0
