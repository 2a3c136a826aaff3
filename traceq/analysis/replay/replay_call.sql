-- The calls that give work to a GPU or wait for it, in the order of time: what a replay of the host consists of. What an
-- event stands for is known by the call that recorded it.
with
waited as (
    select
        s.correlation_id,
        s.pid,
        any_value(s.kind) as kind,
        any_value(coalesce(if(s.kind = 'event', e.stream, s.stream), s.wait_on_stream)) as stream,
        any_value(r.ts) as recorded
    from synchronization as s
    left join cuda_event as e on e.correlation_id = s.wait_on_correlation_id and coalesce(e.pid = s.pid, true)
    left join _event_recorded as r on r.correlation_id = s.wait_on_correlation_id and coalesce(r.pid = s.pid, true)
    where s.kind in ('event', 'stream', 'context')
    group by s.correlation_id, s.pid
),

launching as (
    select distinct launch_id as slice_id
    from gpu_slice
    where launch_id is not null
)

select
    c.slice_id,
    c.thread_id,
    coalesce(t.pid, 0) as pid,
    c.ts,
    c.ts_end,
    l.slice_id is not null as launches,
    h.activity = 'synchronization' or (l.slice_id is null and h.synchronizing_id = c.slice_id) as waits,
    w.kind,
    w.stream,
    w.recorded
from cpu_slice as c
inner join thread as t using (thread_id)
inner join _host_slice as h using (slice_id)
left join launching as l using (slice_id)
left join waited as w on w.correlation_id = c.correlation_id and coalesce(w.pid = t.pid, true)
where
    c.kind = 'runtime'
    and (l.slice_id is not null or h.synchronizing_id = c.slice_id)
    and c.ts >= $ts and c.ts < $ts_end
qualify row_number() over (partition by c.slice_id order by w.recorded) = 1
order by c.ts, c.slice_id
