-- Products on tensor cores by kernels for operands that are not aligned to 16 bytes, as their names tell: sizes that are no multiple of 8
-- (4 for TF32). The part that can go is what is above the roofline of an aligned one, at most three quarters; where that is
-- not known, by how badly aligned it is.
-- confidence: medium
-- reason: The names of the kernels say that their operands are not aligned; what aligned ones take is estimated.
-- wrong-if: The product is limited by something else: it takes as long with padded sizes.
-- needs: gpu, steps
-- low: 0.2
-- likely: 0.7
-- high: 1.0
-- settings: compute=0.6, memory=0.8
-- uses: busy, kernel_name
-- categories: compute
with
product as (
    select
        b.*,
        try_cast(regexp_extract(b.name, '_align(\d+)', 1) as integer) as alignment,
        regexp_matches(b.name, '(?i)f16|half') as is_half
    from busy as b
    where
        b.category = 'compute'
        and b.name in (select name from kernel_name where regexp_matches(name, '(?i)(tensorop|s16816|s1688).*_align[124]\b'))
)

select
    p.step,
    p.ts,
    p.dur,
    p.name,
    p.slice_id,
    p.ledger_dur * least(0.75, greatest(0, coalesce(
        1 - greatest(x.flops / (1000 * x.peak * $compute), x.bytes / (x.memory_bandwidth / 1e9 * $memory)) / nullif(x.gpu_dur, 0),
        case p.alignment when 1 then 0.5 when 2 then 0.35 else 0.15 end
    ))) as claimed,
    'compute' as cause,
    p.slice_id as busy_id,
    o.name as operator,
    o.args ->> 'Input Dims' as sizes,
    p.alignment,
    if(p.is_half, 8, 4) as multiple
from product as p
left join cpu_slice as l on l.trace_id = p.trace_id and l.slice_id = p.launch_id
left join cpu_slice as o on o.trace_id = p.trace_id and o.slice_id = l.operator_id
left join operator_cost as x on x.trace_id = p.trace_id and x.slice_id = o.slice_id
where p.alignment < if(p.is_half, 8, 4) and claimed > 0
