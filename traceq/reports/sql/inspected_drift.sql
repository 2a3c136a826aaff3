-- How bandwidths changed over the record, with their tenths.
select
    d.op, d.message_bytes, d.group_size, d.nodes, d.change, d.dip,
    list(p.bus_median order by p.period) as periods
from inspected_drift as d
inner join inspected_period as p
    on
        p.trace_id = d.trace_id
        and p.op = d.op
        and p.message_bytes = d.message_bytes
        and p.group_size is not distinct from d.group_size
        and p.nodes is not distinct from d.nodes
where d.trace_id = $trace_id and p.bus_median is not null
group by d.op, d.message_bytes, d.group_size, d.nodes, d.change, d.dip
