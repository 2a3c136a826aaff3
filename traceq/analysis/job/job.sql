-- The windows of jobs: which ranks are there, and how much of their communication was matched.
-- reads: _job_matched, _job_member, _job_unit, step
-- makes: job
insert into job by name
with
ranks as (
    select
        job,
        time_window,
        any_value(name) as name,
        max(world_size) as world_size,
        count(*) as ranks,
        nullif(count(distinct host), 0) as hosts,
        count(*) filter (dur < 0.95 * longest) as short_ranks
    from (select *, max(dur) over (partition by job, time_window) as longest from _job_unit)
    group by job, time_window
),

-- An excluded step between counted ones is in the time of the job, as are its collectives.
spanned as (
    select s.trace_id, count(*) as steps
    from step as s
    inner join _counted_span() as c
        on c.trace_id = s.trace_id and s.ts between c.begins and c.ends
    group by s.trace_id
),

steps as (
    select u.job, u.time_window, max(s.steps) as steps
    from _job_unit as u
    inner join spanned as s using (trace_id)
    group by u.job, u.time_window
),

times as (
    select job, time_window, sum(dur)::bigint as communication, sum(dur) filter (match_id is not null) / sum(dur) as matched_share
    from _job_member
    group by job, time_window
),

wrong as (
    select job, time_window, count(*) as mismatched
    from _job_matched
    where not fits
    group by job, time_window
)

select
    r.*,
    r.world_size - r.ranks as absent,
    coalesce(s.steps, 0) as steps,
    coalesce(t.communication, 0) as communication,
    if(r.ranks > 1, coalesce(t.matched_share, 0), null) as matched_share,
    coalesce(w.mismatched, 0) as mismatched,
    0 as violations,
    case
        when r.ranks < 2 then 'only one of its ranks is in the database'
        when t.communication is null then 'its ranks recorded no communication on GPUs'
        when coalesce(t.matched_share, 0) = 0 then 'none of its communication could be matched between ranks'
        when t.matched_share < $least
            then format('only {:.0f} % of its time in communication could be matched between ranks', 100 * t.matched_share)
    end as cannot_tell
from ranks as r
left join steps as s using (job, time_window)
left join times as t using (job, time_window)
left join wrong as w using (job, time_window);

drop table _job_matched;
