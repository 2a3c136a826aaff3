-- idle_gap and wait_debt: each gap with its cause, and the calls that waited without which the host would not have come late to it.

insert into wait_debt
select $trace_id as trace_id, gap_id, slice_id, dur
from _owed
order by gap_id, slice_id;

insert into idle_gap by name
select
    $trace_id as trace_id,
    g.* exclude (ts_end, launched, training_thread_id),
    g.ts_end - g.ts as dur,
    d.slice_id as drained_by,
    coalesce(d.slice_id, a.slice_id) as late_after,
    f.* exclude (gap_id),
    c.* exclude (slice_id)
from _gap as g
inner join _gap_fault as f using (gap_id)
left join _gap_drain as d on d.gap_id = g.gap_id
left join (select gap_id, max_by(slice_id, dur) as slice_id from _owed group by gap_id) as a on a.gap_id = g.gap_id
left join _gap_slice as c on c.slice_id = f.cpu_slice_id
order by g.gap_id;
