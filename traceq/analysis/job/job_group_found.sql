-- What the traces of a group's ranks say of it; one row per process group whose collectives were matched.
-- reads: _job_group_time, job, job_rank, process_group
select
    t.job,
    t.time_window,
    t.number,
    arg_min(t.group_name, t.unit) as group_name,
    arg_min(p.description, t.unit) as description,
    coalesce(max(p.group_size), max(t.group_size)) as group_size,
    list(distinct t.unit) as units,
    list(distinct r.rank) as ranks,
    list(distinct p.axis) filter (p.axis is not null) as axes,
    list(distinct p.axis_source) filter (p.axis is not null) as sources,
    if(count(r.tp) = count(*), count(distinct r.tp), 0) as tp,
    if(count(r.dp) = count(*), count(distinct r.dp), 0) as dp,
    if(count(r.pp) = count(*), count(distinct r.pp), 0) as pp,
    if(count(r.ep) = count(*), count(distinct r.ep), 0) as ep,
    max(j.world_size) as world_size,
    max(j.ranks) as job_ranks
from _job_group_time as t
inner join job_rank as r on r.job = t.job and r.time_window = t.time_window and r.unit = t.unit
inner join job as j on j.job = t.job and j.time_window = t.time_window
left join process_group as p on p.trace_id = t.trace_id and p.group_name = t.group_name
where t.number is not null
group by t.job, t.time_window, t.number
order by t.number
