-- copy_overlap: each copy, what ran beside it, and how it was asked for. The definition is in docs/metrics.md.
-- reads: _copy, _copy_position, _copy_return, _copy_time
-- makes: copy_overlap

insert into copy_overlap by name
with
copy as (
    select
        c.*,
        t.* exclude (slice_id),
        c.bytes / nullif(t.dur, 0) as bandwidth,
        case
            when c.bytes < 4096 then 'below 4 KiB'
            when c.bytes < 65_536 then 'below 64 KiB'
            when c.bytes < 1_048_576 then 'below 1 MiB'
            when c.bytes < 16_777_216 then 'below 16 MiB'
            when c.bytes is not null then '16 MiB and above'
        end as size_class
    from _copy as c
    inner join _copy_time as t using (slice_id)
),

batch as (
    select launch_id, sum(copies)::bigint as copies
    from _copy
    where launch_id is not null
    group by launch_id
)

select
    $trace_id as trace_id,
    c.* exclude (pid, ts, ts_end, src_memory, dst_memory, launch_id, thread_id, launched, returned, copies),
    max(c.bandwidth) over (partition by c.copy_kind, c.direction, c.src_memory, c.dst_memory, c.size_class) as best_bandwidth,
    if(c.direction in ('h2d', 'd2h'), m.host_link_bandwidth, null) as link_bandwidth,
    case
        when c.launch_id is null then null
        when not c.is_async_call and c.direction in ('h2d', 'd2h', 'h2h') then true
        when c.is_async_call and c.is_pageable then true
        else c.returned >= c.ts_end
    end as is_blocking,
    c.returned - c.launched as host_dur,
    b.copies as batch,
    p.position,
    r.returns_slice_id
from copy as c
left join device_model as m on m.device = c.device
left join batch as b using (launch_id)
left join _copy_position as p using (slice_id)
left join _copy_return as r using (slice_id)
order by c.device, c.ts, c.slice_id;
