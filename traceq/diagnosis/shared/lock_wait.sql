-- Pieces of host_time in which the training thread waits for a lock, outside fetches of input: by the calls that Python's frames show. Waits
-- for another thread's work (conditions, events, queues, futures, the end of a thread) take a lock inside, and are none. name is the
-- innermost line of the program around the wait, else the call.
-- uses: host_time, host_slice_name
with
waiting as (
    select kind, name
    from host_slice_name
    where
        kind = 'python'
        and regexp_matches(name, '^<built-in (function|method) (.*\.)?(acquire|__enter__)( of .*)?>$')
),

for_work as (
    select kind, name
    from host_slice_name
    where
        kind = 'python'
        and regexp_matches(name, '(^|/)(threading|queue)\.py\(\d+\): (wait|wait_for|join|get|put|_wait_for_tstate_lock)$|(^|/)concurrent/futures/')
)

select p.piece_id, p.ts, p.dur, coalesce(l.name, c.name) as name
from host_time as p
inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
inner join waiting as w on w.kind = c.kind and w.name = c.name
left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = c.line_id
left join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = c.parent_id
left join for_work as f on f.kind = a.kind and f.name = a.name
where p.category <> 'data' and f.name is null
