-- Stalls, gaps that the host comes late to and calls that wait for a device, in the order of time, for debts() of ledger/host_debt.py.
-- What a stall holds is the time in which the GPU had work: the rest it has cost already. A call that waits ends what is owed, by room
-- for nothing (ahead = 0): without the stall the host would have waited there for longer. Work that has been launched and waits for
-- longer than any launch takes (100 us) waits for something else.
-- reads: _gap, _host_slice, host_stall, stall_cost
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
select l.device, l.pid, c.ts, 1, null, 0, 0, false
from _host_slice as h
inner join cpu_slice as c using (slice_id)
inner join thread as t using (thread_id)
inner join lane as l on l.pid is not distinct from t.pid
where c.kind = 'runtime' and h.synchronizing_id = h.slice_id
union all
select g.device, g.pid, g.ts, 1, g.gap_id, if(g.ts_end - g.launched < 100000, g.ts_end, g.launched) - g.ts - coalesce(s.dur, 0), g.ts - w.thousandth_before, false
from late as g
left join work as w on w.slice_id = g.next_slice_id
left join stalled as s on s.gap_id = g.gap_id
order by device, pid nulls first, ts, place, id nulls first
