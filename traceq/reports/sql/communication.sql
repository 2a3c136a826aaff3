-- Communication of the counted steps per device; exposed is the ledger's figure.
select
    device,
    sum(communication)::bigint as communication_ns,
    sum(overlapped)::bigint as overlapped_ns,
    sum(exposed)::bigint as exposed_ns,
    sum(opaque)::bigint as opaque_ns
from communication_overlap
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by device
order by device
