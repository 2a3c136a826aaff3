-- The collectives of each rank, parts of a coalesced one together, and its sends and receives one after the other. Programs go
-- on while a collective of NCCL waits: those that they call meanwhile are queued on the GPU, and have not come to their group.
-- reads: recorded_dump, recorded_call, recorded_fact, hang_fact, hang_group
-- makes: hang_call, hang_member
insert into hang_call by name
with
last_of as (
    select rank, max(record) as record
    from recorded_call
    group by rank
),

-- A program that called something else had the result, where only gloo does not tell.
entry as (
    select
        f.group_id, c.sequence, c.rank, c.record, c.fact_id, f.signature, c.created,
        case
            when c.completed > 0 then 'finished'
            when f.state = 'ended' and c.record < l.record then 'finished'
            else f.state
        end as state
    from recorded_call as c
    inner join hang_fact as f using (rank, fact_id)
    inner join last_of as l using (rank)
    where not f.is_p2p
),

-- What waits behind another one of its communicator, or behind any and was not seen to start.
queued as (
    select e.rank, e.record
    from entry as e
    inner join recorded_fact as r using (rank, fact_id)
    where e.state = 'waiting' and r.backend <> 'gloo'
        -- the entry that ends a coalesced one tells the state of its parts
        and not exists (
            from entry as f
            where f.rank = e.rank and f.group_id = e.group_id and f.sequence = e.sequence and f.state = 'finished'
        )
    qualify
        min(e.record) over (partition by e.rank, e.group_id) < e.record
        or (r.state <> 'started' and min(e.record) over (partition by e.rank) < e.record)
),

stated as (
    select e.* replace (if(q.record is null, e.state, 'queued') as state)
    from entry as e
    left join queued as q on q.rank = e.rank and q.record = e.record
),

-- Dumps in which entries share a number; only the last of them tells its state.
in_parts as (
    select rank
    from recorded_dump
    where has_parts
)

select group_id, sequence, rank, record, fact_id, signature, state, created
from stated
anti join in_parts using (rank)
union all by name
select
    group_id, sequence, rank, min(record) as record, arg_min(fact_id, record) as fact_id,
    if(count(*) = 1, min(signature), hash(list(signature order by record))::hugeint % 9000000000000000000)::bigint as signature,
    case
        when bool_or(state = 'finished') then 'finished' when bool_or(state = 'failed') then 'failed'
        when bool_or(state = 'waiting') then 'waiting'
        when bool_or(state = 'queued') then 'queued' else 'ended'
    end as state,
    min(created) as created
from stated
semi join in_parts using (rank)
group by group_id, sequence, rank;

-- Sends and receives: where a recorder has overwritten some, only those that are not finished count, as the numbers of the
-- others are not known.
insert into hang_call by name
with
whole as (
    select rank, coalesce(first_record, 0) = 0 as is_whole
    from recorded_dump
    where entries is not null
),

entry as (
    select
        f.group_id, c.rank, c.record, c.fact_id, f.signature, f.op, c.created,
        -- the entry that ends a coalesced one tells the state of its parts
        if(
            bool_or(f.state = 'finished' or c.completed > 0) over (partition by c.rank, r.group_name, c.p2p_sequence),
            'finished',
            f.state
        ) as state
    from recorded_call as c
    inner join hang_fact as f using (rank, fact_id)
    inner join recorded_fact as r using (rank, fact_id)
    where f.is_p2p
),

counted as (
    select e.*
    from entry as e
    inner join hang_group as g on g.group_id = e.group_id and g.source = 'pair'
    left join whole as a on a.rank = g.members[1]
    left join whole as b on b.rank = g.members[2]
    where (coalesce(a.is_whole, true) and coalesce(b.is_whole, true)) or e.state <> 'finished'
)

select
    group_id, rank, record, fact_id, signature, state, created,
    row_number() over (partition by group_id, rank, op order by record) as sequence
from counted;

insert into hang_member by name
with
called as (
    select
        group_id, rank, min(sequence) as first_sequence,
        coalesce(max(sequence) filter (where state <> 'queued'), min(sequence) - 1) as last_sequence
    from hang_call
    group by group_id, rank
)

select
    g.group_id,
    m.rank,
    d.rank is not null as has_dump,
    c.first_sequence,
    -- where nothing was overwritten, it called none; of sends and receives only those count that both can have
    coalesce(c.last_sequence, if(d.first_record = 0 or (d.rank is not null and g.source = 'pair'), 0, null)) as last_sequence
from hang_group as g
cross join unnest(g.members) as m (rank)
left join (
    select rank, coalesce(first_record, 0) as first_record
    from recorded_dump
    where entries is not null
) as d using (rank)
left join called as c on c.group_id = g.group_id and c.rank = m.rank;
