-- Kernels by name, where one of them has most of the time in which the GPU is busy.
-- uses: busy
-- remarks: yes
with
total as (
    select sum(ledger_dur) as dur, count(distinct hash(name)) filter (category = 'compute') as kernels
    from busy
)

select
    b.name,
    k.family,
    count(*) as launches,
    sum(b.ledger_dur) as total_ns,
    sum(b.ledger_dur) / any_value(t.dur) as busy_share,
    avg(b.dur) as mean_ns,
    mode(k.limiter) as limiter,
    avg(k.theoretical_occupancy) as occupancy_share
from busy as b
inner join kernel_occupancy as k using (trace_id, slice_id)
cross join total as t
where
    b.category = 'compute'
    -- matrix products on tensor cores are what a GPU is there for
    and not (k.family in ('cublas', 'cutlass', 'nvjet') and k.tensor_core is true)
group by b.name, k.family
having
    sum(b.ledger_dur) > $least * any_value(t.dur)
    and sum(b.ledger_dur) > $of_step * (select total from step_stats where trace_id = $trace_id)
    and any_value(t.kernels) > 1
