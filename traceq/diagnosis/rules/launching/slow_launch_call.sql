-- Idle time inside launching calls of kernels that take many times as long as a launch does, less what a launch takes here anyway.
-- confidence: medium
-- reason: The calls are in the trace; what holds them up is not.
-- wrong-if: The calls take as long only with the profiler: compare the time of a step without it.
-- needs: gpu, steps, launches
-- low: 0.3
-- likely: 1.0
-- settings: slow_ns=50000, full=1000
-- uses: idle, counted
-- categories: idle_launch
with
usual as (
    select median(c.dur) as dur
    from gpu_slice as g
    inner join counted using (step)
    inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where g.trace_id = $trace_id and g.device = $device and g.kind = 'kernel'
),

slow as (
    select
        p.step,
        p.ts,
        p.dur,
        c.name,
        c.slice_id,
        p.cause,
        p.gap_id,
        c.dur as call_ns,
        u.dur as usual_ns,
        t.queue_depth,
        least(i.ts_end, c.ts_end) - greatest(i.ts, c.ts) as inside_ns
    from idle as p
    inner join idle_gap as i using (trace_id, gap_id)
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.launch_slice_id
    inner join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.next_slice_id
    left join launch_state as t on t.trace_id = p.trace_id and t.slice_id = p.next_slice_id
    cross join usual as u
    where
        p.cause = 'idle_launch'
        and c.dur > greatest($slow_ns, 4 * u.dur)
        and g.kind = 'kernel'
        and regexp_matches(c.name, 'Launch(Cooperative)?Kernel')
        and coalesce(t.queue_depth, 0) < $full
)

select step, ts, dur, name, slice_id, least(dur, inside_ns - usual_ns) as claimed, cause, gap_id, call_ns, usual_ns, queue_depth
from slow
where inside_ns > usual_ns
