-- What the ranks of one window of a job wait for others in each process group, the groups of an axis beside each other; of more than 64
-- ranks the most that a rank of a block waits, of more than 64 groups on each axis as a whole.
with
counted as (
    select count(distinct group_id) > 64 as is_by_axis
    from job_axis_rank
    where job = $job and time_window = $time_window
)

select
    b.rank,
    a.axis,
    if(c.is_by_axis, null, min(g.units)[1]) as first_unit,
    if(c.is_by_axis, null, any_value(g.group_name)) as group_name,
    max(a.wait) as wait
from (
    select job, time_window, unit, axis, if(c.is_by_axis, null, group_id) as group_id, sum(wait)::bigint as wait
    from job_axis_rank
    cross join counted as c
    where job = $job and time_window = $time_window and wait is not null
    group by job, time_window, unit, axis, if(c.is_by_axis, null, group_id)
) as a
inner join job_rank as r using (job, time_window, unit)
inner join job_rank as b on b.job = a.job and b.time_window = a.time_window and b.unit = r.block
left join job_group as g on g.job = a.job and g.time_window = a.time_window and g.group_id = a.group_id
cross join counted as c
group by b.rank, a.axis, a.group_id, c.is_by_axis
order by a.axis, first_unit, a.group_id, b.rank
