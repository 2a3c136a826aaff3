-- reads: run_step
-- The steps of a run in the order in which they were done, for run_change. Logs without times are a series (series_id) each;
-- the others are one, without those that tell of the same time as a better log, as logs of several ranks do: the lowest
-- rank's, then the one with most lines.
with
span as (
    select
        s.log_id, min(s.at_ns) as first_at, max(s.at_ns) as last_at,
        row_number() over (order by any_value(coalesce(l.rank, 0)), count(*) desc, s.log_id) as place
    from run_step as s
    inner join run_log as l using (trace_id, log_id)
    where s.trace_id = $trace_id
    group by s.log_id
),

chosen as (
    select log_id, if(first_at is null, log_id + 1, 0) as series_id, coalesce(first_at, 0) as first_at
    from span as s
    where not exists (
        from span as b
        where b.place < s.place and b.first_at <= s.last_at and s.first_at <= b.last_at
    )
)

select
    c.series_id, s.log_id, s.attempt, s.step, s.step - s.steps + 1 as first_step,
    min(s.step - s.steps + 1) over (partition by s.log_id, s.attempt) as attempt_begin, s.at_ns, s.throughput_unit,
    s.dur::double as step_time, s.throughput, s.memory
from run_step as s
inner join chosen as c using (log_id)
where s.trace_id = $trace_id
order by c.series_id, c.first_at, s.log_id, s.attempt, s.step;
