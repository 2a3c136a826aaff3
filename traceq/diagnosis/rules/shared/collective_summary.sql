-- What the collectives of a claim have in common.
with
slice as (
    select i.step, i.claimed, c.op, c.dur, c.overlapped, c.bytes, c.group_size, c.bus_bandwidth, c.blocking, d.dtype
    from rule_instances as i
    inner join collective_slice as c on c.trace_id = $trace_id and c.slice_id = i.busy_id
    left join collective as d on d.trace_id = c.trace_id and d.slice_id = c.slice_id
),

typical as (
    select bytes, min(dur) as fastest
    from slice
    where bytes is not null
    group by bytes
    order by count(*) desc, bytes desc
    limit 1
)

select
    count(*) / count(distinct step) as per_step,
    string_agg(distinct op, ', ' order by op) as ops,
    sum(claimed) / sum(dur) as claimed_share,
    sum(overlapped) / sum(dur) as overlap_share,
    median(dur) as dur,
    (select fastest from typical) as fastest_of_typical_size,
    median(bytes) as bytes,
    mode(dtype) as dtype,
    max(group_size) as group_size,
    median(bus_bandwidth) as bandwidth,
    max(bus_bandwidth) as best_bandwidth,
    count(blocking) = count(*) as knows_blocking
from slice
