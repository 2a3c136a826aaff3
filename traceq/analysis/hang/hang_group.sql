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
                when op like '%gather%' and op <> 'gather' and output_elements % nullif(input_elements, 0) = 0
                    then output_elements // input_elements
                when op like '%reduce_scatter%' and input_elements % nullif(output_elements, 0) = 0
                    then input_elements // output_elements
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
            max(greatest(size, if(len(seen) > 1, len(seen), null))) over (partition by description)
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

rank_of_world as (
    select unnest(range(size)) as rank
    from world
),

-- Copies of a group have no rank in common. Who is in none of them is a candidate for the one that lacks some.
candidate as (
    select d.description, list(r.rank order by r.rank) as ranks
    from (select distinct description from sized where members is null) as d
    cross join rank_of_world as r
    where
        if(
            d.description in ('', 'undefined'),
            r.rank not in (select rank from recorded_dump where entries is not null and rank is not null),
            not exists (from sized as s where s.description = d.description and list_contains(coalesce(s.members, s.seen), r.rank))
        )
    group by d.description
),

completed as (
    select
        s.name,
        s.description,
        case
            when s.members is not null then s.members
            when s.description = 'default_pg' then range(w.size)
            when
                s.size_of_copies - len(s.seen) = len(c.ranks)
                and (
                    s.description in ('', 'undefined')
                    or count(*) filter (where s.members is null and s.size_of_copies > len(s.seen)) over (partition by s.description) = 1
                )
                then list_sort(list_concat(s.seen, c.ranks))
            else s.seen
        end as members,
        case when s.members is not null then 'config' when s.description = 'default_pg' then 'world' else 'seen' end as source,
        case
            when s.members is not null then len(s.members)
            when s.description = 'default_pg' then w.size
            else s.size_of_copies
        end as size
    from sized as s
    cross join world as w
    left join candidate as c on c.description = s.description
)

select
    row_number() over (order by description <> 'default_pg', description, members, name) - 1 as group_id,
    name, description, members, source, size
from completed;

