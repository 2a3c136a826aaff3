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

running as (
    select
        device,
        dur,
        compute > 0 or graph > 0 as computes,
        category as counted,
        unnest(['copy_h2d', 'copy_d2h', 'copy_other']) as category,
        unnest([copy_h2d, copy_d2h, copy_other]) as copies
    from device_activity
    where trace_id = $trace_id and copy_h2d + copy_d2h + copy_other > 0
),

elapsed as (
    select
        device,
        category,
        sum(dur * copies) filter (computes) as overlapped,
        sum(dur * copies) filter (not computes and counted <> category) as hidden,
        sum(dur * copies) filter (counted = category) as exposed
    from running
    where copies > 0
    group by device, category
)

select
    'device ' || device || ': ' || category as place,
    coalesce(p.overlapped, 0) <> coalesce(e.overlapped, 0)
    or coalesce(p.hidden, 0) <> coalesce(e.hidden, 0)
    or coalesce(p.exposed, 0) <> coalesce(e.exposed, 0) as is_broken
from part as p
full join elapsed as e using (device, category)
