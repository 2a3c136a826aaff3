-- Ranges and functions of the training thread beside the model, most time first (place, from 1): those named for measuring or preparing, and
-- others in which most of the time is in no operator. Not those on which a backward pass depends.
-- uses: host_time, side_part
-- threshold: least_share = 0.05: a range that takes less of the steps is not what is meant
-- threshold: most_of_steps = 0.9: a range around nearly all of a step is the step
-- threshold: least_python = 0.5: in a range with more operators than Python the operators are what takes the time
with
numbered as (
    select
        slice_id,
        ts,
        starts_with(name, 'autograd::engine::evaluate_function') as is_backward,
        regexp_extract(args, '"Sequence number": ?(\d+)', 1) as number
    from cpu_slice
    where
        trace_id = $trace_id
        and kind = 'op'
        and contains(args, '"Sequence number"')
        and (is_backward or thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id))
),

-- A node of the backward pass has the number of the operator that it undoes, and so has what adds no node before that operator.
undone as (
    select max_by(f.slice_id, f.ts) as slice_id
    from numbered as f
    inner join (select number, max(ts) as ts from numbered where is_backward group by number) as b on b.number = f.number
    where not f.is_backward and f.ts < b.ts
    group by f.number
),

needed as (
    select distinct a.range
    from side_part as a
    inner join undone as u on u.slice_id = a.slice_id
)
select
    row_number() over (order by sum(dur) desc, range) as place,
    range,
    bool_or(work is not null) as is_named,
    coalesce(sum(dur) filter (is_own), 0) / sum(dur) as python_share
from side_part
where
    range is not null
    and range not in (select range from needed)
    and exists (select slice_id from cpu_slice where trace_id = $trace_id and kind = 'op')
group by range
having
    sum(dur) between $least_share * (select sum(dur) from host_time) and $most_of_steps * (select sum(dur) from host_time)
    and (bool_or(work is not null) or coalesce(sum(dur) filter (is_own), 0) >= $least_python * sum(dur))
order by place
limit 3
