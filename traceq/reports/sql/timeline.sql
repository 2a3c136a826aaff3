-- What is drawn of timeline_group: slices as they are where they are at least $pixel ns long, in detailed steps $fine ns; shorter
-- neighbours of a lane and depth as one, which has kind, name and launch of the longest. Times from $ts.
with
placed as materialized (
    select
        *,
        if(is_fine, $fine, $pixel) as least,
        alone is not null and (ts_end - ts >= least or is_culprit) as is_alone,
        if(is_alone, alone, null) as stays,
        if(is_alone, ts, cell // least) as place_in_time
    from timeline_group
),

grouped as (
    select
        track, depth, is_fine, stays, place_in_time,
        (max(longest) % (1::hugeint << 64))::bigint as shown,
        min(ts) as ts,
        max(ts_end) as ts_end,
        sum(busy)::bigint as busy,
        sum(slices)::bigint as slices,
        bool_or(is_culprit) as is_culprit
    from placed
    group by track, depth, is_fine, stays, place_in_time
),

named as (
    select
        g.*,
        case t.side
            when 'step' then 'step'
            when 'ledger' then string_split($categories, ',')[g.shown]
            when 'host' then c.kind
            else case
                when w.is_communication then 'communication'
                when w.kind = 'kernel' then 'compute'
                when w.kind <> 'memcpy' then w.kind
                when w.copy_kind in ('h2d', 'd2h') then 'copy_' || w.copy_kind
                else 'copy_other'
            end
        end as kind,
        left(case t.side when 'step' then g.shown::varchar when 'ledger' then string_split($categories, ',')[g.shown] else coalesce(c.name, w.name) end, 200) as name,
        w.launch_id
    from grouped as g
    inner join timeline_track as t using (track)
    left join cpu_slice as c on c.trace_id = $trace_id and t.side = 'host' and c.slice_id = g.shown
    left join gpu_slice as w on w.trace_id = $trace_id and t.side = 'gpu' and w.slice_id = g.shown
),

drawn as (
    select *, row_number() over (order by track, depth, ts, ts_end desc, kind, name, stays) - 1 as place
    from named
),

-- Where the call lies too deep to be drawn, what is around it.
candidate as (
    select d.place, u.slice_id, u.nearness
    from drawn as d
    inner join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = d.launch_id
    cross join lateral (
        select * from (values (l.slice_id, 0), (l.operator_id, 1), (l.annotation_id, 2)) as each (slice_id, nearness)
    ) as u
    where u.slice_id is not null
),

launch as (
    select c.place, arg_min(s, c.nearness) as slice
    from candidate as c
    inner join timeline_slice as s on s.number = c.slice_id
    inner join timeline_track as t on t.track = s.track and t.side = 'host'
    group by c.place
),

launched as (
    select
        place,
        slice.track as track,
        slice.depth as depth,
        slice.is_fine as is_fine,
        if(slice.is_fine, $fine, $pixel) as least,
        slice.ts_end - slice.ts >= least or slice.is_culprit as is_alone,
        if(is_alone, slice.number, null) as stays,
        if(is_alone, slice.ts, slice.ts // least) as place_in_time
    from launch
),

lane as (
    select track, row_number() over (order by track) - 1 as lane
    from (select distinct track from grouped)
)

select
    n.lane,
    d.depth,
    d.ts - $ts as ts,
    d.ts_end - d.ts as dur,
    d.busy,
    d.kind,
    d.name,
    d.slices as count,
    coalesce(by_call.place, -1) as launch,
    d.is_culprit
from drawn as d
inner join lane as n using (track)
left join launched as l using (place)
left join drawn as by_call
    on by_call.track = l.track and by_call.depth = l.depth and by_call.is_fine = l.is_fine and by_call.stays is not distinct from l.stays
    and by_call.place_in_time = l.place_in_time
order by d.place
