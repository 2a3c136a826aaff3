-- Jobs of several ranks, window by window, with the traces that each is made of.
select
    j.job,
    j.time_window,
    j.name,
    j.world_size,
    greatest(j.steps, 1) as steps_told,
    j.dur,
    j.ideal,
    j.slowdown,
    j.pattern,
    j.cannot_tell,
    j.claim_limit,
    count(distinct r.trace_id) = 1 or bool_and(r.clock_offset is not null) as is_aligned,
    list(distinct r.trace_id order by r.trace_id) as trace_ids
from job as j
inner join job_rank as r using (job, time_window)
where j.ranks > 1
group by all
order by j.job, j.time_window
