-- How many collections the training thread makes in the counted steps, and whether the program asks for them.
-- uses: host_time, collection_name
select
    count(distinct p.slice_id) as collections,
    coalesce(bool_or(n.is_asked_for or o.is_asked_for), false) as is_asked_for
from host_time as p
inner join collection_name as n on n.kind = p.kind and n.name = p.name
inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
left join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = c.parent_id
left join collection_name as o on o.kind = a.kind and o.name = a.name
