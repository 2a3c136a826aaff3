-- The course of the step time over each training log, in at most 200 parts of as many steps: the shortest, median and longest in each.
with
extent as (
    select log_id, min(step) as low, greatest((max(step) - min(step)) // 200 + 1, 1) as wide
    from run_step
    where trace_id = $trace_id and dur is not null
    group by log_id
)

select
    s.log_id, min(s.step) as first_step, max(s.step) as last_step, min(s.dur) as shortest_ns, median(s.dur)::bigint as median_ns,
    max(s.dur) as longest_ns
from run_step as s
inner join extent as e on e.log_id = s.log_id
where s.trace_id = $trace_id and s.dur is not null
group by s.log_id, (s.step - e.low) // e.wide
order by s.log_id, first_step
