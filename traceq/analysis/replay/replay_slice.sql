-- GPU work of the window in the order in which it was launched, with what its stream was told to wait for. Work launched before the
-- window that ends inside it is there as well; work whose launch is not in the trace counts as launched when it starts.
-- Migrations of unified memory happen when a page is touched. NULL of a number is -1.
-- What a stream waited for without a record of it, an execution trace tells: the last work on another stream that computed what the
-- slice's operator uses.
-- reads: idle_gap, idle_gap_cause, stream_wait
with
written as (
    select o.slice_id as operator_id, g.device, g.stream, g.slice_id, g.ts_end
    from (select distinct source_id as slice_id from operator_dependency) as s
    inner join cpu_slice as o on o.slice_id = s.slice_id
    inner join cpu_slice as l on l.thread_id = o.thread_id and l.ts >= o.ts and l.ts < o.ts_end
    inner join gpu_slice as g on g.launch_id = l.slice_id
),

tensor_wait as (
    select g.slice_id, max_by(w.slice_id, w.ts_end) as waited_for_id
    from operator_dependency as d
    inner join written as w on w.operator_id = d.source_id
    inner join cpu_slice as l on l.operator_id = d.slice_id
    inner join gpu_slice as g on g.launch_id = l.slice_id
    where
        (w.device, w.stream) is distinct from (g.device, g.stream)
        -- GPU clocks of one device are exact, those of several agree to 1 us
        and w.ts_end <= g.ts + 1000
    group by g.slice_id
)

select
    g.slice_id,
    coalesce(g.launch_id, -1) as launch_id,
    coalesce(g.pid, t.pid, -1) as pid,
    g.device,
    coalesce(g.stream, -1) as stream,
    list_position(
        $categories,
        case
            when g.is_communication then 'communication'
            when g.kind = 'memcpy' then if(g.copy_kind in ('h2d', 'd2h'), 'copy_' || g.copy_kind, 'copy_other')
            when g.kind = 'memset' then 'memset'
            else 'compute'
        end
    ) - 1 as category,
    g.kind = 'memcpy' and 'pageable' in (g.src_memory, g.dst_memory) as is_pageable,
    hash(g.name) as name,
    g.ts,
    g.ts_end,
    coalesce(c.ts, g.ts) as launched,
    coalesce(c.ts_end, g.ts) as returned,
    hash(coalesce(c.name, '')) as call_name,
    coalesce(w.waited_for_id, x.waited_for_id, -1) as waited_for_id,
    w.waited_for_id is null and x.waited_for_id is not null as is_tensor_wait,
    g.copy_kind is not distinct from 'um' as is_migration,
    e.slice_id is not null as is_behind_earlier
from gpu_slice as g
left join cpu_slice as c on c.slice_id = g.launch_id
left join thread as t using (thread_id)
left join (
    select next_slice_id, max_by(waited_for_id, finished) as waited_for_id
    from stream_wait
    where next_slice_id is not null
    group by next_slice_id
) as w on w.next_slice_id = g.slice_id
left join tensor_wait as x on x.slice_id = g.slice_id
left join (
    select distinct i.next_slice_id as slice_id
    from idle_gap_cause as c
    inner join idle_gap as i using (gap_id)
    where c.cause = 'idle_earlier_work'
) as e on e.slice_id = g.slice_id
where coalesce(c.ts, g.ts) < $ts_end and g.ts_end > $ts
order by launched, launch_id, g.ts, g.slice_id
