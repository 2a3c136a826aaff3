-- run_step: the steps of each training log, one row per attempt and number of step, and the attempt of each of its values.
-- makes: run_step, run_value

-- One row per line and number of step, with its attempt. A number that falls back begins a new one, unless the next is beyond all
-- before again: that is a line out of order.
create or replace temp table _run_line as
with
written as (
    select log_id, line, step, min(rowid) as place, min(at_ns) as at_ns, false as is_start
    from run_value
    where
        trace_id = $trace_id and step is not null
        and quantity in ('step_time', 'loss', 'gradient_norm', 'learning_rate', 'throughput', 'memory', 'mfu', 'tokens', 'samples')
    group by log_id, line, step
    union all
    select log_id, line, null, null, null, true
    from run_event
    where trace_id = $trace_id and mark = 'begin' and phase in ('start_up', 'restart')
),

counted as (
    select *, sum(is_start::integer) over (partition by log_id order by line, is_start desc, place) as starts
    from written
),

neighbours as (
    select
        *,
        lag(step) over in_file as before,
        lead(step) over in_file as after,
        lag(starts) over in_file as starts_before
    from counted
    where not is_start
    window in_file as (partition by log_id order by line, place)
)

select
    log_id, line, step, at_ns,
    -- of the first line there is nothing to compare with: NULL, which is no new attempt
    1 + sum(coalesce(starts > starts_before or (step < before and coalesce(after <= before, true)), false)::integer)
        over (partition by log_id order by line, place) as attempt
from neighbours;

insert into run_step by name
with
-- What the first line with it says of a step.
said as (
    select
        n.log_id, n.attempt, n.step, min(n.line) as line, arg_min(n.at_ns, v.rowid) as at_ns,
        arg_min(v.value, v.rowid) filter (v.quantity = 'step_time') as logged,
        arg_min(v.value, v.rowid) filter (v.quantity = 'loss') as loss,
        -- tokens before samples, samples before steps
        arg_min({'value': v.value, 'unit': v.unit}, ((case when v.unit like 'tok%' then 0 when v.unit like 'sample%' then 1 else 2 end), v.rowid))
            filter (v.quantity = 'throughput' and v.value >= 0) as throughput,
        arg_min(v.value, v.rowid) filter (v.quantity = 'memory') as memory,
        arg_min(v.value, v.rowid) filter (v.quantity = 'mfu') as mfu,
        arg_min(v.value, v.rowid) filter (v.quantity = 'tokens' and v.value >= 0) as tokens
    from _run_line as n
    inner join run_value as v on v.trace_id = $trace_id and v.log_id = n.log_id and v.line = n.line and v.step = n.step
    group by n.log_id, n.attempt, n.step
),

spaced as (
    select
        *,
        step - lag(step) over in_attempt as steps_since,
        at_ns - lag(at_ns) over in_attempt as time_since,
        -- the first line of the last 20 s
        step - min(step) over recent as steps_recent,
        at_ns - min(at_ns) over recent as time_recent,
        bool_and(at_ns % 1000000000 = 0) over (partition by log_id) as is_in_seconds
    from said
    window
        in_attempt as (partition by log_id, attempt order by step),
        recent as (partition by log_id, attempt order by at_ns range between 20000000000 preceding and current row)
),

-- Times in whole seconds tell of short steps only over several lines.
timed as (
    select
        *,
        if(
            is_in_seconds and steps_recent > 0 and time_recent > time_since, time_recent / steps_recent,
            if(time_since > 0, time_since / steps_since, null)
        ) as between_lines
    from spaced
),

usual as (
    select log_id, median(steps_since)::bigint as steps
    from spaced
    where steps_since is not null
    group by log_id
)

select
    $trace_id as trace_id, s.log_id, s.attempt, s.step, s.line, s.at_ns,
    coalesce(s.logged, s.between_lines)::bigint as dur,
    -- before the first of an attempt as many as there mostly are, but none before step 1
    coalesce(s.steps_since, greatest(least(u.steps, s.step), 1), 1) as steps,
    case when s.logged is not null then 'logged' when s.between_lines is not null then 'between_lines' end as dur_from,
    s.loss, s.throughput.value as throughput, s.throughput.unit as throughput_unit, s.memory, s.mfu, s.tokens
from timed as s
left join usual as u on u.log_id = s.log_id
order by s.log_id, s.attempt, s.step;

update run_value
set attempt = n.attempt
from _run_line as n
where
    run_value.trace_id = $trace_id and run_value.log_id = n.log_id and run_value.line = n.line and run_value.step = n.step;

drop table _run_line;
