-- What the ranks between which layers are split reduce a step: one row; none where these are not all-reduces of one group, of known size.
-- uses: counted, communication_role
select
    max(r.group_size) as ranks,
    count(*) / (select count(*) from counted) as reductions,
    (sum(r.bytes) / (select count(*) from counted))::bigint as bytes,
    max(c.bus_bandwidth) as best_rate
from communication_role as r
inner join collective_slice as c on c.trace_id = $trace_id and c.slice_id = r.slice_id
where r.role = 'tensor'
having
    count(distinct r.op) = 1
    and max(r.op) = 'all_reduce'
    and count(distinct r.group_size) = 1
    and count(r.group_size) = count(*)
    and count(r.bytes) = count(*)
    and max(r.group_size) > 1
