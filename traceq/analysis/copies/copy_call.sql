-- Each copy with the call that asked for it. Copies of collectives are communication.
-- makes: _copy

create temp table _copy as
select
    g.slice_id, g.device, g.step, g.pid, g.ts, g.ts_end, g.copy_kind,
    -- a migration's name says its direction, whatever its kind
    if(g.copy_kind <> 'um', g.copy_kind, case substr(g.name, 8, 4) when 'HtoD' then 'h2d' when 'DtoH' then 'd2h' when 'DtoD' then 'd2d' end) as direction,
    if(g.copy_kind in ('h2d', 'd2h'), 'copy_' || g.copy_kind, 'copy_other') as category,
    g.bytes, g.src_memory, g.dst_memory,
    'pageable' in (g.src_memory, g.dst_memory) as is_pageable,
    g.launch_id,
    c.thread_id,
    c.ts as launched,
    c.ts_end as returned,
    case when contains(c.name, 'Memcpy') then contains(c.name, 'Async') end as is_async_call,
    -- one record can stand for many copies
    coalesce(try_cast(json_extract_string(g.args, '/copy_count') as bigint), 1) as copies
from gpu_slice as g
left join cpu_slice as c on c.slice_id = g.launch_id
where g.kind = 'memcpy' and not g.is_communication;
