-- The segments of a device's timeline have a duration, do not overlap, and lie inside their step.
select
    a.ts,
    a.device,
    a.dur <= 0
    or coalesce(a.ts + a.dur > lead(a.ts) over (partition by a.device order by a.ts, a.dur), false)
    or (a.step is not null and coalesce(a.ts < s.ts or a.ts + a.dur > s.ts_end, true)) as is_broken,
    'device ' || a.device || ' at ' || a.ts || ' ns' as place
from device_activity as a
left join step as s on s.trace_id = a.trace_id and s.step = a.step
where a.trace_id = $trace_id
