-- Idle time of GPUs in the counted steps, by cause, by the thread that was late, and by the call that was innermost on it then.
-- Where the host was not late, the call is the one that launched the next work. -1 is an unknown thread, or no call.
with
piece as (
    select c.gap_id, c.cause, c.cpu_slice_id, c.dur, g.thread_id
    from idle_gap_cause as c
    inner join idle_gap as g using (trace_id, gap_id)
    where c.trace_id = $trace_id and g.step in (select step from step where trace_id = $trace_id and excluded is null)
),

filled as (
    select p.gap_id, p.cause, p.thread_id, k.slice_id, k.dur
    from piece as p
    inner join idle_culprit as k on k.trace_id = $trace_id and k.gap_id = p.gap_id and k.cause = p.cause
),

-- what no call of the late thread filled
rest as (
    select
        gap_id,
        cause,
        p.thread_id,
        if(p.cause in ('idle_launch_latency', 'idle_dependency', 'idle_earlier_work'), p.cpu_slice_id, null) as slice_id,
        p.dur - coalesce(f.dur, 0) as dur
    from piece as p
    left join (select gap_id, cause, sum(dur)::bigint as dur from filled group by gap_id, cause) as f using (gap_id, cause)
)

select
    coalesce(c.shown_id, -1) as slice_id,
    coalesce(s.thread_id, -1) as thread_id,
    s.cause,
    sum(s.dur)::bigint as dur
from (from filled union all by name from rest) as s
left join (
    -- what the profiler says of itself is in no flame graph
    select slice_id, if(kind = 'other' and category is not distinct from 'Trace', parent_id, slice_id) as shown_id
    from cpu_slice
    where trace_id = $trace_id
) as c on c.slice_id = s.slice_id
where s.dur > 0
group by 1, 2, 3
order by 1, 2, 3
