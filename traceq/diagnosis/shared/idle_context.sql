-- Idle time with the outermost slice of the host that says what it was for: the loading of data, a save, a compilation.
-- uses: idle
select
    p.step,
    p.ts,
    p.dur,
    coalesce(x.name, c.name) as name,
    coalesce(x.slice_id, c.slice_id) as slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id,
    coalesce(x.dur, c.dur) as context_ns,
    c.kind,
    x.slice_id is not null as is_inside
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
left join cpu_slice as x on x.trace_id = c.trace_id and x.slice_id = c.context_id
where p.cause in ('idle_checkpoint', 'idle_compile')
