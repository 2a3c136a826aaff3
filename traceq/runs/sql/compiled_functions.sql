-- Functions by compile time, of all processes together, the longest first.
select
    function, file, line, _short_place(file, line) as place,
    sum(compilations)::bigint as compilations,
    sum(recompilations)::bigint as recompilations,
    sum(dur)::bigint as dur,
    sum(recompile_ns)::bigint as recompile_ns,
    max(longest) as longest,
    sum(cache_hits)::bigint as cache_hits,
    sum(cache_misses)::bigint as cache_misses,
    sum(graph_breaks)::bigint as graph_breaks,
    bool_or(is_refused) as is_refused,
    bool_or(is_skipped) as is_skipped
from compiled_function
where trace_id = $trace_id
group by function, file, line
order by sum(dur) desc nulls last, file, line, function
