-- Time of the compute kernels of the counted steps by quarter of estimated occupancy, 0 to 3; NULL: not known.
select
    if(estimated_occupancy >= 1, 3, floor(estimated_occupancy * 4))::integer as quarter,
    count(*) as kernels,
    sum(exclusive_dur)::bigint as dur_ns
from kernel_occupancy
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null and family <> 'communication'
group by quarter
order by quarter nulls last
