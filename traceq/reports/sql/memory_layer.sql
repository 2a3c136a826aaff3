-- Memory of devices over the counted steps in 120 parts of equal length, in layers: each part at the moment when most is allocated.
-- Lists begin with the first part of which it is known. Of allocated memory PyTorch's events tell what was so before the capture: all
-- then, less what is released and was never allocated. managed: unified memory (nsys), at the end of a part; cached: what PyTorch's allocator holds beyond.
with
span as (
    select min(ts) as ts, max(ts_end) as ts_end from step where trace_id = $trace_id and excluded is null
),

sample as (
    select
        m.device, m.ts, m.number, m.allocated,
        greatest(-1, (120 * (m.ts - s.ts)) // nullif(s.ts_end - s.ts, 0))::integer as part,
        greatest(m.reserved - m.allocated, 0) as cached
    -- as they were recorded where times are the same
    from (select *, row_number() over () as number from memory_timeline where trace_id = $trace_id) as m
    inner join span as s on m.ts < s.ts_end
    where m.memory = 'device' and m.device is not null and m.allocated is not null
),

reached as (
    select device, part, max(allocated) as most, max({'ts': ts, 'number': number}) as latest
    from sample
    group by device, part
),

known as (
    select
        r.device, r.part, r.most,
        min_by({'ts': s.ts, 'allocated': s.allocated, 'cached': s.cached}, s.number) filter (s.allocated = r.most) as highest,
        any_value({'ts': s.ts, 'allocated': s.allocated, 'cached': s.cached}) filter (s.number = r.latest.number) as latest
    from reached as r
    inner join sample as s using (device, part)
    where s.allocated = r.most or s.number = r.latest.number
    group by r.device, r.part, r.most
),

-- at its start a part has what the one before it left
moments as (
    select
        d.device, p.part,
        if(r.part = p.part and (b.latest is null or r.most >= b.latest.allocated), r.highest, b.latest) as state
    from (select distinct device from known) as d
    cross join range(120) as p (part)
    asof left join known as r on r.device = d.device and p.part >= r.part
    asof left join known as b on b.device = d.device and p.part > b.part
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
        slice_id, ts,
        try_cast(said[2] as integer) as device,
        said[3] as address,
        try_cast(said[4] as bigint) as bytes,
        try_cast(said[5] as bigint) as allocated
    from event
    where said[1] <> '0' and said[3] is not null
),

released as (
    select device, address, min_by({'ts': ts, 'bytes': bytes}, {'ts': ts, 'slice_id': slice_id}) as first
    from change
    group by device, address
),

older as (
    select
        device, ts,
        (sum(sum(bytes)) over (partition by device order by ts rows unbounded preceding))::bigint as bytes
    from (
        select device, first.ts as ts, first.bytes as bytes from released where first.bytes < 0
        union all
        select device, min(ts), min_by(allocated - bytes, {'ts': ts, 'slice_id': slice_id}) from change group by device
    )
    group by device, ts
),

divided as (
    select
        m.device, m.part, m.state,
        -- of what is unknown least() and greatest() know nothing
        if(o.bytes is null, null, least(greatest(o.bytes, 0), m.state.allocated)) as older,
        u.allocated as managed
    from (
        select m.*, m.state.ts as ts, s.ts + (m.part + 1) * (s.ts_end - s.ts) // 120 as ts_end
        from moments as m
        cross join span as s
        where m.state is not null
    ) as m
    asof left join older as o on o.device = m.device and m.ts >= o.ts
    asof left join (from memory_timeline where trace_id = $trace_id and memory = 'managed') as u on u.device = m.device and m.ts_end > u.ts
),

layers as (
    select
        device, part,
        unnest(['allocated', 'before the capture', 'during the capture', 'managed', 'cached']) as category,
        unnest([if(older is null, state.allocated, 0), older, state.allocated - older, managed, state.cached]) as bytes
    from divided
)

select device, category, min(part) as first_part, list(coalesce(bytes, 0)::bigint order by part) as bytes
from layers
group by device, category
having max(bytes) > 0
order by device, category
