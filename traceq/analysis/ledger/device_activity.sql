-- One sweep per device: +1 at a start, -1 at an end, running sums in between. Step boundaries are cut points of weight 0,
-- so that every segment lies in one step and the ledger is a plain group by.
-- reads: step
-- makes: device_activity

create temp table _device_change as
with
slice as (
    select
        device, ts, ts_end,
        case
            when is_communication then 'communication'
            when kind = 'kernel' then 'compute'
            when kind in ('memset', 'graph') then kind
            when copy_kind in ('h2d', 'd2h') then 'copy_' || copy_kind
            else 'copy_other'
        end as activity
    from gpu_slice
),

-- Seven counts in two sums: running sums cost memory by the column. 31 bits hold any count of slices that are open at once.
weighed as (
    select
        device, ts, ts_end,
        case activity
            when 'compute' then 1
            when 'communication' then 1::hugeint << 31
            when 'memset' then 1::hugeint << 62
            when 'graph' then 1::hugeint << 93
            else 0
        end as work,
        case activity
            when 'copy_h2d' then 1
            when 'copy_d2h' then 1::hugeint << 31
            when 'copy_other' then 1::hugeint << 62
            else 0
        end as copies
    from slice
),

boundary as (
    select device, ts as t, work, copies, null as step from weighed
    union all
    select device, ts_end, -work, -copies, null from weighed
    union all
    select device, s.ts, 0, 0, s.step from step as s cross join (select distinct device from gpu_slice)
    union all
    -- the end of the last step: time after it is in no step
    select device, max(s.ts_end), 0, 0, 2147483647 from step as s cross join (select distinct device from gpu_slice) group by device
)

select device, t, sum(work) as work, sum(copies) as copies, max(step) as step
from boundary
group by device, t
order by device, t;

-- The rows lie in the order of device and time, and as many slices end on a device as start: so sums run through, without sorting again.
insert into device_activity by name
with
running as (
    select
        device,
        -- steps are numbered in the order of time, so the last one that began is the largest; 33 bits hold it below the device
        max(device * 8589934592 + step) over (rows unbounded preceding) - device * 8589934592 as step,
        t as ts,
        lead(t) over () - t as dur,
        lead(device) over () as next_device,
        sum(work) over (rows unbounded preceding) as work,
        sum(copies) over (rows unbounded preceding) as copies
    from _device_change
),

segment as (
    select
        * exclude (work, copies, next_device),
        (work & 2147483647)::integer as compute,
        (work >> 31 & 2147483647)::integer as communication,
        (copies & 2147483647)::integer as copy_h2d,
        (copies >> 31 & 2147483647)::integer as copy_d2h,
        (copies >> 62)::integer as copy_other,
        (work >> 62 & 2147483647)::integer as memset,
        (work >> 93)::integer as graph
    from running
    where next_device = device
)

select
    $trace_id as trace_id,
    -- below 0 before the first step of a device, beyond the last step its end
    * replace (if(step between 0 and 2147483646, step, null)::integer as step),
    case
        when compute > 0 or graph > 0 then 'compute'
        when communication > 0 then 'communication'
        when copy_h2d > 0 then 'copy_h2d'
        when copy_d2h > 0 then 'copy_d2h'
        when copy_other > 0 then 'copy_other'
        when memset > 0 then 'memset'
        else 'idle'
    end as category
from segment;

drop table _device_change;
