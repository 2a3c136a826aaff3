-- The first place of each group at which its ranks differ, or at which they wait although nothing differs.
-- reads: hang_group, hang_member, hang_fact, hang_call
-- makes: hang_parting
insert into hang_parting by name
with
span as (
    select
        m.group_id, any_value(g.size) as size, any_value(g.source) = 'seen' as is_seen,
        min(m.last_sequence) filter (where m.has_dump) as least,
        bool_or(not m.has_dump) as lacks_dump
    from hang_member as m
    inner join hang_group as g using (group_id)
    group by m.group_id
),

-- Most collectives are finished and the same on all ranks: of these nothing more is read.
doubtful as (
    select group_id, sequence
    from hang_call
    group by group_id, sequence
    having min(signature) < max(signature) or bool_or(state <> 'finished')
),

place as (
    select
        c.group_id, c.sequence,
        case
            when not bool_or(f.is_p2p) and count(distinct f.op) > 1 then 'operation'
            when min(f.equal_elements) < max(f.equal_elements) then 'sizes'
            when count(distinct f.equal_types) > 1 then 'types'
            -- parts of coalesced ones
            when not bool_or(f.is_p2p) and min(c.signature) < max(c.signature) and count(distinct f.signature) = 1 then 'operation'
        end as differs,
        count(*) filter (where c.state not in ('finished', 'queued')) as waiting,
        count(*) filter (where c.state in ('waiting', 'failed')) as surely_waiting,
        min(c.created) as first_created,
        list_sort(list(c.rank)) as called,
        coalesce(list_sort(list(c.rank) filter (where c.state <> 'queued')), []) as present
    from hang_call as c
    semi join doubtful as d using (group_id, sequence)
    inner join hang_fact as f using (rank, fact_id)
    group by c.group_id, c.sequence
),

odd as (
    select
        p.* exclude (differs, surely_waiting, called, present),
        -- what differs, differs wherever it waits
        if(p.differs is null, p.present, p.called) as present,
        if(p.differs is null, list_filter(p.called, lambda rank: not list_contains(p.present, rank)), []) as queued,
        case
            when p.differs is not null then p.differs
            when p.waiting = 0 then null
            when p.sequence > s.least then 'missing'
            -- nobody waits in a group of one: the others never called anything in it, or have no dump
            when s.lacks_dump or len(p.present) < s.size or (s.is_seen and len(p.present) = 1) then 'no_dump'
            when p.surely_waiting > 0 then 'none'
        end as differs
    from place as p
    inner join span as s using (group_id)
),

-- What is called and not finished tells less than a rank that is missing later in the same group.
first_of as (
    select *
    from odd
    where differs is not null
    qualify row_number() over (partition by group_id order by differs = 'none', sequence) = 1
)

select
    o.group_id, o.sequence, any_value(o.differs) as differs, any_value(o.present) as present,
    any_value(o.queued) as queued, any_value(o.waiting) as waiting,
    any_value(o.first_created) as first_created,
    coalesce(list(m.rank order by m.rank) filter (where m.has_dump and m.last_sequence < o.sequence), []) as lacking,
    coalesce(list(m.rank order by m.rank) filter (where not m.has_dump), []) as without_dump,
    coalesce(
        list(m.rank order by m.rank)
        filter (where m.has_dump and m.last_sequence is null and not list_contains(o.present, m.rank)),
        []
    ) as unknown
from first_of as o
inner join hang_member as m using (group_id)
group by o.group_id, o.sequence;
