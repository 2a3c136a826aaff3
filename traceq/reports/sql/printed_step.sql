-- The step that the program itself printed, against the steps of this trace: one row where one is a multiple of the other, as when the program
-- counts the passes that it accumulates, or a part that repeats was taken for a step; else none. printed_ns is the median of what it printed
-- (values of them, those without the profiler where there are three), step_ns the median step without the profiler, times the multiple, from 2 to
-- 16, and is_longer whether the program's step is the longer one. Where the program numbers its steps, and these are the optimizer's, its numbers
-- tell: a time of several steps that it printed is no longer step.
with
reference as (
    select
        s.p50 as recorded_ns,
        s.p50 / (1 + greatest(coalesce(try_cast(json_extract_string(t.args, '/traceq/overhead_share') as double), 0), 0)) as step_ns,
        (select any_value(source) from step where trace_id = $trace_id) = 'mark' as is_mark
    from step_stats as s
    inner join trace as t using (trace_id)
    where s.trace_id = $trace_id and s.steps > 0
),

printed as (
    select
        line, is_recorded,
        coalesce(max(value) filter (quantity = 'step_time'), max(1e9 / value) filter (quantity = 'throughput' and unit = 'it/s' and value > 0)) as ns
    from printed_value
    where trace_id = $trace_id and (steps_completed is null or steps_completed > 0)
    group by line, is_recorded
),

-- enough of them, that agree
usual as (
    select is_recorded, median(ns) as ns, count(*) as values
    from printed
    where ns is not null
    group by is_recorded
    having count(*) >= 3 and quantile_cont(ns, 0.75) - quantile_cont(ns, 0.25) <= 0.25 * median(ns)
    order by is_recorded
    limit 1
),

counted as (
    select
        step - lag(step) over (order by line) as steps,
        steps_completed - lag(steps_completed) over (order by line) as completed
    from (
        select line, any_value(step) as step, any_value(steps_completed) as steps_completed
        from printed_value
        where trace_id = $trace_id and step is not null and steps_completed is not null
        group by line
    )
),

-- steps that the program counts in one of the optimizer's; NULL where it has several counts, or too few
pace as (
    select if(
        count(*) filter (steps < 0) <= 0.1 * count(*) and sum(completed) filter (steps >= 0) >= 4,
        sum(steps) filter (steps >= 0) / sum(completed) filter (steps >= 0),
        null
    ) as steps
    from counted
),

ratio as (
    select
        u.ns as printed_ns, u.values, if(u.is_recorded, r.recorded_ns, r.step_ns) as step_ns,
        greatest(u.ns / if(u.is_recorded, r.recorded_ns, r.step_ns), if(u.is_recorded, r.recorded_ns, r.step_ns) / u.ns) as factor,
        u.ns > if(u.is_recorded, r.recorded_ns, r.step_ns) as is_longer,
        if(r.is_mark, if(u.ns > if(u.is_recorded, r.recorded_ns, r.step_ns), 1 / nullif(p.steps, 0), p.steps), null) as counted_factor
    from usual as u
    cross join reference as r
    cross join pace as p
)

select printed_ns, values, step_ns, round(coalesce(counted_factor, factor))::integer as times, is_longer
from ratio
where
    round(coalesce(counted_factor, factor)) between 2 and 16
    and abs(coalesce(counted_factor, factor) - round(coalesce(counted_factor, factor))) <= 0.25
    -- a number that was counted needs only a time that fits it roughly
    and abs(factor / round(coalesce(counted_factor, factor)) - 1) <= if(counted_factor is null, 0.06, 0.3)
