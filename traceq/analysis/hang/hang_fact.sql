-- What ranks are compared by, and two ranks that send to each other as groups of their own.
-- reads: recorded_fact, hang_group
-- makes: hang_fact, hang_group
create temp table _pair_fact as
select distinct on (f.rank, f.fact_id)
    f.rank, f.fact_id, g.group_id, g.name, g.description,
    if(f.is_p2p, g.members[f.from_member + 1], null) as from_rank,
    if(f.is_p2p, g.members[f.to_member + 1], null) as to_rank
from recorded_fact as f
inner join hang_group as g on g.name = f.group_name and g.description = f.group_description and list_contains(g.members, f.rank);

insert into hang_group by name
select
    (select max(group_id) + 1 from hang_group) + row_number() over (order by group_id, from_rank, to_rank) - 1 as group_id,
    name, description, [from_rank, to_rank] as members, 'pair' as source, 2 as size
from (
    select distinct group_id, name, description, from_rank, to_rank
    from _pair_fact
    where from_rank is not null and to_rank is not null
);

insert into hang_fact by name
with
compared as (
    select
        f.rank, f.fact_id, f.op, f.is_p2p, coalesce(g.group_id, p.group_id) as group_id, f.stack_id,
        coalesce(nullif(f.input_sizes, ''), f.output_sizes) as sizes,
        case
            when f.is_p2p or f.op in ('broadcast', '_broadcast_oop') then coalesce(f.output_elements, f.input_elements)
            when f.op in ('all_reduce', 'allreduce_coalesced', 'reduce', '_reduce_oop') then f.input_elements
            -- of a list the parts may differ, all of it does not
            when f.op in ('all_gather', 'ALLGATHER_coalesced') then f.output_elements
            when f.op in ('reduce_scatter', 'REDUCE_SCATTER_coalesced') then f.input_elements
            when regexp_matches(f.op, 'all_?gather') and not contains(f.op, '_v') then f.input_elements
            when contains(f.op, 'reduce_scatter') and not contains(f.op, '_v') then f.output_elements
        end as equal_elements,
        nullif(if(f.op in ('broadcast', '_broadcast_oop', 'scatter'), f.output_types, f.input_types), '') as equal_types,
        case
            when f.state = 'completed' then 'finished'
            when not f.is_retired then 'waiting'
            when f.backend <> 'gloo' then 'failed'
            else 'ended'
        end as state
    from recorded_fact as f
    inner join _pair_fact as p using (rank, fact_id)
    left join hang_group as g on g.source = 'pair' and g.name = p.name and g.description = p.description
        and g.members = [p.from_rank, p.to_rank]
)

select *, dense_rank() over (order by if(is_p2p, '', op), equal_elements, equal_types) as signature
from compared;

drop table _pair_fact;
