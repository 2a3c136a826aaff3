-- The steps of a trace, each with the thread that marks it as the file names it, and when the last work was launched in it.
with
pace as (
    select bool_and(ts is not distinct from gpu_ts) as is_gpu
    from step
    where trace_id = $trace_id
),

launched as (
    select g.step, max(if(p.is_gpu, g.ts, coalesce(c.ts, g.ts))) as last_launch
    from gpu_slice as g
    cross join pace as p
    left join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where g.trace_id = $trace_id and g.step is not null
    group by g.step
)

select
    s.step,
    s.name,
    s.source,
    s.ts,
    s.ts_end,
    s.excluded,
    s.gpu_ts + s.gpu_dur as gpu_ts_end,
    l.last_launch,
    p.is_gpu,
    coalesce(t.pid::varchar, t.process_name) as pid,
    coalesce(t.tid::varchar, t.thread_name) as tid
from step as s
cross join pace as p
left join launched as l on l.step = s.step
left join thread as t on t.trace_id = s.trace_id and t.thread_id = s.thread_id
where s.trace_id = $trace_id
order by s.step;
