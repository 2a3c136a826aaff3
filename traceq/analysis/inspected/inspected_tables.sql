-- The tables about records, of what was matched before.
-- reads: _inspected_matched, _inspected_op, _inspected_process, _inspected_row
-- makes: inspected_collective, inspected_communicator, inspected_match, inspected_process, inspected_sample

insert into inspected_match by name
select $trace_id as trace_id, * exclude (kind, source_rank, target_rank)
from _inspected_matched;

insert into inspected_collective by name
with
sent as (
    select match_id, communicator, source_rank, target_rank, sequence as ordinal, transfer
    from _inspected_matched
    where source is not null
),

paired as (
    select
        communicator, op, source_rank, target_rank, sequence,
        row_number() over (partition by communicator, op, source_rank, target_rank order by sequence) - 1 as ordinal
    from _inspected_row
    where is_pair
),

numbered as (
    select p.communicator, p.op, p.source_rank, p.target_rank, p.sequence, s.match_id, s.transfer
    from paired as p
    inner join sent as s using (communicator, source_rank, target_rank, ordinal)
)

select
    $trace_id as trace_id,
    r.process, r.communicator, r.communicator_rank, r.group_size, r.op, r.sequence, r.peer, r.message_bytes, r.bytes, r.dur, r.timing,
    nullif(lower(r.algorithm), 'unknown') as algorithm,
    nullif(lower(r.protocol), 'unknown') as protocol,
    r.said_algorithm_bandwidth, r.said_bus_bandwidth,
    r.bytes / nullif(r.dur, 0) as algorithm_bandwidth,
    r.bytes / nullif(r.dur, 0) * r.factor as bus_bandwidth,
    r.utc_ns, r.utc_source,
    coalesce(m.match_id, n.match_id) as match_id,
    coalesce(m.transfer, n.transfer) as transfer,
    r.dur - coalesce(m.transfer, n.transfer) as wait
from _inspected_row as r
left join _inspected_matched as m
    on
        not r.is_pair
        and m.source is null
        and m.communicator = r.communicator
        and m.op = r.op
        and m.kind = r.kind
        and m.sequence = r.sequence
left join numbered as n
    on
        r.is_pair
        and n.communicator = r.communicator
        and n.op = r.op
        and n.source_rank = r.source_rank
        and n.target_rank = r.target_rank
        and n.sequence = r.sequence;

insert into inspected_communicator by name
select
    $trace_id as trace_id,
    r.communicator,
    nullif(any_value(r.communicator_name), 'unknown') as name,
    max(r.group_size) as group_size,
    coalesce(
        max(r.nodes),
        -- hosts tell where all its ranks are here
        if(count(distinct r.process) = max(r.group_size) and count(p.host) = count(*), count(distinct p.host), null)
    )::integer as nodes,
    count(distinct r.process)::integer as processes,
    count(*) as records,
    sum(r.dur)::bigint as dur
from _inspected_row as r
inner join _inspected_process as p using (process)
group by r.communicator
order by r.communicator;

insert into inspected_process by name
with
own as (
    select
        process,
        count(*) as records,
        sum(dur)::bigint as dur,
        coalesce(sum(transfer), 0)::bigint as transfer,
        coalesce(sum(wait), 0)::bigint as wait,
        count(transfer) as matched,
        min(utc_ns) as first_utc_ns,
        max(utc_ns) as last_utc_ns
    from inspected_collective
    where trace_id = $trace_id
    group by process
),

repeated as (
    select process, sum(copies - 1)::bigint as repeated
    from _inspected_row
    group by process
),

late as (
    select last_process as process, count(*) as last_count, sum(wait)::bigint as awaited, median(late_by)::bigint as late_by
    from _inspected_matched
    where last_process is not null
    group by last_process
)

select
    $trace_id as trace_id,
    p.process, p.host, p.pid, p.rank, o.* exclude (process), r.repeated,
    coalesce(l.last_count, 0) as last_count,
    coalesce(l.awaited, 0) as awaited,
    l.late_by
from _inspected_process as p
inner join own as o using (process)
inner join repeated as r using (process)
left join late as l using (process)
order by p.process;

insert into inspected_sample by name
select $trace_id as trace_id, s.* replace (o.op as op)
from staging.inspected_sample as s
inner join _inspected_op as o on o.said = s.op;
