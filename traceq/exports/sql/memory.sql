-- Memory over time. The name is none that an importer takes for a sample of memory: such samples are in the trace itself.
select
    _event(
        '{"ph":"C"',
        '"traceq"',
        concat('"', if(m.memory = 'device', 'GPU', m.memory), ' memory, bytes:"'),
        t.pid,
        t.tid,
        m.ts - $origin,
        '',
        concat_ws(',', '"allocated":' || m.allocated, '"reserved":' || m.reserved)
    ) as event,
    9 as level,
    0 as dur
-- as they were recorded where times are the same
from (select *, row_number() over () as number from memory_timeline where trace_id = $trace_id) as m
inner join _track as t on t.place = 'counter' and t.a is not distinct from m.device
where m.ts between $since and $until and (m.allocated is not null or m.reserved is not null)
order by m.device, m.memory, m.ts, m.number
