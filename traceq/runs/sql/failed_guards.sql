-- Values that changed, so that functions were compiled again, those that took longest first.
with
failed as (
    select c.*, r.kind, r.source, r.guard, r.expected, r.actual, r.file as guard_file, r.line as guard_line, r.code
    from recompilation as r
    inner join _compiled as c using (trace_id, log_id, compile_id)
    where r.trace_id = $trace_id and r.is_latest
)

select
    function, _short_place(file, line) as place, kind, source,
    arg_min(expected, frame_compile_id) as expected,
    arg_min(actual, frame_compile_id) as actual,
    arg_min(guard, frame_compile_id) as guard,
    min(guard_file) as guard_file,
    min(guard_line) as guard_line,
    _short_place(min(guard_file), min(guard_line)) as guard_place,
    min(code) as code,
    count(*) filter (not is_refused) as recompilations,
    sum(dur)::bigint as dur,
    max(dur) as longest,
    bool_or(is_refused) as is_refused
from failed
group by function, file, line, kind, source
order by sum(dur) desc nulls last, place, kind, source
