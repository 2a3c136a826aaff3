-- The traces to judge, with the critical device of each: the one that is busy longest in the counted steps. A step cannot get
-- shorter than that, so findings are about it. is_recording: traceq record or traceq.profile recorded the trace. has_compile_log: a log
-- beside it tells of compilations.
with
busy as (
    select l.trace_id, l.device, coalesce(sum(l.dur) filter (not starts_with(l.category, 'idle_')), 0) as dur
    from time_ledger as l
    inner join step as s using (trace_id, step)
    where s.excluded is null
    group by l.trace_id, l.device
),

critical as (
    select trace_id, min_by(device, {'dur': -dur, 'device': device}) as device, count(*) as devices
    from busy
    group by trace_id
)

select
    t.trace_id, t.run, t.rank, t.world_size, t.sha256, t.format, c.device,
    coalesce(c.devices, 0) as devices,
    d.name as device_name,
    d.compute_capability,
    coalesce(s.steps, 0) as steps,
    s.mean as step_ns,
    (select any_value(source) from step where step.trace_id = t.trace_id) as step_source,
    json_extract_string(t.args, '/traceq/version') is not null as is_recording,
    exists (from compilation as c where c.trace_id = t.trace_id) as has_compile_log
from trace as t
left join critical as c using (trace_id)
left join device as d on d.trace_id = t.trace_id and d.device = c.device
left join step_stats as s on s.trace_id = t.trace_id
order by t.trace_id
