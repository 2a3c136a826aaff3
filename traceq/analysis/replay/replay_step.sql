-- The steps, with the number of GPU slices launched in them, and the process that trains. A whole trace is replayed from its first
-- call for a GPU to the end of the work: before and after that it is starting up and coming to an end.
with
working as (
    select min(c.ts) as ts, max(g.ts_end) as ts_end
    from gpu_slice as g
    inner join cpu_slice as c on c.slice_id = g.launch_id
)

select
    s.step,
    if(s.source = 'window', coalesce(w.ts, s.ts), s.ts) as ts,
    if(s.source = 'window', coalesce(w.ts_end, s.ts_end), s.ts_end) as ts_end,
    s.excluded is null as counts,
    coalesce(g.slices, 0) as slices,
    coalesce(t.pid, 0) as pid
from step as s
cross join working as w
left join (select step, count(launch_id) as slices from gpu_slice group by step) as g using (step)
cross join _training_thread as m
left join thread as t on t.thread_id = m.thread_id
order by s.step
