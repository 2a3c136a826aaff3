-- The jobs that the traces belong to, the last window of each: who is there, how long it takes, and what it would with usual ranks.
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
    j.pattern,
    j.cannot_tell
from job as j
order by j.job, j.time_window
