-- Pieces of host_time in which the training thread waits for a lock, a condition, a queue or another thread, outside fetches of input: by
-- the calls that Python's frames show. name is the innermost line of the program around the wait, else the call.
-- uses: host_time, host_slice_name
with
waiting as (
    select kind, name
    from host_slice_name
    where
        kind = 'python'
        and regexp_matches(
            name,
            '^<built-in (function|method) (.*\.)?(acquire|__enter__|_wait_for_tstate_lock)( of .*)?>$|(^|/)(threading|queue)\.py\(\d+\): (acquire|__enter__|wait|wait_for|join|get|put|_wait_for_tstate_lock)$'
        )
)

select p.piece_id, p.ts, p.dur, coalesce(l.name, c.name) as name
from host_time as p
inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
inner join waiting as w on w.kind = c.kind and w.name = c.name
left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = c.line_id
where p.category <> 'data'
