-- Communication of the counted steps per device; exposed is the ledger's figure. Blocking adds up the slices for which it is known.
with
elapsed as (
    select
        device,
        sum(communication)::bigint as communication_ns,
        sum(compute)::bigint as compute_ns,
        sum(overlapped)::bigint as overlapped_ns,
        sum(exposed)::bigint as exposed_ns,
        sum(opaque)::bigint as opaque_ns
    from communication_overlap
    inner join step as s using (trace_id, step)
    where trace_id = $trace_id and s.excluded is null
    group by device
),

launched as (
    select device, count(*) as slices, count(blocking) as blocking_known, sum(blocking)::bigint as blocking_ns
    from collective_slice
    inner join step as s using (trace_id, step)
    where trace_id = $trace_id and s.excluded is null
    group by device
)

select
    device,
    communication_ns,
    compute_ns,
    overlapped_ns,
    exposed_ns,
    coalesce(slices, 0) as slices,
    coalesce(blocking_known, 0) as blocking_known,
    blocking_ns,
    opaque_ns
from elapsed
left join launched using (device)
order by device
