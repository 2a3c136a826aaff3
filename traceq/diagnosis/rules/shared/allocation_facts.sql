-- Calls of the counted steps that allocate, release, pin or map memory, by function, the costliest first; and whether a frame of Python
-- asks PyTorch to give its cache back (empties_cache).
-- uses: counted, host_slice_name
select
    a.name,
    a.operation,
    sum(a.calls)::bigint as calls,
    sum(a.dur)::double as dur_ns,
    exists (from host_slice_name where kind = 'python' and regexp_matches(name, '\b(empty_cache|_\w*emptyCache)\b')) as empties_cache
from allocator_call as a
inner join counted using (step)
where a.trace_id = $trace_id
group by a.name, a.operation
order by dur_ns desc, a.name
