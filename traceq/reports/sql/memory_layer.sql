-- Memory of devices over the counted steps in 120 parts of equal length, in layers: each part at the moment when most is allocated.
-- Lists begin with the first part of which it is known. Of allocated memory PyTorch's events tell what was so before the capture: all
-- then, less what is released and was never allocated. managed: unified memory (nsys); cached: what PyTorch's allocator holds beyond.
with
span as (
    select min(ts) as ts, max(ts_end) as ts_end from step where trace_id = $trace_id and excluded is null
),

sample as (
    select
        m.device, m.ts, m.number,
        greatest(-1, (120 * (m.ts - s.ts)) // nullif(s.ts_end - s.ts, 0))::integer as part,
        coalesce(last_value(if(m.memory = 'device', m.allocated, null) ignore nulls) over before, 0) as allocated,
        coalesce(last_value(if(m.memory = 'managed', m.allocated, null) ignore nulls) over before, 0) as managed,
        greatest(coalesce(last_value(if(m.memory = 'device', m.reserved, null) ignore nulls) over before, 0) - allocated, 0) as cached
    -- as they were recorded where times are the same
    from (select *, row_number() over () as number from memory_timeline where trace_id = $trace_id) as m
    inner join span as s on m.ts < s.ts_end
    where m.memory in ('device', 'managed') and m.device is not null and m.allocated is not null
    window before as (partition by m.device order by m.ts, m.number rows unbounded preceding)
),

event as (
    select slice_id, ts, json_extract_string(args, ['$."Device Type"', '$."Device Id"', '$.Addr', '$.Bytes', '$."Total Allocated"']) as said
    from cpu_slice
    where
        trace_id = $trace_id
        and kind = 'other'
        and name = '[memory]'
        and exists (from memory_timeline where trace_id = $trace_id and memory = 'device' and is_total)
),

change as (
    select
        ts, slice_id,
        try_cast(said[2] as integer) as device,
        try_cast(said[4] as bigint) as bytes,
        try_cast(said[5] as bigint) as allocated,
        lag(slice_id) over (partition by said[2], said[3] order by ts, slice_id) is null as is_first
    from event
    where try_cast(said[1] as integer) <> 0 and said[3] is not null and try_cast(said[5] as bigint) is not null
),

older as (
    select
        device, ts,
        first_value(allocated - bytes) over before + sum(if(bytes < 0 and is_first, bytes, 0)) over before as bytes
    from change
    window before as (partition by device order by ts, slice_id rows unbounded preceding)
    qualify row_number() over (partition by device, ts order by slice_id desc) = 1
),

reached as (
    select
        device, part,
        arg_max(
            {'ts': ts, 'allocated': allocated, 'managed': managed, 'cached': cached, 'most': allocated + managed},
            {'most': allocated + managed, 'first': -number}
        ) as highest,
        arg_max(
            {'ts': ts, 'allocated': allocated, 'managed': managed, 'cached': cached, 'most': allocated + managed},
            {'ts': ts, 'number': number}
        ) as latest
    from sample
    group by device, part
),

-- at its start a part has what the one before it left
moments as (
    select
        d.device, p.part,
        if(r.part = p.part and (b.latest is null or r.highest.most >= b.latest.most), r.highest, b.latest) as state
    from (select distinct device from reached) as d
    cross join range(120) as p (part)
    asof left join reached as r on r.device = d.device and p.part >= r.part
    asof left join reached as b on b.device = d.device and p.part > b.part
),

divided as (
    select m.device, m.part, m.state, if(o.bytes is null, null, least(greatest(o.bytes, 0), m.state.allocated)) as older
    from (select *, state.ts as ts from moments where state is not null) as m
    asof left join older as o on o.device = m.device and m.ts >= o.ts
),

layers as (
    select
        device, part,
        unnest(['allocated', 'before the capture', 'during the capture', 'managed', 'cached']) as category,
        unnest([
            if(older is null, state.allocated, 0), coalesce(older, 0), if(older is null, 0, state.allocated - older), state.managed, state.cached
        ]) as bytes
    from divided
)

select device, category, min(part) as first_part, list(bytes::bigint order by part) as bytes
from layers
group by device, category
having max(bytes) > 0
order by device, category
