-- What the ledger of the critical device holds for each category over the steps that were replayed, and what synchronizing calls
-- cost beyond their own time: the gaps to which the host came late after them. What stalls of the host cost is part of other categories.
-- reads: collective_slice, idle_gap, idle_gap_cause, stall_cost, step, time_ledger
with
replayed as (
    select step
    from step
    where excluded is null and step between $first_step and $last_step
),

critical as (
    select min_by(device, {'dur': -dur, 'device': device}) as device
    from (
        select device, coalesce(sum(l.dur) filter (not starts_with(category, 'idle_')), 0) as dur
        from time_ledger as l
        inner join step as s using (step)
        where s.excluded is null
        group by device
    )
),

part as (
    select l.category as scenario, l.dur
    from time_ledger as l
    inner join replayed using (step)
    where l.device = (from critical) and not starts_with(l.category, 'idle_')
    union all
    select cause, dur
    from idle_piece
    inner join replayed using (step)
    where device = (from critical)
    union all
    select 'idle_sync', dur
    from idle_piece
    inner join replayed using (step)
    where device = (from critical) and late_after is not null and cause <> 'idle_sync'
        -- launched work that waits for longer than any launch takes waits for something else
        and not (cause = 'idle_launch_latency' and dur >= 100000)
    union all
    select 'host_preempted', c.dur
    from stall_cost as c
    inner join (
        select gap_id, null as slice_id, device, step from idle_gap
        union all
        select null, slice_id, device, step from collective_slice
    ) as w on w.gap_id is not distinct from c.gap_id and w.slice_id is not distinct from c.slice_id
    inner join replayed using (step)
    where w.device = (from critical)
)

select scenario, sum(dur)::bigint as removable
from part
group by scenario
order by scenario
