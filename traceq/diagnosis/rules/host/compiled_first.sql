-- What was compiled for the first time in counted steps, by a log of torch.compile: the function with most of it, and how many graphs no
-- cache on disk had. NULL where there is no log.
with
first_time as (
    select c.log_id, c.compile_id, c.function, _short_place(c.file, c.line) as place, sum(s.dur) as dur
    from step_compilation as s
    inner join compilation as c using (trace_id, log_id, compile_id)
    where s.trace_id = $trace_id and s.is_counted and c.frame_compile_id = 0
    group by all
),

looked as (
    select f.compile_id, k.outcome, k.reason
    from first_time as f
    left join compile_cache as k
        on k.trace_id = $trace_id and k.log_id = f.log_id and k.compile_id = f.compile_id and k.cache = 'fx_graph'
)

select
    (select arg_max(function, dur) from first_time) as function,
    (select arg_max(place, dur) from first_time) as place,
    (select count(*) from looked where outcome = 'miss') + (select count(*) from looked where outcome = 'bypass' or outcome is null) as misses,
    (select count(*) from looked where outcome = 'bypass' or outcome is null) as bypassed,
    (select min(reason) from looked where outcome = 'bypass') as reason
