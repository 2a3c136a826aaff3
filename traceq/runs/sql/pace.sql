-- The steps of a run: how long they took, and what the log says of them. Attempts tell which of several logs count.
with
line as (
    select s.*
    from run_step as s
    where
        s.trace_id = $trace_id
        and (
            s.log_id in (select log_id from run_attempt where trace_id = $trace_id)
            -- steps without times
            or not exists (from run_attempt where trace_id = $trace_id)
        )
)

select
    coalesce((select sum(steps)::bigint from run_attempt where trace_id = $trace_id), sum(steps)::bigint) as steps,
    (
        select if(bool_and(lost_steps is not null), sum(steps - lost_steps), null)::bigint
        from run_attempt
        where trace_id = $trace_id
    ) as counted,
    (select max(last_step) from run_attempt where trace_id = $trace_id) as last_step,
    median(dur)::bigint as step_ns,
    quantile_cont(dur, 0.05)::bigint as low_ns,
    quantile_cont(dur, 0.95)::bigint as high_ns,
    median(throughput) as throughput,
    any_value(throughput_unit) as throughput_unit,
    arg_min({'step': step, 'loss': loss}, at_ns) filter (loss is not null and isfinite(loss)) as first_loss,
    arg_max({'step': step, 'loss': loss}, at_ns) filter (loss is not null and isfinite(loss)) as last_loss
from line;
