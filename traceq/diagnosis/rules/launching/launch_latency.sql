-- Idle time between the end of a launching call and the start of its work.
-- needs: gpu, steps, launches
-- low: 0.1
-- likely: 0.8
-- high: 1.0
-- settings: shortest=2000
-- rest: yes
-- uses: idle
-- categories: idle_launch_latency
select
    p.step,
    p.ts,
    p.dur,
    g.name,
    p.next_slice_id as slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id,
    c.name as call,
    contains(coalesce(c.name, ''), 'GraphLaunch') as is_graph
from idle as p
left join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.next_slice_id
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.launch_slice_id
where
    p.cause = 'idle_launch_latency'
    -- less lies between any two kernels of a full queue
    and (
        select sum(dur) filter (dur >= $shortest) >= 0.5 * sum(dur)
        from idle
        where cause = 'idle_launch_latency'
    )
