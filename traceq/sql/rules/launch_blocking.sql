-- Idle time after kernels whose launching calls had waited for them. Without that wait the host would go on while kernels run, so
-- no more of the host's time can be hidden than kernels ran.
with
kernel as (
    select g.step, g.dur, g.ts_end, c.slice_id, c.name, c.ts_end >= g.ts_end as is_blocking
    from gpu_slice as g
    inner join step as s using (trace_id, step)
    inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where g.trace_id = $trace_id and g.device = $device and g.kind = 'kernel' and s.excluded is null
),

habit as (
    select count(*) as kernels, count(*) filter (is_blocking) as blocking_kernels
    from kernel
),

awaited as (
    select step, sum(dur) as dur
    from kernel
    where is_blocking
    group by step
),

-- gaps that begin where such a kernel ends
gap as materialized (
    select g.gap_id, k.slice_id, k.name
    from idle_gap as g
    inner join (
        select ts_end, any_value(slice_id) as slice_id, any_value(name) as name
        from kernel
        where is_blocking
        group by ts_end
    ) as k on k.ts_end = g.ts
    where g.trace_id = $trace_id and exists (from habit where kernels >= $kernels and blocking_kernels > $share * kernels)
),

piece as (
    select p.step, p.ts, p.dur, p.cause, p.gap_id, g.slice_id, g.name, sum(p.dur) over (partition by p.step) as idle_dur
    from idle_piece as p
    inner join gap as g using (gap_id)
    where
        p.trace_id = $trace_id
        and p.device = $device
        and p.cause in ('idle_launch', 'idle_python', 'idle_sync', 'idle_launch_latency')
)

select
    p.step,
    p.ts,
    p.dur,
    p.name,
    p.slice_id,
    p.dur * least(1, a.dur / p.idle_dur) as claimed,
    p.cause,
    p.gap_id,
    h.kernels,
    h.blocking_kernels
from piece as p
inner join awaited as a using (step)
cross join habit as h
