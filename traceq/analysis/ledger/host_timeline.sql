-- The innermost open slice of each host thread at each instant, without gaps: every start and end of a slice is a boundary, and the
-- beginning of time. After a start the slice that starts is the innermost, after an end the one around it.
-- Slices that do not nest (_slice_cut, _slice_outlasting, _slice_ended_under) end as the nesting sweep took them to.

create temp table _host_timeline as
with
slice as (
    select
        c.thread_id,
        c.slice_id,
        c.depth,
        c.ts,
        coalesce(cut.ts_end, c.ts_end) as ts_end,
        coalesce(o.inside, c.parent_id, -1) as around,
        u.slice_id is null as ends_in_sight
    from cpu_slice as c
    left join _slice_cut as cut using (slice_id)
    left join _slice_outlasting as o using (slice_id)
    left join _slice_ended_under as u using (slice_id)
    where c.depth is not null and coalesce(cut.ts_end, c.ts_end) > c.ts
),

boundary as (
    select
        thread_id,
        ts,
        -- the deepest of those that start, else what is around the outermost of those that end
        max_by(slice_id, rank) as slice_id
    from (
        select thread_id, ts, slice_id, depth + 1 as rank from slice
        union all
        select thread_id, ts_end, around, -depth from slice where ends_in_sight
        union all
        select distinct thread_id, -9223372036854775808, -1, 0 from cpu_slice
    )
    group by thread_id, ts
)

select
    b.thread_id,
    b.ts,
    nullif(b.slice_id, -1) as slice_id,
    coalesce(s.activity, 'none'::host_activity) as activity,
    coalesce(s.phase, 'other'::host_phase) as phase,
    s.synchronizing_id
from boundary as b
left join _host_slice as s using (slice_id)
order by b.thread_id, b.ts;
