-- How long the stages of a job's pipelines wait for other stages, in their order in the group; means over the ranks of a stage.
with
placed as (
    select b.*, list_position(g.units, b.unit) - 1 as stage
    from job_bubble as b
    inner join job_group as g using (job, time_window, group_id)
    where b.job = $job and b.time_window = $time_window and b.stages = len(g.units)
)

select
    stage,
    count(*) as ranks,
    min(micro_batches) as micro_batches,
    avg(wait_exposed)::bigint as wait,
    avg(share) as share,
    avg(share_of_equal) as share_of_equal
from placed
group by stage
having count(distinct stages) = 1
order by stage
