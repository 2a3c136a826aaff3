-- Places of the network that explain slow links, with when their links became slow.
with
begun as (
    select slow_link_id, min(if(since_period > 0, since_period / periods, null)) as share_since, bool_or(since_period = 0) as is_from_beginning
    from inspected_link
    where trace_id = $trace_id and is_slow
    group by slow_link_id
),

member as (
    select communicator, list(distinct process order by process) as members
    from inspected_collective
    where trace_id = $trace_id
    group by communicator
)

select
    s.kind, s.process, s.peer, s.host, s.communicator, c.name as group_name, m.members, s.level, s.slow, s.links, s.ratio, s.bandwidth,
    s.usual_bandwidth, s.since_utc_ns, if(b.is_from_beginning, null, b.share_since) as share_since, s.chance
from slow_link as s
left join inspected_communicator as c on c.trace_id = s.trace_id and c.communicator = s.communicator
left join member as m on m.communicator = s.communicator
left join begun as b on b.slow_link_id = s.slow_link_id
where s.trace_id = $trace_id
order by s.slow_link_id
