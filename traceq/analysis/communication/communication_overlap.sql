-- A group by over the segments, as the ledger: exposed is its category, so both agree to the nanosecond.
-- reads: device_activity
-- makes: communication_overlap

insert into communication_overlap by name
with
total as (
    select
        device,
        step,
        coalesce(sum(dur) filter (communication > 0), 0)::bigint as communication,
        coalesce(sum(dur) filter (category = 'compute'), 0)::bigint as compute,
        coalesce(sum(dur) filter (communication > 0 and category = 'compute'), 0)::bigint as overlapped,
        coalesce(sum(dur) filter (category = 'communication'), 0)::bigint as exposed,
        coalesce(sum(dur) filter (graph > 0), 0)::bigint as opaque
    from device_activity
    where step is not null
    group by device, step
)

select $trace_id as trace_id, *, overlapped / nullif(communication, 0) as overlap_share
from total
order by device, step;
