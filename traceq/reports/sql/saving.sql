-- Time of one category on one device per counted step: the most that a fix of its cause can win.
-- Steps without time in the category count with 0, which is why this starts from the steps.
select
    sum(dur) / count(*) as saving_ns,
    median(dur) as median_ns,
    max(dur) as longest_ns,
    max_by(step, dur) as longest_step,
    count(*) as steps,
    sum(dur) / nullif(sum(step_dur), 0) as step_share
from (
    select s.step, s.dur as step_dur, coalesce(l.dur, 0) as dur
    from step as s
    left join time_ledger as l
        on l.trace_id = s.trace_id and l.step = s.step and l.device = $device and l.category = $category
    where s.trace_id = $trace_id and s.excluded is null
    order by s.step
) as part
