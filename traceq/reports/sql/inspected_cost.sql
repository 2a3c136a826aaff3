-- Operations of the records by kind, size and group, those with most time first.
select
    op, message_bytes, group_size, nodes, groups, count as records, dur as dur_ns, share, wait as wait_ns, matched,
    dur_low as dur_low_ns, dur_median as dur_median_ns, dur_high as dur_high_ns, is_with_waiting, bus_low, bus_median, bus_high
from inspected_cost
where trace_id = $trace_id
order by dur desc, op, message_bytes, group_size, nodes
