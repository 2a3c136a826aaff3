-- The training thread's fetches in the counted steps together, the loader's workers (0 where they are not known), and the cores for them.
-- How busy workers are is told by their system calls, else by the stacks in which they were sampled.
-- uses: counted, loader_workers, host_cores
-- threshold: least_samples = 20: fewer tell no share
-- threshold: most_workers = 16: more for one GPU rarely help: make the work of each smaller first
with
worker as (
    select case when bool_and(busy is not null) then sum(busy) / nullif(sum(dur), 0) end as busy_share
    from data_worker
    where trace_id = $trace_id and role = 'worker'
),

sampled as (
    select coalesce(sum(samples) filter (state <> 'wait'), 0) / sum(samples) as busy_share
    from worker_sample
    where trace_id = $trace_id
    having sum(samples) >= $least_samples
)

select
    count(*) as fetches,
    coalesce(sum(f.dur), 0)::double as fetch_ns,
    coalesce(median(f.dur), 0)::double as median_ns,
    coalesce(quantile_cont(f.dur, 0.9), 0)::double as long_ns,
    coalesce(sum(f.waiting), 0)::double as waiting_ns,
    coalesce(sum(f.reading), 0)::double as reading_ns,
    coalesce(sum(f.transform), 0)::double as transform_ns,
    coalesce(sum(f.python), 0)::double as python_ns,
    coalesce(sum(f.calls), 0)::double as calls_ns,
    coalesce(sum(f.unexplained), 0)::double as unexplained_ns,
    (select total from step_stats where trace_id = $trace_id)::double as total_ns,
    coalesce((select workers from loader_workers), 0) as workers,
    (select cores from host_cores) as cores,
    coalesce((select busy_share from worker), (select busy_share from sampled)) as worker_busy
from data_fetch as f
inner join counted using (step)
where f.trace_id = $trace_id and f.is_training
