-- The groups, and their members: as the dumps list them, all ranks of the world, or the ranks that called something.
-- reads: recorded_dump, recorded_group, recorded_fact
-- makes: hang_group
insert into hang_group by name
with
listed as (
    select rank, name, description, list_sort(list(distinct member)) as members
    from recorded_group
    where rank is not null
    group by rank, name, description
),

called as (
    select
        rank,
        group_name as name,
        group_description as description,
        -- one tensor comes from each rank, or goes to each
        max(
            case
                when op like '%gather%' and op <> 'gather' and output_elements % input_elements = 0
                    then output_elements // input_elements
                when op like '%reduce_scatter%' and input_elements % output_elements = 0 then input_elements // output_elements
            end
        ) as size
    from recorded_fact
    group by rank, group_name, group_description
),

-- Groups of one name may have different members: the copies of a split group.
known as (
    select coalesce(c.rank, l.rank) as rank, coalesce(c.name, l.name) as name,
        coalesce(c.description, l.description) as description, l.members, c.size
    from called as c
    full outer join listed as l using (rank, name, description)
),

filled as (
    select
        k.rank, k.name, k.description, k.size,
        coalesce(k.members, any_value(l.members)) as members
    from known as k
    left join listed as l on k.members is null and l.name = k.name and l.description = k.description and list_contains(l.members, k.rank)
    group by k.rank, k.name, k.description, k.size, k.members
),

gathered as (
    select name, description, members, list_sort(list(distinct rank)) as seen, max(size) as size
    from filled
    group by name, description, members
),

-- Groups of one description are copies of each other: of one size.
sized as (
    select
        *,
        if(
            description in ('', 'undefined'),
            size,
            max(greatest(size, len(seen))) over (partition by description)
        ) as size_of_copies
    from gathered
),

world as (
    select max(size)::bigint as size
    from (
        select $world_size as size
        union all
        select max(rank) + 1 from recorded_dump
        union all
        select max(member) + 1 from recorded_group
    )
),

missing as (
    select coalesce(list(w.rank order by w.rank), []) as ranks
    from (select unnest(range(size)) as rank from world) as w
    anti join (select rank from recorded_dump where entries is not null) as d using (rank)
),

-- Where as many ranks have no dump as the group lacks, they are its members.
completed as (
    select
        s.name,
        s.description,
        case
            when s.members is not null then s.members
            when s.description = 'default_pg' then range(w.size)
            when s.size_of_copies - len(s.seen) = len(m.ranks) then list_sort(list_concat(s.seen, m.ranks))
            else s.seen
        end as members,
        case when s.members is not null then 'config' when s.description = 'default_pg' then 'world' else 'seen' end as source,
        case
            when s.members is not null then len(s.members)
            when s.description = 'default_pg' then w.size
            else s.size_of_copies
        end as size
    from sized as s, world as w, missing as m
)

select
    row_number() over (order by description <> 'default_pg', description, members, name) - 1 as group_id,
    name, description, members, source, size
from completed;

