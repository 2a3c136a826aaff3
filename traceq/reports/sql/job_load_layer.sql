-- The load of each rank of one window of a job, or the largest of a block of ranks, in each all-to-all of a step that brings something: the mean
-- over the steps. Of the axis of experts, or of all-to-alls whose axis nothing tells, as in job_load.sql.
with
chosen as (
    select
        *,
        coalesce(contains('+' || axis || '+', '+ep+'), false) as is_of_experts,
        bool_or(coalesce(contains('+' || axis || '+', '+ep+'), false)) over () as has_experts
    from job_exchange
    where job = $job and time_window = $time_window and not is_return and load is not null
),

of_rank as (
    select r.block, c.unit, c.place, avg(c.load) as load
    from chosen as c
    inner join job_rank as r using (job, time_window, unit)
    where if(c.has_experts, c.is_of_experts, c.axis is null)
    group by r.block, c.unit, c.place
)

select b.rank, o.place, max(o.load) as load
from of_rank as o
inner join job_rank as b on b.job = $job and b.time_window = $time_window and b.unit = o.block
group by b.rank, o.place
order by b.rank, o.place
