-- The training logs beside the trace: what each holds, and where the captured steps lie among its own.
with
stepped as (
    select
        log_id, count(distinct attempt) as attempts, min(step) as first_step, max(step) as last_step, sum(steps)::bigint as steps,
        median(dur) as dur
    from run_step
    where trace_id = $trace_id
    group by log_id
),

happened as (
    select
        log_id,
        -- of one, a log may have its begin, its end and its duration
        greatest(
            count(*) filter (phase = 'checkpoint' and mark = 'begin'), count(*) filter (phase = 'checkpoint' and mark = 'end'),
            count(*) filter (phase = 'checkpoint' and mark = 'interval')
        ) as checkpoints,
        count(*) filter (phase = 'failure') as failures
    from run_event
    where trace_id = $trace_id
    group by log_id
)

select
    l.log_id, l.file, l.format, l.gpus, l.lines_left_out, coalesce(s.attempts, 0) as attempts, s.first_step, s.last_step,
    coalesce(s.steps, 0) as steps, coalesce(w.run_step_dur, s.dur)::bigint as run_step_ns, coalesce(h.checkpoints, 0) as checkpoints,
    coalesce(h.failures, 0) as failures, l.placed_by, l.reason, w.first_step as window_first, w.last_step as window_last,
    w.step_dur as window_step_ns, w.run_steps, w.percentile, w.ratio, w.trace_ratio
from run_log as l
left join stepped as s on s.log_id = l.log_id
left join happened as h on h.log_id = l.log_id
left join run_window as w on w.trace_id = l.trace_id and w.log_id = l.log_id
where l.trace_id = $trace_id
order by l.log_id
