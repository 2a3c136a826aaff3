-- Time of the compute kernels of the counted steps by estimated occupancy.
select
    case
        when estimated_occupancy < 0.25 then 'below 25 %'
        when estimated_occupancy < 0.5 then '25 to 50 %'
        when estimated_occupancy < 0.75 then '50 to 75 %'
        when estimated_occupancy is not null then '75 % and above'
    end as occupancy,
    count(*) as kernels,
    sum(exclusive_dur) as dur_ns
from kernel_occupancy
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null and family <> 'communication'
group by occupancy
order by min(estimated_occupancy) nulls last
