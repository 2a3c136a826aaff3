-- The records as operations of processes, each once, in traceq's words, and which of several ranks belong together.
-- makes: _inspected_matched, _inspected_op, _inspected_process, _inspected_row

-- Libraries write AllReduce, traceq all_reduce. How much of an all-to-all one rank's message is, and how the sizes of an
-- AllGatherV differ, is not said.
create or replace temp table _inspected_op as
with
known as (
    from (values
        ('allreduce', 'all_reduce'), ('allgather', 'all_gather'), ('allgatherv', 'all_gather'),
        ('reducescatter', 'reduce_scatter'), ('broadcast', 'broadcast'), ('reduce', 'reduce'), ('all2all', 'all_to_all'),
        ('alltoall', 'all_to_all'), ('alltoallv', 'all_to_all'), ('alltoallpivot', 'all_to_all'), ('gather', 'gather'),
        ('scatter', 'scatter'), ('send', 'send'), ('recv', 'recv'), ('sendrecv', 'send_recv')
    ) as t (said, op)
)

select
    d.op as said,
    coalesce(k.op, 'unknown') as op,
    case
        when k.said in ('allgather', 'reducescatter') then 'of_all'
        when k.op in ('all_reduce', 'broadcast', 'reduce', 'send', 'recv', 'send_recv') then 'of_one'
    end as sizes
from (select op from staging.inspected_record union select op from staging.inspected_sample) as d
left join known as k on k.said = lower(d.op);

-- A file given twice, and dumps that were put one behind the other, hold records again.
create or replace temp table _inspected_once as
with
numbered as (
    select
        r.*,
        o.op as word,
        o.sizes,
        coalesce(r.host, 'file ' || r.file) as place
    from staging.inspected_record as r
    inner join _inspected_op as o on o.said = r.op
),

again as (
    select communicator, communicator_rank, op, sequence
    from numbered
    group by all
    having count(*) > 1
)

select n.*, 1 as copies
from numbered as n
anti join again using (communicator, communicator_rank, op, sequence)
union all
select unnest(arg_min(n, n.file)), count(*) as copies
from numbered as n
semi join again using (communicator, communicator_rank, op, sequence)
group by n.communicator, n.communicator_rank, n.op, n.sequence;

-- One process with several GPUs is told apart by its ranks; without a pid a rank of a communicator is one.
create or replace temp table _inspected_key as
with
crowded as (
    select distinct place, pid
    from (
        select place, pid, communicator
        from _inspected_once
        where pid is not null
        group by all
        having count(distinct communicator_rank) > 1
    )
)

select
    o.place, o.pid, o.communicator, o.communicator_rank,
    case
        when o.pid is null then o.communicator || ' ' || o.communicator_rank
        when c.pid is not null then o.place || ' ' || o.pid || ' ' || o.communicator_rank
        else o.place || ' ' || o.pid
    end as key
from (select distinct place, pid, communicator, communicator_rank from _inspected_once) as o
left join crowded as c on c.place = o.place and c.pid = o.pid;

create or replace temp table _inspected_process as
with
member as (
    select k.key, k.communicator, k.communicator_rank, max(o.group_size) as group_size, any_value(o.host) as host, any_value(k.pid) as pid
    from _inspected_key as k
    inner join _inspected_once as o
        on
            o.place = k.place
            and o.pid is not distinct from k.pid
            and o.communicator = k.communicator
            and o.communicator_rank = k.communicator_rank
    group by k.key, k.communicator, k.communicator_rank
),

-- The one communicator that all are in, as far as their records are here.
whole as (
    select communicator
    from member
    group by communicator
    having
        count(distinct key) = (select count(distinct key) from member)
        and count(distinct key) > 1
        and count(distinct communicator_rank) = count(distinct key)
    order by max(group_size) desc nulls last, communicator
    limit 1
),

process as (
    select
        m.key,
        any_value(m.host) as host,
        any_value(m.pid) as pid,
        max(m.communicator_rank) filter (m.communicator in (from whole)) as rank
    from member as m
    group by m.key
)

select *, (row_number() over (order by rank nulls last, host, pid, key) - 1)::integer as process
from process;

