-- Means that a plugin told Prometheus, by kind, class of sizes and group.
select
    op, size_low, size_high, group_size, nodes, count as samples, gpus, dur_median as dur_median_ns, bus_low, bus_median, bus_high
from inspected_sample_cost
where trace_id = $trace_id
order by op, size_low, group_size, nodes
