-- memory_peak: when most was in use on each device of a snapshot, and how far the history can be trusted.
-- reads: _life, _memory_state
-- makes: memory_peak

insert into memory_peak by name
with
highest as (
    select
        device,
        arg_max({'number': number, 'ts': ts, 'bytes': active, 'reserved': reserved}, {'bytes': active, 'first': -number}) as at,
        max(reserved) as most_reserved,
        arg_max(ts, {'bytes': reserved, 'first': -number}) as ts_most_reserved,
        -- what is in use beyond what is reserved lies in segments of which the file says nothing
        coalesce(min(reserved) >= 0 and bool_and(active <= reserved), false) as is_reserved_known
    from _memory_state
    group by device
),

life as (
    select
        device,
        count(*) filter (event is null) as older,
        coalesce(sum(requested_bytes) filter (event is null), 0)::bigint as older_bytes,
        count(*) filter (is_lost) as lost,
        coalesce(sum(requested_bytes) filter (is_lost), 0)::bigint as lost_bytes,
        count(*) filter (segment_id is not null) as at_end,
        coalesce(sum(requested_bytes) filter (segment_id is not null), 0)::bigint as requested_at_end,
        coalesce(sum(bytes) filter (segment_id is not null), 0)::bigint as bytes_at_end
    from _life
    group by device
),

segment as (select device, sum(bytes)::bigint as reserved_at_end from allocator_segment group by device)

select
    $trace_id as trace_id,
    h.device,
    if(h.at.number >= 0, h.at.number, null) as number,
    h.at.ts as ts,
    h.at.bytes as bytes,
    if(h.is_reserved_known, h.at.reserved, null)::bigint as reserved,
    if(h.is_reserved_known, h.most_reserved, null)::bigint as most_reserved,
    if(h.is_reserved_known, h.ts_most_reserved, null) as ts_most_reserved,
    coalesce(l.older, 0) as older,
    coalesce(l.older_bytes, 0) as older_bytes,
    coalesce(l.lost, 0) as lost,
    coalesce(l.lost_bytes, 0) as lost_bytes,
    coalesce(l.at_end, 0) as at_end,
    coalesce(l.requested_at_end, 0) as requested_at_end,
    coalesce(l.bytes_at_end, 0) as bytes_at_end,
    s.reserved_at_end
from highest as h
left join life as l using (device)
left join segment as s using (device)
order by h.device;
