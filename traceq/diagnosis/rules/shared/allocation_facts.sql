-- Calls of the counted steps that allocate, release, pin or map memory, by function, the costliest first.
-- uses: counted
select
    a.name,
    a.operation,
    sum(a.calls)::bigint as calls,
    sum(a.dur)::double as dur_ns
from allocator_call as a
inner join counted using (step)
where a.trace_id = $trace_id
group by a.name, a.operation
order by dur_ns desc, a.name
