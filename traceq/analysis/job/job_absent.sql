-- Waiting for ranks that are not here: what collectives of incomplete groups take beyond the fastest of their class, by durations alone.
-- reads: _job_member, collective_match, collective_member, job
-- makes: collective_match, job, job_rank

create or replace temp table _job_incomplete as
with
-- Where all ranks of all groups are here there is nothing to look for.
lacking as (
    select job, time_window
    from job
    where absent > 0
    union
    select job, time_window
    from collective_match
    where members < group_size
),

-- One row per collective that was matched, and per slice that was not.
collective as (
    select
        s.job, s.time_window, s.op, s.bytes,
        coalesce(c.group_id, s.trace_id::varchar || ' ' || coalesce(s.group_name, '')) as group_id,
        c.match_id, s.slice_id, s.trace_id,
        coalesce(c.transfer, s.dur) as took,
        coalesce(c.members < s.group_size, j.absent > 0, false) as is_incomplete,
        coalesce(j.claim_limit, _least_claim()) as claim_limit
    from _job_member as s
    inner join lacking using (job, time_window)
    inner join job as j on j.job = s.job and j.time_window = s.time_window
    left join collective_match as c on c.job = s.job and c.time_window = s.time_window and c.match_id = s.match_id
    -- each rank of an all-to-all has its own size
    where s.bytes is not null and s.op not like 'all_to_all%' and s.op <> 'send_recv'
),

class as (
    select job, time_window, op, bytes, group_id, quantile_disc(took, 0.05) as best
    from (
        select job, time_window, op, bytes, group_id, any_value(took) as took
        from collective
        group by job, time_window, op, bytes, group_id, match_id, if(match_id is null, {'trace': trace_id, 'slice': slice_id}, null)
    )
    group by job, time_window, op, bytes, group_id
    having count(*) >= 8
)

select
    c.job, c.time_window, c.trace_id, c.slice_id, c.match_id,
    if(c.took > 1.5 * b.best and c.took > b.best + c.claim_limit, c.took - b.best, 0) as wait_absent
from collective as c
inner join class as b using (job, time_window, op, bytes, group_id)
where c.is_incomplete;

update collective_match
set wait_absent = f.wait_absent
from (
    select job, time_window, match_id, any_value(wait_absent) as wait_absent
    from _job_incomplete
    group by job, time_window, match_id
) as f
where
    not coalesce(collective_match.members >= collective_match.group_size, false)
    and collective_match.job = f.job
    and collective_match.time_window = f.time_window
    and collective_match.match_id = f.match_id;

update job_rank
set wait_absent = f.wait_absent
from (
    select m.job, m.time_window, m.unit, sum(i.wait_absent)::bigint as wait_absent
    from _job_incomplete as i
    inner join collective_member as m using (job, time_window, trace_id, slice_id)
    group by m.job, m.time_window, m.unit
) as f
where job_rank.job = f.job and job_rank.time_window = f.time_window and job_rank.unit = f.unit;

update job
set wait_absent = f.wait_absent
from (select job, time_window, sum(wait_absent)::bigint as wait_absent from job_rank group by job, time_window) as f
where job.job = f.job and job.time_window = f.time_window;
