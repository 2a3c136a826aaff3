-- Matrix products (or convolutions) in fp32 without tensor cores, where none of the trace uses TF32 and the GPU has it. The part
-- that can go is what is faster by the peaks, but not below the time that moving the operands takes.
-- uses: matrix_kernel
-- categories: compute
with
judged as (
    select *, bool_or(arithmetic = 'tf32') over (partition by kind) as is_on
    from matrix_kernel
),

model as (
    select coalesce(fp32 / tf32, 0.5) as slower
    from device_model
    where trace_id = $trace_id and device = $device and try_cast(compute_capability as double) >= 8.0
)

select
    p.step,
    p.ts,
    p.dur,
    p.name,
    p.slice_id,
    p.ledger_dur * greatest(0, 1 - greatest(m.slower, coalesce(p.memory_share, 0))) as claimed,
    'compute' as cause,
    p.slice_id as busy_id,
    p.kind,
    p.operator
from judged as p
cross join model as m
where p.arithmetic = 'fp32' and not p.is_on and claimed > 0
