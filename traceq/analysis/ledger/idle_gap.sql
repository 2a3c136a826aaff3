-- wait_debt, and what idle_gap_rows.sql says of each gap: the calls that waited without which the host would not have come late to it.
-- reads: _gap_drain, _gap_fault, _gap_slice, _owed
-- makes: _gap_late, wait_debt

insert into wait_debt
select $trace_id as trace_id, gap_id, slice_id, dur
from _owed
order by gap_id, slice_id;

create temp table _gap_late as
select
    f.gap_id, f.cause, f.cpu_slice_id,
    d.slice_id as drained_by,
    coalesce(d.slice_id, a.slice_id) as late_after,
    c.annotation_number,
    c.operator_number
from _gap_fault as f
left join _gap_drain as d on d.gap_id = f.gap_id
left join (select gap_id, max_by(slice_id, dur) as slice_id from _owed group by gap_id) as a on a.gap_id = f.gap_id
left join _gap_slice as c on c.slice_id = f.cpu_slice_id;
