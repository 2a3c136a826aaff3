-- The time of each rank's collectives by process group and by who came last, in one pass over all of them.
-- reads: _job_member, _job_uneven_wait, collective_match, job, process_group
-- makes: _job_group_number, _job_group_time

-- Names of groups list their ranks: of a large job numbers take far less.
create or replace temp table _job_group_number as
select job, time_window, group_id, row_number() over (order by job, time_window, min(match_id)) as number
from collective_match
where group_id is not null
group by job, time_window, group_id;

create or replace temp table _job_group_time as
with
single as (
    select trace_id, group_name
    from process_group
    where is_only
),

matched as (
    select
        c.job, c.time_window, c.match_id, n.number, c.late_unit,
        c.op in ('broadcast', 'scatter', 'reduce', 'gather') or coalesce(c.wait_source, '') = 'arrival' as is_uneven,
        if(j.dur is null or is_uneven, null, c.transfer) as transfer,
        j.dur is not null and is_uneven as has_waits
    from collective_match as c
    inner join _job_group_number as n using (job, time_window, group_id)
    inner join job as j on j.job = c.job and j.time_window = c.time_window
)

select
    m.job, m.time_window, m.unit, m.trace_id, c.number, c.late_unit,
    -- of a group that was matched all collectives of a rank have the same
    coalesce(any_value(m.group_name), any_value(o.group_name)) as group_name,
    max(m.group_size) as group_size,
    count(*) as collectives,
    sum(m.bytes)::bigint as bytes,
    sum(m.dur)::bigint as dur,
    sum(m.exposed)::bigint as exposed,
    sum(coalesce(c.transfer, m.dur - w.wait))::bigint as transfer,
    sum(coalesce(m.dur - c.transfer, w.wait))::bigint as wait,
    sum(greatest(m.exposed - coalesce(c.transfer, m.dur - w.wait), 0))::bigint as wait_exposed
from _job_member as m
left join single as o on o.trace_id = m.trace_id
left join matched as c on c.job = m.job and c.time_window = m.time_window and c.match_id = m.match_id
left join _job_uneven_wait as w on c.has_waits and w.trace_id = m.trace_id and w.slice_id = m.slice_id
group by m.job, m.time_window, m.unit, m.trace_id, c.number, c.late_unit, if(c.number is null, m.group_name, null);
