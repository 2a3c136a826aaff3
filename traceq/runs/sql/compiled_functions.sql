-- Functions by compile time, of all processes together, the longest first.
with
total as (
    select
        function, file, line,
        sum(dur)::bigint as dur,
        coalesce(sum(dur) filter (frame_compile_id > 0), 0)::bigint as recompile_ns,
        max(dur) as longest
    from _compiled
    where trace_id = $trace_id
    group by function, file, line
)

select
    f.function, f.file, f.line, _short_place(f.file, f.line) as place,
    sum(f.compilations)::bigint as compilations,
    sum(f.recompilations)::bigint as recompilations,
    any_value(t.dur) as dur,
    any_value(t.recompile_ns) as recompile_ns,
    any_value(t.longest) as longest,
    sum(f.cache_hits)::bigint as cache_hits,
    sum(f.cache_misses)::bigint as cache_misses,
    sum(f.graph_breaks)::bigint as graph_breaks,
    bool_or(f.is_refused) as is_refused,
    bool_or(f.is_skipped) as is_skipped
from compiled_function as f
inner join total as t
    on
        t.function is not distinct from f.function
        and t.file is not distinct from f.file
        and t.line is not distinct from f.line
where f.trace_id = $trace_id
group by f.function, f.file, f.line
order by any_value(t.dur) desc nulls last, f.file, f.line, f.function
