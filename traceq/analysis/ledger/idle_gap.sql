-- idle_gap and wait_debt: each gap with its cause, and the calls that waited without which the host would not have come late to it.

insert into wait_debt
select $trace_id as trace_id, gap_id, slice_id, dur
from _owed
order by gap_id, slice_id;

-- In two statements: one would hold the tables of all its joins at once.
create temp table _gap_late as
select
    f.gap_id,
    f.cause,
    f.cpu_slice_id,
    d.slice_id as drained_by,
    coalesce(d.slice_id, a.slice_id) as late_after
from _gap_fault as f
left join _gap_drain as d using (gap_id)
left join (select gap_id, max_by(slice_id, dur) as slice_id from _owed group by gap_id) as a using (gap_id);

insert into idle_gap by name
select
    $trace_id as trace_id,
    g.* exclude (ts_end, launched, training_thread_id),
    g.ts_end - g.ts as dur,
    f.* exclude (gap_id),
    a.name as annotation,
    o.name as operator
from _gap as g
inner join _gap_late as f using (gap_id)
left join _gap_slice as c on c.slice_id = f.cpu_slice_id
left join _gap_word as a on a.number = c.annotation_number
left join _gap_word as o on o.number = c.operator_number
order by g.gap_id;
