-- What one window's collectives tell: _job_collective by collective, _job_uneven by collective that ranks do not leave together,
-- _job_unit_found by rank, _job_piece by piece of the path.
-- reads: _job_collective, _job_member, _job_piece, _job_uneven, _job_unit_found, job
-- makes: collective_match, job, job_path, job_rank

-- The rank that needed least came last; it is named where the next one needed clearly more.
create or replace temp table _job_late as
select
    match_id,
    min(dur) as least,
    min(dur, 2)[2] as second_least,
    median(dur)::bigint as usual,
    arg_min(unit, dur) as unit,
    arg_min(step, unit) as step
from _job_member
where job = $job and time_window = $time_window and match_id is not null
group by match_id;

update collective_match
set
    transfer = f.transfer,
    ts_end = f.ts_end,
    step = l.step,
    -- of a group of any size two ranks send and receive
    late_unit = if(
        l.second_least - l.least > $limit
        and (collective_match.op = 'send_recv' or collective_match.members >= coalesce(collective_match.group_size, 0)),
        l.unit,
        null
    ),
    late_by = l.usual - l.least,
    late_alone = l.second_least - l.least
from _job_collective as f
inner join _job_late as l using (match_id)
where collective_match.job = $job and collective_match.time_window = $time_window and collective_match.match_id = f.match_id;

-- Of a broadcast only the root's lateness counts: who else is absent holds up nobody.
update collective_match
set
    wait_source = u.wait_source,
    late_unit = if(
        collective_match.op in ('broadcast', 'scatter') or collective_match.members >= coalesce(collective_match.group_size, 0),
        u.late_unit,
        null
    ),
    late_by = u.late_by,
    late_alone = u.late_alone
from _job_uneven as u
where collective_match.job = $job and collective_match.time_window = $time_window and collective_match.match_id = u.match_id;

create or replace temp table _job_unit_sum as
with
late as (
    select late_unit as unit, count(*) as late_count, sum(late_alone) as late_by
    from collective_match
    where job = $job and time_window = $time_window and late_unit is not null
    group by late_unit
)

select
    f.unit,
    f.stage,
    count(*) over (partition by f.stage) as peers,
    f.own, f.late, f.transfer, f.wait,
    coalesce(l.late_count, 0) as late_count,
    coalesce(l.late_by, 0) as late_by,
    f.win,
    f.group_win,
    f.part
from _job_unit_found as f
left join late as l using (unit);

-- Of a job that cannot be judged no rank's times are told: part of what it waited for is not matched.
update job_rank
set
    stage = s.stage,
    peers = s.peers,
    own = if(j.cannot_tell is null, s.own, null),
    late = if(j.cannot_tell is null, s.late, null),
    transfer = if(j.cannot_tell is null, s.transfer, null),
    wait = if(j.cannot_tell is null, s.wait, null),
    late_count = if(j.cannot_tell is null, s.late_count, null),
    late_by = if(j.cannot_tell is null, s.late_by, null),
    win = if(j.cannot_tell is null, s.win, null),
    group_win = if(j.cannot_tell is null, s.group_win, null),
    part = if(j.cannot_tell is null, s.part, null)
from _job_unit_sum as s
cross join (from job where job = $job and time_window = $time_window) as j
where job_rank.job = $job and job_rank.time_window = $time_window and job_rank.unit = s.unit;

update job
set
    dur = if(cannot_tell is null, $dur, null),
    replay_error = $error,
    transfer = if(cannot_tell is null, $transfer, null),
    late_start = if(cannot_tell is null, $late_start, null),
    ideal = if(cannot_tell is null, $ideal, null),
    slowdown = if(cannot_tell is null, $dur / $ideal, null),
    usual_source = if(cannot_tell is null, $usual_source, null),
    slow_stage = if(cannot_tell is null, $slow_stage, null),
    stage_share = if(cannot_tell is null, $stage_share, null),
    stage_win = if(cannot_tell is null, $stage_win, null),
    worker_share = if(cannot_tell is null, $worker_share, null)
where job.job = $job and job.time_window = $time_window;

insert into job_path by name
select $job as job, $time_window as time_window, p.*, c.step
from _job_piece as p
inner join collective_match as c on c.job = $job and c.time_window = $time_window and c.match_id = p.match_id
where exists (select 1 from job as j where j.job = $job and j.time_window = $time_window and j.cannot_tell is null)
order by p.place;
