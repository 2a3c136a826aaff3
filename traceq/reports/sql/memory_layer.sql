-- Memory of devices over the counted steps in 120 parts of equal length, in layers: each part at the moment when most is allocated.
-- Lists begin with the first part of which it is known. allocated: device memory; managed: unified memory (nsys); cached: what PyTorch's allocator holds beyond that.
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

reached as (
    select
        device, part,
        arg_max(
            {'allocated': allocated, 'managed': managed, 'cached': cached, 'most': allocated + managed},
            {'most': allocated + managed, 'first': -number}
        ) as highest,
        arg_max(
            {'allocated': allocated, 'managed': managed, 'cached': cached, 'most': allocated + managed},
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

layers as (
    select device, part, unnest(['allocated', 'managed', 'cached']) as category, unnest([state.allocated, state.managed, state.cached]) as bytes
    from moments
    where state is not null
)

select device, category, min(part) as first_part, list(bytes::bigint order by part) as bytes
from layers
group by device, category
having max(bytes) > 0
order by device, category
