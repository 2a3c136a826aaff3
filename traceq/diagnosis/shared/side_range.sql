-- Ranges and functions of the training thread beside the model, most time first (place, from 1): those named for measuring or preparing, and
-- others in which most of the time is in no operator.
-- uses: host_time, side_part
-- threshold: least_share = 0.05: a range that takes less of the steps is not what is meant
-- threshold: most_of_steps = 0.9: a range around nearly all of a step is the step
-- threshold: least_python = 0.5: in a range with more operators than Python the operators are what takes the time
select
    row_number() over (order by sum(dur) desc, range) as place,
    range,
    coalesce(sum(dur) filter (is_own), 0) / sum(dur) as python_share
from side_part
where range is not null and exists (select slice_id from cpu_slice where trace_id = $trace_id and kind = 'op')
group by range
having
    sum(dur) between $least_share * (select sum(dur) from host_time) and $most_of_steps * (select sum(dur) from host_time)
    and (bool_or(work is not null) or coalesce(sum(dur) filter (is_own), 0) >= $least_python * sum(dur))
order by place
limit 3
