-- Memory in use over the history of a memory snapshot in 120 parts, by category: each part at the moment when most is in use.
-- Parts are of equal length, or of equally many events where these have no times.
with
history as (
    select device, min(ts) as ts, greatest(max(ts) - min(ts), 1) as dur, greatest(max(number), 1) as last_number
    from allocator_event
    where trace_id = $trace_id
    group by device
),

changed as (
    select device, coalesce(event, -1) as number, ts, category, requested_bytes as bytes from allocation where trace_id = $trace_id
    union all
    select device, event_end, ts_end, category, -requested_bytes from allocation where trace_id = $trace_id and event_end is not null
),

totals as (
    select
        c.device,
        c.number,
        least(
            if(h.ts is null, 120 * greatest(c.number, 0) // h.last_number, 120::hugeint * (coalesce(c.ts, h.ts) - h.ts) // h.dur), 119
        )::integer as part,
        sum(sum(c.bytes)) over (partition by c.device order by c.number rows unbounded preceding) as bytes
    from changed as c
    inner join history as h using (device)
    group by c.device, c.number, c.ts, h.ts, h.dur, h.last_number
),

reached as (
    select
        device, part,
        arg_max({'bytes': bytes, 'number': number}, {'bytes': bytes, 'first': -number}) as highest,
        arg_max({'bytes': bytes, 'number': number}, number) as latest
    from totals
    group by device, part
),

-- at its start a part has what the one before it left
moments as (
    select
        d.device, p.part,
        if(r.part = p.part and (b.latest is null or r.highest.bytes >= b.latest.bytes), r.highest.number, coalesce(b.latest.number, -1)) as number
    from (select distinct device from reached) as d
    cross join range(120) as p (part)
    asof left join reached as r on r.device = d.device and p.part >= r.part
    asof left join reached as b on b.device = d.device and p.part > b.part
),

layers as (
    select
        device, category, number,
        (sum(sum(bytes)) over (partition by device, category order by number rows unbounded preceding))::bigint as bytes
    from changed
    group by device, category, number
)

select m.device, k.category, 0 as first_part, list(coalesce(l.bytes, 0) order by m.part) as bytes
from moments as m
inner join (select distinct device, category from layers) as k using (device)
asof left join layers as l on l.device = m.device and l.category is not distinct from k.category and m.number >= l.number
group by m.device, k.category
having max(coalesce(l.bytes, 0)) > 0
order by m.device, k.category
