-- What ran beside each copy: device_activity is cut wherever a slice starts or ends, so a running total over it, looked up at
-- the copy's start and end, gives the time between them to the nanosecond.
-- reads: _copy, device_activity, step
-- makes: _copy_time

-- The rows of device_activity lie in the order of device and time: so sums run through, and only their differences count.
create temp table _copy_time as
with
elapsed as (
    select
        device,
        ts,
        ts + dur as ts_end,
        if(compute > 0 or graph > 0, dur, 0) as compute_dur,
        if(category = 'copy_h2d', dur, 0) as h2d_dur,
        if(category = 'copy_d2h', dur, 0) as d2h_dur,
        if(category = 'copy_other', dur, 0) as other_dur,
        sum(compute_dur) over (rows unbounded preceding)::bigint as compute,
        sum(h2d_dur) over (rows unbounded preceding)::bigint as copy_h2d,
        sum(d2h_dur) over (rows unbounded preceding)::bigint as copy_d2h,
        sum(other_dur) over (rows unbounded preceding)::bigint as copy_other
    from device_activity
),

started as (
    select
        c.slice_id,
        e.compute - e.compute_dur as compute,
        case c.category
            when 'copy_h2d' then e.copy_h2d - e.h2d_dur
            when 'copy_d2h' then e.copy_d2h - e.d2h_dur
            else e.copy_other - e.other_dur
        end as copied
    from _copy as c
    inner join elapsed as e on e.device = c.device and e.ts = c.ts
),

beside as (
    select
        c.slice_id, c.device, c.ts_end,
        c.ts_end - c.ts as dur,
        coalesce(till.compute, since.compute) as compute,
        coalesce(till.compute - since.compute, 0) as overlapped,
        coalesce(
            case c.category
                when 'copy_h2d' then till.copy_h2d
                when 'copy_d2h' then till.copy_d2h
                else till.copy_other
            end - since.copied,
            0
        ) as exposed
    from _copy as c
    -- nothing starts where the last segment ends, and nothing ends where the first starts
    left join started as since on since.slice_id = c.slice_id
    left join elapsed as till on till.device = c.device and till.ts_end = c.ts_end
),

-- Steps follow one another, so the last that began before its last nanosecond is the one it ended in, unless that was over.
ended as (
    select b.slice_id, if(b.last_ts < s.ts_end, s.ts_end, null) as step_end
    from (select *, ts_end - if(dur > 0, 1, 0) as last_ts from beside) as b
    asof left join step as s on b.last_ts >= s.ts
),

step_end as (
    select device, ts_end, compute
    from elapsed
    where ts_end in (select ts_end from step)
),

ahead as (
    select
        b.*,
        e.step_end,
        coalesce(s.compute - b.compute, 0) as compute_after,
        -- exposed time of the copies of the step that ended before
        coalesce(sum(b.exposed) over (
            partition by b.device, e.step_end order by b.ts_end, b.slice_id rows between unbounded preceding and 1 preceding
        ), 0) as exposed_before,
        sum(b.exposed) over (partition by b.device, e.step_end) as exposed_in_all
    from beside as b
    inner join ended as e using (slice_id)
    left join step_end as s on s.device = b.device and s.ts_end = e.step_end
),

-- Compute can hide one copy at a time. The last copy of a step has the least of it left: it is served first, so that as much as
-- possible is hidden. hideable is what this copy and those after it can have together.
served as (
    select
        *,
        least(exposed_in_all, min(compute_after + exposed_before) over (
            partition by device, step_end order by ts_end, slice_id rows between current row and unbounded following
        )) - exposed_before as hideable
    from ahead
)

select
    slice_id, dur, overlapped,
    dur - overlapped - exposed as hidden,
    exposed,
    (hideable - lead(hideable, 1, 0::hugeint) over (partition by device, step_end order by ts_end, slice_id))::bigint as could_overlap
from served;
