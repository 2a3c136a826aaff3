-- The matched collectives of one window of a job, by kind: operation, size and number of ranks. A group is within a host where all its ranks
-- are known to be on one. `transfer` is what a rank needs that waits for nobody; transfer_bandwidth is the bus bandwidth without waiting, GB/s.
with
host as (
    select
        c.match_id,
        case
            when count(r.host) < count(*) then null
            when count(distinct r.host) = 1 then 'within a host'
            else 'between hosts'
        end as level,
        sum(c.wait)::bigint as wait,
        -- what a rank sends for each byte of the message
        max(s.bus_bandwidth / nullif(s.algorithm_bandwidth, 0)) as factor
    from collective_member as c
    inner join job_rank as r using (job, time_window, unit)
    left join collective_slice as s on s.trace_id = c.trace_id and s.slice_id = c.slice_id
    where c.job = $job and c.time_window = $time_window and c.match_id is not null
    group by c.match_id
)

select
    m.op,
    m.bytes,
    coalesce(m.group_size, m.members) as ranks,
    h.level,
    count(distinct m.group_id) as groups,
    count(*) as count,
    min(m.transfer) as best,
    median(m.transfer) as typical,
    max(m.transfer) as longest,
    median(m.bytes * h.factor / nullif(m.transfer, 0)) as transfer_bandwidth,
    sum(m.transfer * m.members)::bigint as transfer,
    sum(h.wait)::bigint as wait
from collective_match as m
inner join host as h using (match_id)
where m.job = $job and m.time_window = $time_window
group by all
order by sum(m.transfer * m.members + h.wait) desc, m.op, m.bytes, ranks, h.level
