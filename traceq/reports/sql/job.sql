-- The jobs that the traces belong to, window by window: who is there, how long it takes, and what it would with usual ranks. `late` is
-- the time beyond the usual on the critical path, `wait` that of all ranks in matched collectives.
with
late as (
    select job, time_window, sum(greatest(own - usual, 0))::bigint as late
    from collective_member
    where on_path and own_begins is not null
    group by job, time_window
),

waiting as (
    select job, time_window, sum(wait)::bigint as wait, sum(transfer)::bigint as moving
    from job_rank
    group by job, time_window
)

select
    j.job,
    j.time_window,
    count(*) over (partition by j.job) as windows,
    j.name,
    j.world_size,
    j.ranks,
    j.hosts,
    j.absent,
    j.short_ranks,
    greatest(j.steps, 1) as steps,
    j.matched_share,
    j.mismatched,
    j.clock_residual,
    j.claim_limit,
    j.replay_error,
    j.dur,
    j.ideal,
    j.slowdown,
    j.transfer,
    j.late_start,
    if(j.dur is null, null, coalesce(l.late, 0)) as late,
    w.wait / nullif(w.wait + w.moving, 0) as wait_share,
    j.pattern,
    j.cannot_tell,
    j.wait_absent
from job as j
left join late as l using (job, time_window)
left join waiting as w using (job, time_window)
order by j.job, j.time_window
