-- The frame that was recompiled most in the counted steps, with the value that changed most often, by a log of torch.compile; no row
-- without one.
with
failed as (
    select
        c.log_id, c.frame_id, c.function, _short_place(c.file, c.line) as place, c.compile_id, sum(s.dur)::bigint as dur,
        any_value(r.kind) as kind, any_value(r.source) as source, any_value(r.guard) as guard,
        any_value(r.expected) as expected, any_value(r.actual) as actual, any_value(_short_place(r.file, r.line)) as guard_place,
        any_value(r.code) as code
    from step_compilation as s
    inner join compilation as c using (trace_id, log_id, compile_id)
    left join recompilation as r on r.trace_id = c.trace_id and r.log_id = c.log_id and r.compile_id = c.compile_id and r.is_latest
    where s.trace_id = $trace_id and s.is_counted and c.frame_compile_id > 0
    group by c.log_id, c.frame_id, c.function, c.file, c.line, c.compile_id
),

grouped as (
    select
        function, place, kind, source, count(*) as versions, sum(dur)::bigint as dur,
        arg_min(guard, compile_id) as guard, arg_min(expected, compile_id) as expected, arg_min(actual, compile_id) as actual,
        any_value(guard_place) as guard_place, any_value(code) as code
    from failed
    group by function, place, kind, source
)

select
    *,
    (select count(*) from grouped) as others,
    exists (from compilation where trace_id = $trace_id and is_refused) as is_refused
from grouped
order by dur desc, place, kind, source
limit 3
