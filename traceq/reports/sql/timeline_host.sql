-- The host slices of timeline_track, at most $levels levels deep, where none is inside of one that is not drawn; $culprit is always there.
with
near as not materialized (
    select slice_id, t.track, kind, coalesce(depth, 0) as depth, ts, ts_end
    from cpu_slice as c
    inner join timeline_track as t on t.side = 'host' and t.number = c.thread_id
    where c.trace_id = $trace_id and c.ts < $ts_end and c.ts_end > $ts and c.kind not in ('os', 'overhead', 'other')
)

select slice_id, track, least(depth, $levels) as depth, ts, ts_end
from near
where
    (depth < $levels or slice_id = $culprit)
    and (kind <> 'python' or slice_id = $culprit or not exists (select 1 from near where kind <> 'python'))
