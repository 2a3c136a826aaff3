-- Stalls, gaps that the host comes late to and calls that wait until a device is done, in the order of time, for debts() of
-- ledger/host_debt.py. A stall that no GPU idled for has cost nothing yet: what it holds is the time in which the GPU had work. A call
-- that waits until the device is done ends what is owed: the host would have waited there for longer.
with
stalled as (
    select gap_id, sum(dur)::bigint as dur
    from stall_cost
    where gap_id is not null
    group by gap_id
),

idle as (
    select c.stall_id, g.device, sum(c.dur)::bigint as dur
    from stall_cost as c
    inner join _gap as g using (gap_id)
    group by c.stall_id, g.device
),

work as (
    select device, slice_id, lag(ts, 1000) over (partition by device order by ts, slice_id) as thousandth_before
    from gpu_slice
),

late as (
    select g.*, t.pid
    from _gap as g
    inner join thread as t using (thread_id)
    where g.launched > g.ts
),

lane as (
    select distinct device, pid
    from late
)

select l.device, l.pid, h.ts_end as ts, 0 as place, h.stall_id as id, h.dur - coalesce(h.usual, 0) - coalesce(i.dur, 0) as dur, null::bigint as ahead,
    true as waits_for_device
from host_stall as h
inner join thread as t using (thread_id)
inner join lane as l on l.pid is not distinct from t.pid
left join idle as i on i.stall_id = h.stall_id and i.device = l.device
where h.dur > coalesce(h.usual, 0) + coalesce(i.dur, 0)
union all
select d.device, d.pid, d.ts, 1, null, 0, 0, false
from _dry as d
union all
select g.device, g.pid, g.ts, 1, g.gap_id, g.ts_end - g.ts - coalesce(s.dur, 0), g.ts - w.thousandth_before, false
from late as g
left join work as w on w.slice_id = g.next_slice_id
left join stalled as s on s.gap_id = g.gap_id
order by device, pid nulls first, ts, place, id nulls first
