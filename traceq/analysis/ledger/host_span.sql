-- Slices of a block (host_block.sql) that take time, as the nesting sweep took them to end: that of one that is cut is the end of its
-- parent, which says what is around both (ends_in_sight).
-- reads: _slice_cut, _slice_ended_under, _slice_outlasting
select
    c.thread_id::bigint as thread_id,
    c.slice_id,
    c.ts,
    coalesce(cut.ts_end, c.ts_end) as ts_end,
    c.depth::bigint as depth,
    coalesce(o.depth, c.depth)::bigint as depth_at_end,
    coalesce(o.inside, c.parent_id, -1) as around,
    u.slice_id is null and cut.slice_id is null as ends_in_sight
from cpu_slice as c
left join _slice_cut as cut using (slice_id)
left join _slice_outlasting as o using (slice_id)
left join _slice_ended_under as u using (slice_id)
where
    c.depth is not null
    and coalesce(cut.ts_end, c.ts_end) > c.ts
    and c.thread_id between $thread and $last_thread
    and (c.thread_id > $thread or c.ts >= $ts)
    and (c.thread_id < $last_thread or c.ts < $ts_end);
