-- How long issued compute waited for nothing but communication, per device: the sum over those slices that can tell.
select device, count(*) as slices, count(blocking) as known, sum(blocking)::bigint as blocking_ns
from collective_slice
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by device
order by device
