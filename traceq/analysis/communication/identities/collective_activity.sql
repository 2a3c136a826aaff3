-- The parts of all communication of a device add up to the time in which it runs, counted once for each slice that does.
with
part as (
    select device, sum(overlapped) as overlapped, sum(exposed) as exposed
    from collective_slice
    where trace_id = $trace_id
    group by device
),

elapsed as (
    select
        device,
        sum(dur * communication) filter (category = 'compute') as overlapped,
        sum(dur * communication) filter (category = 'communication') as exposed
    from device_activity
    where trace_id = $trace_id and communication > 0
    group by device
)

select
    device,
    coalesce(p.overlapped, 0) <> coalesce(e.overlapped, 0) or coalesce(p.exposed, 0) <> coalesce(e.exposed, 0) as is_broken,
    'device ' || device as place
from part as p
full join elapsed as e using (device)
