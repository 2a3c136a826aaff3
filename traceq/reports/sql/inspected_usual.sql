-- Whether the traced collectives are usual, by the records of NCCL or RCCL: most time in the trace first.
select
    op, bytes, group_size, count, traced_dur as traced_ns, median_dur as median_ns, bus_bandwidth as bus_gb_per_s, records, compared_with, windows,
    usual_low as usual_low_ns, usual_dur as usual_ns, usual_high as usual_high_ns, faster_share, usual_bandwidth as usual_gb_per_s,
    within, paired, paired_ratio
from inspected_usual
where trace_id = $trace_id
order by traced_dur desc, op, bytes, group_size
limit $top
