-- The device of a snapshot with the highest peak: what is in use there, by category.
with
highest as (
    select device, bytes, number, reserved
    from memory_peak
    where trace_id = $trace_id
    order by bytes desc, device
    limit 1
),

held as (
    select
        coalesce(category, 'unknown') as category,
        sum(bytes)::bigint as bytes,
        sum(allocations)::bigint as allocations,
        arg_max({'owner': owner, 'bytes': bytes}, bytes) filter (owner is not null) as largest
    from (
        select h.category, h.owner, sum(h.bytes) as bytes, sum(h.allocations) as allocations
        from memory_holder as h
        inner join highest using (device)
        where h.trace_id = $trace_id
        group by h.category, h.owner
    )
    group by all
)

select
    p.device, p.bytes as peak_bytes, h.category, h.bytes as held_bytes,
    h.bytes / p.bytes as held_share,
    h.allocations,
    h.largest.owner as owner,
    h.largest.bytes::bigint as owner_bytes
from highest as p
cross join held as h
where p.bytes > 0
