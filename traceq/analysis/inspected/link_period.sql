-- Transfers by link, class of messages and period, for the comparison with those of their like (slow_links.py).
-- reads: _inspected_matched, _inspected_row, inspected_process
-- makes: _link_period

-- A link is a pair of processes in one direction, or a communicator. Small messages tell of latency only.
create or replace temp table _link_period as
with
member as (
    select distinct r.communicator, p.host
    from _inspected_row as r
    inner join inspected_process as p on p.trace_id = $trace_id and p.process = r.process
),

spread as (
    select communicator, count(distinct host) as hosts, bool_and(host is not null) as is_known
    from member
    group by communicator
),

one as (
    select
        if(m.source is null, 'group', 'pair') as kind,
        if(m.source is null, m.communicator, m.source || ' ' || m.target) as link,
        if(m.source is null, m.communicator, null) as communicator,
        m.source, m.target,
        m.op, m.bytes, m.group_size, m.transfer, m.bus_bandwidth, m.utc_ns,
        case
            when m.source is not null and s.host is not null and t.host is not null
                then if(s.host = t.host, 'intra_host', 'inter_host')
            when m.source is null and g.is_known then if(g.hosts = 1, 'intra_host', 'inter_host')
        end as level,
        m.communicator as of_communicator,
        m.sequence
    from _inspected_matched as m
    left join spread as g on g.communicator = m.communicator
    left join inspected_process as s on s.trace_id = $trace_id and s.process = m.source
    left join inspected_process as t on t.trace_id = $trace_id and t.process = m.target
    where m.transfer > 0 and m.bytes >= 65536 and m.bus_bandwidth > 0
),

placed as (
    select
        *,
        count(*) over own as total,
        row_number() over (own order by coalesce(utc_ns, 0), of_communicator, sequence) - 1 as place
    from one
    where level is not null
    window own as (partition by kind, link, op, bytes)
)

select
    kind, link,
    any_value(communicator) as communicator,
    any_value(source) as source,
    any_value(target) as target,
    level, op, bytes, group_size,
    -- a median of eight is within a tenth of the right one, where single transfers differ by a fifth
    if(total >= 80, 10 * place // total, 0) as period,
    count(*) as count,
    median(transfer) as transfer,
    median(bus_bandwidth) as bandwidth,
    min(utc_ns) as utc_ns
from placed
where total >= 8
group by all
order by kind, link, op, bytes, period;
