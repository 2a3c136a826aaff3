-- As timeline_host.sql, where some are: how deep slices lie is counted anew, among those that are kept.
with recursive
near as materialized (
    select
        c.slice_id, c.parent_id, c.ts, c.ts_end, t.track,
        c.kind <> 'python' or c.slice_id = $culprit or not exists (
            select 1 from cpu_slice as o
            where o.trace_id = $trace_id and o.ts < $ts_end and o.ts_end > $ts and o.kind not in ('os', 'overhead', 'other', 'python')
        ) as is_kept
    from cpu_slice as c
    inner join timeline_track as t on t.side = 'host' and t.number = c.thread_id
    where c.trace_id = $trace_id and c.ts < $ts_end and c.ts_end > $ts and c.kind not in ('os', 'overhead', 'other')
),

-- From slices whose parents are not here, as they ended before, up to the first around them that is.
climb as (
    select slice_id, parent_id as above_id
    from near
    where parent_id is not null and parent_id not in (select slice_id from near)
    union all
    select c.slice_id, p.parent_id
    from climb as c
    inner join cpu_slice as p on p.trace_id = $trace_id and p.slice_id = c.above_id
    where c.above_id not in (select slice_id from near)
),

placed as materialized (
    select n.*, if(n.parent_id in (select slice_id from near), n.parent_id, c.above_id) as around_id
    from near as n
    left join (select slice_id, above_id from climb where above_id in (select slice_id from near)) as c using (slice_id)
),

level as (
    select slice_id, track, ts, ts_end, is_kept, 0 as depth
    from placed
    where around_id is null
    union all
    select p.slice_id, p.track, p.ts, p.ts_end, p.is_kept, l.depth + l.is_kept::integer
    from level as l
    inner join placed as p on p.around_id = l.slice_id
)

select slice_id, track, least(depth, $levels) as depth, ts, ts_end
from level
where is_kept and (depth < $levels or slice_id = $culprit)
