-- The ranges whose within the trace does not show, most own time of the training thread first.
-- uses: host_time
-- threshold: least_share = 0.05: a range that takes less is not what is meant
select
    row_number() over (order by sum(dur) desc, regexp_replace(name, '\d+', '#', 'g')) as place,
    exists (select slice_id from cpu_slice where trace_id = $trace_id and kind = 'op') as has_operators
from host_time
where
    category = 'annotation'
    and elsewhere is null
    and (phase = 'backward' or not exists (select slice_id from cpu_slice where trace_id = $trace_id and kind = 'op'))
group by regexp_replace(name, '\d+', '#', 'g')
having sum(dur) >= $least_share * (select sum(dur) from host_time)
order by place
limit 3
