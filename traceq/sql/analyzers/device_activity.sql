-- One sweep per device: +1 at a start, -1 at an end, running sums in between. Step boundaries are cut points of weight 0,
-- so that every segment lies in one step and the ledger is a plain group by.

insert into device_activity
with
slice as (
    select
        device,
        ts,
        ts_end,
        case
            when is_communication then 'communication'
            when kind = 'kernel' then 'compute'
            when kind in ('memset', 'graph') then kind
            when copy_kind in ('h2d', 'd2h') then 'copy_' || copy_kind
            else 'copy_other'
        end as activity
    from gpu_slice
),

boundary as (
    select device, ts as t, activity, 1 as change, null as step from slice
    union all
    select device, ts_end, activity, -1, null from slice
    union all
    select device, s.ts, null, 0, s.step from step as s cross join (select distinct device from gpu_slice)
    union all
    -- the end of the last step: time after it is in no step
    select device, max(s.ts_end), null, 0, 2147483647 from step as s cross join (select distinct device from gpu_slice) group by device
),

change as (
    select
        device,
        t,
        coalesce(sum(change) filter (activity = 'compute'), 0) as compute,
        coalesce(sum(change) filter (activity = 'communication'), 0) as communication,
        coalesce(sum(change) filter (activity = 'copy_h2d'), 0) as copy_h2d,
        coalesce(sum(change) filter (activity = 'copy_d2h'), 0) as copy_d2h,
        coalesce(sum(change) filter (activity = 'copy_other'), 0) as copy_other,
        coalesce(sum(change) filter (activity = 'memset'), 0) as memset,
        coalesce(sum(change) filter (activity = 'graph'), 0) as graph,
        max(step) as step
    from boundary
    group by device, t
),

segment as (
    select
        device,
        -- steps are numbered in the order of time, so the last one that began is the largest
        max(step) over timeline as step,
        t as ts,
        lead(t) over (partition by device order by t) - t as dur,
        sum(compute) over timeline as compute,
        sum(communication) over timeline as communication,
        sum(copy_h2d) over timeline as copy_h2d,
        sum(copy_d2h) over timeline as copy_d2h,
        sum(copy_other) over timeline as copy_other,
        sum(memset) over timeline as memset,
        sum(graph) over timeline as graph
    from change
    window timeline as (partition by device order by t rows between unbounded preceding and current row)
)

select
    $trace_id as trace_id,
    device,
    nullif(step, 2147483647) as step,
    ts,
    dur,
    compute,
    communication,
    copy_h2d,
    copy_d2h,
    copy_other,
    memset,
    graph,
    case
        when compute > 0 or graph > 0 then 'compute'
        when communication > 0 then 'communication'
        when copy_h2d > 0 then 'copy_h2d'
        when copy_d2h > 0 then 'copy_d2h'
        when copy_other > 0 then 'copy_other'
        when memset > 0 then 'memset'
        else 'idle'
    end as category
from segment
where dur is not null
order by device, ts;
