-- The stages of a pipeline, one rank each: own time, how much that is beyond the mean of all, waiting, and the category of the ledger
-- (without communication) of which a stage has most beyond the median of all in counted steps; ns of all steps.
with
member as (
    select unit, trace_id, device, rank, stage, own, wait
    from job_rank
    where job = $job and time_window = $time_window
),

spent as (
    select m.unit, l.category, sum(l.dur) as dur
    from member as m
    inner join time_ledger as l on l.trace_id = m.trace_id and l.device = m.device
    inner join step as s on s.trace_id = l.trace_id and s.step = l.step
    where s.excluded is null and l.category <> 'communication'
    group by m.unit, l.category
),

beyond as (
    select unit, category, dur - median(dur) over (partition by category) as beyond
    from spent
),

most as (
    select unit, arg_max(category, beyond) as more_of, max(beyond)::bigint as more_ns
    from beyond
    where beyond > 0
    group by unit
)

select
    m.stage, m.rank,
    m.own as own_ns,
    m.own / nullif(avg(m.own) over (), 0) - 1 as beyond_mean,
    m.wait as wait_ns,
    b.more_of,
    b.more_ns
from member as m
left join most as b using (unit)
order by m.stage
