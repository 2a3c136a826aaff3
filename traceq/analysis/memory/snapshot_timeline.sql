-- The rows of memory_timeline that a snapshot gives, the state before its first event in the first; and the time it covers.
-- reads: _memory_state, memory_peak, step
-- makes: memory_timeline, trace

insert into memory_timeline by name
select
    $trace_id as trace_id,
    m.device,
    'device' as memory,
    m.ts,
    case when m.ts < s.ts_end then s.step end as step,
    m.allocated,
    if(p.reserved is null, null, m.reserved) as reserved,
    m.active,
    p.lost = 0 as is_total
from _memory_state as m
inner join memory_peak as p using (device)
asof left join step as s on m.ts >= s.ts
where m.ts is not null and not exists (from counter where name = 'memory_allocated' and device is not null)
order by m.device, m.number;

-- of a snapshot without a trace marks of the program can be few, or outlast the history
update trace
set
    ts = least(e.ts, trace.ts),
    dur = greatest(e.ts_end, trace.ts + trace.dur) - least(e.ts, trace.ts)
from (select min(ts) as ts, max(ts) as ts_end from allocator_event) as e
where
    e.ts is not null
    and (
        trace.ts is null
        or not exists (from gpu_slice) and not exists (from cpu_slice where kind <> 'annotation')
    );
