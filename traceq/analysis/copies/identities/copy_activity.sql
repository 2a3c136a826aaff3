-- The parts of all copies of a device and category add up to the time in which such copies run, counted once for each that
-- runs: the sum over the copies is the sum over the segments of the timeline.
with
part as (
    select
        device,
        category,
        sum(overlapped) as overlapped,
        sum(hidden) as hidden,
        sum(exposed) as exposed
    from copy_overlap
    where trace_id = $trace_id
    group by device, category
),

segment as (
    select device, dur, compute > 0 or graph > 0 as computes, category as counted, copy_h2d, copy_d2h, copy_other
    from device_activity
    where trace_id = $trace_id and copy_h2d + copy_d2h + copy_other > 0
),

running as (
    select device, dur, computes, counted, 'copy_h2d' as category, copy_h2d as copies from segment where copy_h2d > 0
    union all
    select device, dur, computes, counted, 'copy_d2h', copy_d2h from segment where copy_d2h > 0
    union all
    select device, dur, computes, counted, 'copy_other', copy_other from segment where copy_other > 0
),

elapsed as (
    select
        device,
        category,
        sum(dur * copies) filter (computes) as overlapped,
        sum(dur * copies) filter (not computes and counted <> category) as hidden,
        sum(dur * copies) filter (counted = category) as exposed
    from running
    group by device, category
),

judged as (
    select
        device,
        category,
        coalesce(p.overlapped, 0) <> coalesce(e.overlapped, 0)
        or coalesce(p.hidden, 0) <> coalesce(e.hidden, 0)
        or coalesce(p.exposed, 0) <> coalesce(e.exposed, 0) as is_broken
    from part as p
    full join elapsed as e using (device, category)
)

select
    count(*) as checked,
    count(*) filter (is_broken) as broken,
    min('device ' || device || ': ' || category) filter (is_broken) as example
from judged
