-- Allocations per device of a memory snapshot: those there at the peak add up to it, those never released to the state at the end.
with
held as (
    select
        device,
        coalesce(sum(requested_bytes) filter (at_peak), 0) as at_peak,
        coalesce(sum(requested_bytes) filter (event_end is null), 0) as at_end
    from allocation
    where trace_id = $trace_id
    group by device
),

told as (
    select device, bytes, requested_at_end + lost_bytes as at_end
    from memory_peak
    where trace_id = $trace_id
)

select
    device,
    coalesce(h.at_peak, 0) <> coalesce(t.bytes, 0) or coalesce(h.at_end, 0) <> coalesce(t.at_end, 0) as is_broken,
    'device ' || device as place
from held as h
full join told as t using (device)
