-- How long each attempt took until it did steps as usual: start-up, and compilation.
select
    a.attempt,
    sum(p.dur)::bigint as dur,
    if(bool_and(p.gpus is not null), sum(p.dur * p.gpus), null)::double as gpu_dur
from run_attempt as a
inner join run_phase as p on p.trace_id = a.trace_id and p.attempt = a.attempt
where
    a.trace_id = $trace_id
    and p.category in ('start_up', 'compile')
    and (p.at_ns < a.first_step_at or p.is_inferred)
group by a.attempt
order by a.attempt;
