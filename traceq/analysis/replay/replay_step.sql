-- The steps, with the number of GPU slices launched in them, the thread and process that train, and the GPU slice with which a step
-- starts where steps start on the GPU. A whole trace is replayed from its first call for a GPU to the end of the work: before and
-- after that it is starting up and coming to an end.
-- reads: _training_thread, step
with
working as (
    select min(coalesce(c.ts, g.ts)) as ts, max(g.ts_end) as ts_end
    from gpu_slice as g
    left join cpu_slice as c on c.slice_id = g.launch_id
),

starting as (
    select s.step, min(g.slice_id) as slice_id
    from step as s
    inner join gpu_slice as g on g.ts = s.ts
    where s.source = 'recurrence'
    group by s.step
),

-- The last step lasts to the end of its work on the GPU: on the host it ends with its own mark.
marked as (
    select s.step, max(c.ts_end) as own_end
    from step as s
    inner join cpu_slice as c on c.thread_id = s.thread_id and c.ts = s.ts and c.name = s.name
    where c.ts_end <= s.ts_end
    group by s.step
)

select
    s.step,
    if(s.source = 'window', greatest(s.ts, coalesce(w.ts, s.ts)), s.ts) as ts,
    if(s.source = 'window', least(s.ts_end, coalesce(w.ts_end, s.ts_end)), s.ts_end) as ts_end,
    s.excluded is null as counts,
    coalesce(g.slices, 0) as slices,
    coalesce(t.pid, 0) as pid,
    m.thread_id, f.slice_id, e.own_end
from step as s
cross join working as w
left join (select step, count(*) as slices from gpu_slice group by step) as g using (step)
cross join _training_thread as m
left join thread as t on t.thread_id = m.thread_id
left join starting as f on f.step = s.step
left join marked as e on e.step = s.step
order by s.step
