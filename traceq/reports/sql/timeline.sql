-- What is drawn of timeline_slice: slices as they are where they are at least $pixel ns long, in detailed steps $fine ns; shorter
-- neighbours of a lane and depth as one. Times from $ts.
with
placed as (
    select
        *,
        if(is_fine, $fine, $pixel) as least,
        ts_end - ts >= least or is_culprit as is_alone,
        if(is_alone, coalesce(slice_id, -1), -2) as alone,
        if(is_alone, ts, ts // least) as place_in_time
    from timeline_slice
),

grouped as (
    select
        lane, depth, is_alone, is_fine, alone, place_in_time,
        -- Of several short ones, the longest gives kind, name and launch.
        arg_max(kind, (ts_end - ts, kind, name)) as kind,
        arg_max(name, (ts_end - ts, kind, name)) as name,
        arg_max(launch_id, (ts_end - ts, kind, name, slice_id)) as launch_id,
        min(ts) as ts,
        max(ts_end) as ts_end,
        sum(ts_end - ts) as busy,
        count(*) as slices,
        bool_or(is_culprit) as is_culprit
    from placed
    group by lane, depth, is_alone, is_fine, alone, place_in_time
),

drawn as (
    select *, row_number() over (order by lane, depth, ts, ts_end desc, kind, name, alone) - 1 as number
    from grouped
)

select
    d.lane,
    d.depth,
    d.ts - $ts as ts,
    d.ts_end - d.ts as dur,
    d.busy::bigint as busy,
    d.kind,
    d.name,
    d.slices as count,
    coalesce(launch.number, -1) as launch,
    d.is_culprit
from drawn as d
left join placed as call on call.slice_id = d.launch_id
left join drawn as launch
    on launch.lane = call.lane and launch.depth = call.depth and launch.is_alone = call.is_alone and launch.is_fine = call.is_fine
    and launch.alone = call.alone and launch.place_in_time = call.place_in_time
order by d.number
