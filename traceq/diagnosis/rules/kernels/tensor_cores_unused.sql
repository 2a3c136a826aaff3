-- Matrix products and convolutions in 32 bits on a GPU whose tensor cores compute in 16. The part that can go is what is faster by
-- the peaks (at most a factor of four), but not below the time that moving operands of half the size takes.
-- wrong-if: Results are needed in 32 bits, or these products are too small to fill tensor cores.
-- needs: gpu, steps
-- low: 0.25
-- likely: 0.6
-- high: 1.0
-- settings: most=0.5
-- uses: matrix_kernel
-- categories: compute
with
product as (
    from matrix_kernel
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
