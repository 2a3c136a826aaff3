-- Of the ranks that made one call, how many had made another one before it, and how many had not. Groups that the program calls
-- the same count as one, as their ranks run the same program.
with
role as (
    select group_id, if(description in ('', 'undefined'), name, description) as role
    from hang_group
),

made as (
    select c.rank, min(c.record) as record
    from hang_call as c
    inner join role as r on r.group_id = c.group_id
    where r.role = (select role from role where group_id = $later_group) and c.sequence = $later_sequence
    group by c.rank
),

before as (
    select m.rank, coalesce(max(c.sequence) filter (where c.record < m.record), 0) as sequence
    from made as m
    inner join hang_call as c on c.rank = m.rank
    inner join role as r on r.group_id = c.group_id and r.role = (select role from role where group_id = $earlier_group)
    group by m.rank
)

select
    count(*) filter (where sequence >= $earlier_sequence) as had_made,
    count(*) filter (where sequence < $earlier_sequence and rank <> $rank) as had_not
from before
