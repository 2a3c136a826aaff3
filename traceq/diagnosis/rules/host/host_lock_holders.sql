-- What another thread of the process does most while the training thread waits for a lock: its line of the program, its thread, and the
-- share of the waiting in which it does; NULL where no frame of another thread is there.
-- uses: lock_wait
with
training as (
    select t.thread_id, t.pid
    from thread as t
    where t.trace_id = $trace_id and t.thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id)
),

meanwhile as (
    select
        c.name,
        o.thread_name,
        sum(least(c.ts_end, w.ts + w.dur) - greatest(c.ts, w.ts)) as dur
    from lock_wait as w
    inner join cpu_slice as c on c.trace_id = $trace_id and c.ts < w.ts + w.dur and c.ts_end > w.ts and _is_line(c.kind, c.name)
    inner join thread as o on o.trace_id = c.trace_id and o.thread_id = c.thread_id
    inner join training as t on t.pid is not distinct from o.pid and t.thread_id <> o.thread_id
    group by all
)

select
    max_by(name, dur) as holder,
    max_by(thread_name, dur) as thread,
    least(1, max(dur) / (select sum(dur) from lock_wait))::double as share
from meanwhile
