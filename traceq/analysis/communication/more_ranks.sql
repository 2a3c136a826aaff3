-- Collectives with what tells how long they would take among more ranks: operation, bytes, group, and its axis of parallelism.
-- reads: collective_slice, process_group
select
    s.slice_id,
    s.op,
    s.bytes,
    s.group_name,
    s.group_size,
    a.axis,
    least(s.dur, t.transfer)::double as transfer,
    s.dur::double as dur
from collective_slice as s
left join collective_axis as a on a.trace_id = s.trace_id and a.slice_id = s.slice_id
left join collective_transfer as t on t.trace_id = s.trace_id and t.slice_id = s.slice_id
where s.trace_id = $trace_id
order by s.slice_id;
