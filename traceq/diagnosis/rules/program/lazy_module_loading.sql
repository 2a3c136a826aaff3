-- Idle time in which code was loaded onto the GPU: in calls that do, and in slow first launches of kernels, which do it inside.
-- wrong-if: The capture begins with the program: then this is paid once, and warm-up moves it out of what is
--   measured.
-- needs: gpu, steps, calls
-- low: 0.5
-- likely: 1.0
-- settings: slow_ns=100000
-- uses: idle
-- categories: idle_compile, idle_launch
with
loading as (
    select p.step, p.ts, p.dur, c.name, c.slice_id, p.dur as claimed, p.cause, p.gap_id, true as is_named
    from idle as p
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
    where
        p.cause = 'idle_compile'
        and c.context_id is null
        and c.kind in ('runtime', 'overhead')
        and not contains(c.name, 'Launch')
),

slow as (
    select p.step, p.ts, p.dur, p.cause, p.gap_id, c.slice_id, g.name, g.ts as started, g.device, least(g.ts, c.ts_end) - greatest(i.ts, c.ts) as inside_dur
    from idle as p
    inner join idle_gap as i using (trace_id, gap_id)
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.launch_slice_id
    inner join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.next_slice_id
    where
        p.cause = 'idle_launch'
        and c.dur >= $slow_ns
        and g.kind = 'kernel'
        and regexp_matches(c.name, 'Launch(Cooperative)?Kernel')
),

first_start as (
    select name, min(ts) as started
    from gpu_slice
    where trace_id = $trace_id and device = $device and name in (select name from slow)
    group by name
)

from loading
union all
select step, ts, dur, 'first launch of ' || name, slice_id, least(dur, inside_dur), cause, gap_id, false
from slow
inner join first_start using (name, started)
where inside_dur > 0
