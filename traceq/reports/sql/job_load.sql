-- What the ranks of one window of a job get in all-to-alls along its axis of experts, the most loaded first; of all-to-alls whose axis nothing
-- tells where no axis is of experts and one rank gets at least 1.2 times the mean.
with
load as (
    select
        *,
        coalesce(contains('+' || axis || '+', '+ep+'), false) as is_of_experts,
        bool_or(coalesce(contains('+' || axis || '+', '+ep+'), false)) over () as has_experts,
        max(most) filter (axis is null) over () as most_untold
    from job_load
    where job = $job and time_window = $time_window and load is not null
)

select l.axis, r.rank, l.exchanges, l.rows, l.received, l.load, l.most
from load as l
inner join job_rank as r using (job, time_window, unit)
where if(l.has_experts, l.is_of_experts, l.axis is null and l.most_untold >= 1.2)
order by l.load desc, r.rank
limit 64
