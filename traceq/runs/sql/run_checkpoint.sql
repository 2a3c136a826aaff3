-- What checkpoints took, and what time they are apart; those before the first step of an attempt read one.
select
    count(*) as count,
    avg(p.dur) as dur,
    (
        select sum(dur) from run_phase where trace_id = $trace_id and category in ('step', 'lost')
    )::double as stepping_ns,
    (
        select sum(dur) from run_phase where trace_id = $trace_id and category not in ('queue', 'not_submitted')
    )::double as running_ns
from run_phase as p
inner join run_attempt as a on a.trace_id = p.trace_id and a.attempt = p.attempt
where p.trace_id = $trace_id and p.category = 'checkpoint' and p.at_ns >= a.first_step_at;
