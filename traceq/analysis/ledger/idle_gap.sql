-- idle_gap: each gap with its cause, and the call that waited after which the host had not caught up when it began.

-- When the host had caught up: work waits in the queue for as long as the call had held the host (own), or as long as one before it had
-- that it had not caught up with (all).
create temp table _caught_up as
select
    a.device,
    a.drained_by,
    min(a.ts) filter (a.lead >= d.held) as own,
    min(a.ts) filter (a.lead >= o.debt) as ts
from _ahead as a
inner join _dry as d using (device, drained_by)
inner join _debt as o using (device, drained_by)
where a.lead >= d.held
group by a.device, a.drained_by;

-- The gaps that the host came late to before it had caught up. An operator with its launch takes 20 to 50 us: in what is longer the
-- host did something else.
create temp table _late_after as
select g.gap_id, if(u.own is null or g.ts < u.own, d.drained_by, o.owed_to) as drained_by
from _gap as g
inner join thread as t using (thread_id)
asof inner join _dry as d on d.device = g.device and g.ts >= d.ts
inner join _debt as o on o.device = d.device and o.drained_by = d.drained_by
left join _caught_up as u on u.device = d.device and u.drained_by = d.drained_by
where
    g.launched > g.ts
    and g.ts_end - g.ts <= 100000
    and t.pid is not distinct from d.pid
    and (u.ts is null or g.ts < u.ts);

insert into idle_gap by name
select
    $trace_id as trace_id,
    g.* exclude (ts_end, launched, training_thread_id),
    g.ts_end - g.ts as dur,
    d.slice_id as drained_by,
    coalesce(d.slice_id, a.drained_by) as late_after,
    f.* exclude (gap_id),
    c.* exclude (slice_id)
from _gap as g
inner join _gap_fault as f using (gap_id)
left join _gap_drain as d on d.gap_id = g.gap_id
left join _late_after as a on a.gap_id = g.gap_id
left join _gap_slice as c on c.slice_id = f.cpu_slice_id
order by g.gap_id;
