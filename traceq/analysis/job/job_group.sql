-- The tables of the job's process groups, of _job_group_axis (traceq/analysis/job/axes.py): groups, ranks in them, pairs of ranks.
-- reads: _job_group_axis, _job_group_number, _job_group_time, _job_member, collective_match, job, job_rank, process_group
-- makes: job_axis_rank, job_group, job_pair

insert into job_group by name
with
matched as (
    select
        c.job, c.time_window, c.group_id, c.bytes,
        c.bytes * _bus_factor(c.op, n.ranks) as moved,
        if(j.dur is null, null, c.transfer) as transfer
    from (select *, coalesce(group_size, members) as ranks from collective_match) as n
    inner join collective_match as c using (job, time_window, match_id)
    inner join job as j on j.job = c.job and j.time_window = c.time_window
),

summed as (
    select
        job, time_window, group_id,
        count(*) as collectives,
        sum(bytes)::bigint as bytes,
        sum(moved) as moved,
        sum(transfer) filter (moved is not null)::bigint as moved_in
    from matched
    group by job, time_window, group_id
)

select
    s.job, s.time_window, s.group_id, a.group_name, a.description, a.group_size, a.units, a.stride, a.axis, a.axis_source,
    s.collectives, s.bytes, s.moved, s.moved_in
from summed as s
inner join _job_group_number as n using (job, time_window, group_id)
inner join _job_group_axis as a using (number)
order by s.job, s.time_window, n.number;

insert into job_axis_rank by name
with
late as (
    select job, time_window, group_id, late_unit as unit, count(*) as late_count, sum(late_alone)::bigint as late_by
    from collective_match
    where late_unit is not null
    group by job, time_window, group_id, late_unit
),

summed as (
    select
        job, time_window, unit, trace_id, number, if(number is null, group_name, null) as group_name,
        sum(collectives)::bigint as collectives,
        sum(bytes)::bigint as bytes,
        sum(dur)::bigint as dur,
        sum(exposed)::bigint as exposed,
        sum(transfer)::bigint as transfer,
        sum(wait)::bigint as wait,
        sum(wait_exposed)::bigint as wait_exposed
    from _job_group_time
    group by job, time_window, unit, trace_id, number, if(number is null, group_name, null)
)

select
    s.job, s.time_window, s.unit, n.group_id,
    if(s.number is null, p.axis, a.axis) as axis,
    if(s.number is null, p.axis_source, a.axis_source) as axis_source,
    s.collectives, s.bytes, s.dur, s.exposed, s.transfer, s.wait, s.wait_exposed,
    if(s.transfer is null, null, coalesce(l.late_count, 0)) as late_count,
    if(s.transfer is null, null, coalesce(l.late_by, 0)) as late_by
from summed as s
left join _job_group_number as n using (number)
left join _job_group_axis as a using (number)
left join process_group as p on p.trace_id = s.trace_id and p.group_name = s.group_name
left join late as l on l.job = s.job and l.time_window = s.time_window and l.group_id = n.group_id and l.unit = s.unit
order by s.job, s.time_window, s.unit, s.number nulls last;

-- Sends and receives join two ranks of a group, however many it has; all else joins all.
insert into job_pair by name
with
message as (
    select m.job, m.time_window, m.match_id, min(r.block) as first, max(r.block) as last
    from collective_match as c
    inner join _job_member as m using (job, time_window, match_id)
    inner join job_rank as r on r.job = m.job and r.time_window = m.time_window and r.unit = m.unit
    where c.op = 'send_recv'
    group by m.job, m.time_window, m.match_id
),

shared as (
    select job, time_window, group_id, sum(bytes)::bigint as bytes, sum(transfer)::bigint as transfer
    from collective_match
    where op <> 'send_recv'
    group by job, time_window, group_id
),

member as (
    select distinct g.job, g.time_window, g.group_id, r.block
    from (select job, time_window, group_id, unnest(units) as unit from job_group) as g
    inner join job_rank as r using (job, time_window, unit)
),

joined as (
    select s.job, s.time_window, a.block as unit, b.block as other, s.bytes, s.transfer
    from shared as s
    inner join member as a using (job, time_window, group_id)
    inner join member as b using (job, time_window, group_id)
    union all
    select m.job, m.time_window, unnest([m.first, m.last]) as unit, unnest([m.last, m.first]) as other, c.bytes, c.transfer
    from message as m
    inner join collective_match as c using (job, time_window, match_id)
),

waited as (
    select t.job, t.time_window, r.block as unit, o.block as other, sum(t.wait)::bigint as wait
    from _job_group_time as t
    inner join job_rank as r on r.job = t.job and r.time_window = t.time_window and r.unit = t.unit
    inner join job_rank as o on o.job = t.job and o.time_window = t.time_window and o.unit = t.late_unit
    where t.unit <> t.late_unit
    group by t.job, t.time_window, r.block, o.block
),

size as (
    select job, time_window, max(unit) < 64 as is_by_rank
    from job_rank
    group by job, time_window
)

select
    p.job, p.time_window, p.unit, p.other,
    sum(p.bytes)::bigint as bytes,
    sum(p.transfer)::bigint as transfer,
    coalesce(any_value(w.wait), 0) as wait
from joined as p
inner join size as z using (job, time_window)
inner join job as j on j.job = p.job and j.time_window = p.time_window
left join waited as w on w.job = p.job and w.time_window = p.time_window and w.unit = p.unit and w.other = p.other
where j.dur is not null and (p.unit <> p.other or not z.is_by_rank)
group by p.job, p.time_window, p.unit, p.other
order by p.job, p.time_window, p.unit, p.other;

drop table _job_uneven_wait;
drop table _job_group_time;
drop table _job_group_number;
drop table _job_group_axis;
