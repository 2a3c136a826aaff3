-- What is around the slices of level $level in _around and over before the next launch, and what is around that, and so on: at once
-- for all that nests exactly, which takes as long as a level does. Of each chain only the end has a level, the next one.
-- reads: _around, _border
-- makes: _around
insert into _around
with
inner_slice as (
    select a.round, a.until, a.parent_id as outer_id, a.depth as outer_depth, b.thread_id, b.launched
    from _around as a
    inner join _border as b using (round)
    where a.level = $level and a.parent_id is not null
),

-- What is open at the launch, the last of those at which it is: at those before, it is not over before the next. Of these one follows
-- another as long as it is its parent.
opened as (
    select i.round, i.until, i.outer_id, p.slice_id, p.parent_id, p.kind, p.ts_end, p.depth
    from cpu_slice as p
    asof inner join inner_slice as i on i.thread_id = p.thread_id and p.ts_end >= i.launched
    where p.ts <= i.launched and p.ts_end <= i.until and p.depth < i.outer_depth
),

linked as (
    select
        *,
        lag(parent_id, 1, outer_id) over (partition by round, outer_id order by depth desc, slice_id) is not distinct from slice_id as is_next
    from opened
),

chain as (
    select *
    from linked
    qualify bool_and(is_next) over (partition by round, outer_id order by depth desc, slice_id rows unbounded preceding)
)

select
    -- none of $level: the part below would read them
    if(depth = min(depth) over (partition by round, outer_id), $level + 1, null) as level,
    round, until, parent_id, kind, ts_end, depth
from chain
union all
select $level + 1, a.round, a.until, p.parent_id, p.kind, p.ts_end, p.depth
from _around as a
inner join cpu_slice as p on p.slice_id = a.parent_id
where a.level = $level and p.ts_end <= a.until and (a.round, a.parent_id) not in (select round, outer_id from chain);
