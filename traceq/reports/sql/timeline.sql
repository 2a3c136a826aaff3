-- What is drawn, of timeline_piece: the pieces in their order, with kind, name and launch of the slice that is shown, and the number of the
-- piece that has what launched it. Times from $ts. What launched a slice is drawn with others where it is below $pixel ns, in detailed
-- steps $fine ns: in the piece of its cell.
with
host as materialized (
    select slice_id, kind, name
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select shown from timeline_piece inner join timeline_track using (track) where side = 'host')
),

work as materialized (
    select slice_id, kind, name, copy_kind, is_communication, launch_id
    from gpu_slice
    where trace_id = $trace_id and slice_id in (select shown from timeline_piece inner join timeline_track using (track) where side = 'gpu')
),

named as (
    select
        g.*,
        -- a database of others may have categories of its own
        coalesce(case t.side
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
        end, 'other') as kind,
        left(case t.side when 'step' then g.shown::varchar when 'ledger' then string_split($categories, ',')[g.shown] else coalesce(c.name, w.name) end, 200) as name,
        w.launch_id
    from timeline_piece as g
    inner join timeline_track as t using (track)
    left join host as c on t.side = 'host' and c.slice_id = g.shown
    left join work as w on t.side = 'gpu' and w.slice_id = g.shown
),

drawn as (
    select *, row_number() over (order by track, depth, ts, ts_end desc, kind, name, nullif(alone, -1)) - 1 as place
    from named
),

call as materialized (
    select slice_id, operator_id, annotation_id
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select launch_id from work)
),

-- Where the call lies too deep to be drawn, what is around it.
candidate as (
    select d.place, u.slice_id, u.nearness
    from drawn as d
    inner join call as l on l.slice_id = d.launch_id
    cross join lateral (
        select * from (values (l.slice_id, 0), (l.operator_id, 1), (l.annotation_id, 2)) as each (slice_id, nearness)
    ) as u
    where u.slice_id is not null
),

around as materialized (
    select slice_id, track, depth, greatest(ts, $ts) as ts, least(ts_end, $ts_end) as ts_end
    from timeline_host
    where slice_id in (select slice_id from candidate)
),

launch as (
    select c.place, arg_min(s, c.nearness) as slice
    from candidate as c
    inner join around as s using (slice_id)
    group by c.place
),

launched as (
    select
        place,
        slice.track as track,
        slice.depth as depth,
        slice.ts < $detail_end and slice.ts_end > $detail_ts or slice.ts < $other_detail_end and slice.ts_end > $other_detail_ts as is_fine,
        if(is_fine, $fine, $pixel) as least,
        if(slice.ts_end - slice.ts >= least or slice.slice_id = $culprit, slice.slice_id, -1) as alone,
        if(alone = -1, slice.ts // least * least, slice.ts) as cell
    from launch
),

lane as (
    select track, row_number() over (order by track) - 1 as lane
    from (select distinct track from timeline_piece)
)

select
    n.lane,
    d.depth,
    d.ts - $ts as ts,
    d.ts_end - d.ts as dur,
    d.busy,
    d.kind,
    coalesce(d.name, '') as name,
    d.slices as count,
    coalesce(by_call.place, -1) as launch,
    d.is_culprit
from drawn as d
inner join lane as n using (track)
left join launched as l using (place)
left join drawn as by_call
    on by_call.track = l.track and by_call.depth = l.depth and by_call.is_fine = l.is_fine and by_call.alone = l.alone and by_call.cell = l.cell
order by d.place