create or replace temp table _inspected_row as
select
    p.process, o.communicator, o.communicator_name, o.communicator_rank, o.group_size, o.nodes,
    o.word as op, o.sequence, o.peer, o.message_bytes,
    case o.sizes when 'of_all' then o.message_bytes * o.group_size when 'of_one' then o.message_bytes end as bytes,
    o.dur, o.timing, o.algorithm, o.protocol, o.said_algorithm_bandwidth, o.said_bus_bandwidth, o.utc_ns, o.utc_source, o.copies,
    _bus_factor(o.word, o.group_size)::double as factor,
    o.word in ('send', 'recv') and o.peer is not null as is_pair,
    -- of an operation unknown to traceq its own name keeps numbers apart
    if(o.word in ('send', 'recv'), 'send_recv', o.op) as kind,
    if(o.word = 'recv', o.peer, o.communicator_rank) as source_rank,
    if(o.word = 'recv', o.communicator_rank, o.peer) as target_rank
from _inspected_once as o
inner join _inspected_key as k
    on
        k.place = o.place
        and k.pid is not distinct from o.pid
        and k.communicator = o.communicator
        and k.communicator_rank = o.communicator_rank
inner join _inspected_process as p on p.key = k.key;

drop table _inspected_once;

-- Sends and receives are numbered by each rank on its own: the first send to a rank belongs to its first receive from there, where
-- both have as many.
create or replace temp table _inspected_pair as
with
ordered as (
    select
        process, communicator, op, sequence, source_rank, target_rank, dur, bytes, utc_ns,
        row_number() over (partition by communicator, op, source_rank, target_rank order by sequence) - 1 as ordinal,
        count(*) over (partition by communicator, op, source_rank, target_rank) as total
    from _inspected_row
    where is_pair
)

select
    s.communicator, s.source_rank, s.target_rank, s.ordinal,
    s.process as source, r.process as target, s.sequence as sent, r.sequence as received,
    if(s.bytes = r.bytes, s.bytes, null) as bytes,
    s.dur as send_dur, r.dur as receive_dur,
    least(s.utc_ns, r.utc_ns) as utc_ns
from ordered as s
inner join ordered as r
    on
        r.op = 'recv'
        and r.communicator = s.communicator
        and r.source_rank = s.source_rank
        and r.target_rank = s.target_rank
        and r.ordinal = s.ordinal
        and r.total = s.total
where s.op = 'send' and s.process <> r.process;

create or replace temp table _inspected_matched as
with
collective as (
    select
        communicator, op, kind, sequence,
        count(*) as members,
        max(group_size) as group_size,
        min(dur) as transfer,
        min(dur, 2)[2] as second,
        max(dur) as longest,
        sum(dur)::bigint as dur,
        arg_min(process, dur) as last_to_come,
        if(min(bytes) = max(bytes), min(bytes), null) as bytes,
        max(factor) as factor,
        min(utc_ns) as utc_ns
    from _inspected_row
    where op not in ('send', 'recv')
    group by communicator, op, kind, sequence
    having count(*) > 1
),

every as (
    select
        communicator, op, kind, sequence, null::integer as source, null::integer as target, null::integer as source_rank,
        null::integer as target_rank, group_size, members, bytes, members = group_size as is_whole, transfer, second, longest, dur, last_to_come,
        factor, utc_ns
    from collective
    union all
    select
        communicator, 'send_recv', 'send_recv', ordinal, source, target, source_rank,
        target_rank, 2, 2, bytes, true, least(send_dur, receive_dur), greatest(send_dur, receive_dur), greatest(send_dur, receive_dur),
        send_dur + receive_dur, if(send_dur < receive_dur, source, target), 1, utc_ns
    from _inspected_pair
)

select
    row_number() over () - 1 as match_id,
    communicator, op, kind, sequence, source, target, source_rank, target_rank, group_size, members::integer as members, bytes,
    if(is_whole, transfer, null) as transfer,
    if(is_whole, bytes / nullif(transfer, 0) * factor, null) as bus_bandwidth,
    if(is_whole and second - transfer >= greatest(25000, transfer / 10), last_to_come, null) as last_process,
    if(is_whole, longest - transfer, null) as late_by,
    if(is_whole, dur - members * transfer, null)::bigint as wait,
    utc_ns
from every;
