-- The calls that give work to a GPU or may wait for it, in the order of time: the host events of a replay. What a wait for an
-- event stands for is known by the call that recorded it. NULL of a number is -1.
-- reads: _event_recorded, _host_slice, data_fetch
with
waited as (
    select
        s.correlation_id,
        s.pid,
        any_value(s.kind) as kind,
        any_value(coalesce(if(s.kind = 'event', e.stream, s.stream), s.wait_on_stream)) as stream,
        any_value(coalesce(if(s.kind = 'event', e.device, s.device), s.device)) as device,
        any_value(r.ts) as recorded
    from synchronization as s
    left join cuda_event as e on e.correlation_id = s.wait_on_correlation_id and coalesce(e.pid = s.pid, true)
    left join _event_recorded as r on r.correlation_id = s.wait_on_correlation_id and coalesce(r.pid = s.pid, true)
    where s.kind in ('event', 'stream', 'context')
    group by s.correlation_id, s.pid
),

waiting as (
    select c.slice_id, w.kind, w.stream, w.device, w.recorded
    from waited as w
    inner join cpu_slice as c using (correlation_id)
    inner join thread as t using (thread_id)
    where coalesce(w.pid = t.pid, true)
    qualify row_number() over (partition by c.slice_id order by w.recorded) = 1
),

-- Fetches from worker processes: the host waits for a batch, and launches nothing meanwhile.
fetched as (
    select f.slice_id
    from data_fetch as f
    where f.loader_kind = 'multi_process' and f.is_training
    and not exists (
        from cpu_slice as c
        where c.thread_id = f.thread_id and c.kind = 'runtime' and c.ts >= f.ts and c.ts < f.ts_end
    )
),

launching as (
    select distinct launch_id as slice_id
    from gpu_slice
    where launch_id is not null
),

call as (
    select slice_id, thread_id, ts, ts_end, name, false as fetches
    from cpu_slice
    where kind = 'runtime' and slice_id not in (select slice_id from fetched)
    union all
    select slice_id, thread_id, ts, ts_end, name, true
    from cpu_slice
    where slice_id in (select slice_id from fetched)
)

select
    c.slice_id,
    c.thread_id,
    coalesce(t.pid, 0) as pid,
    c.ts,
    c.ts_end,
    hash(c.name) as name,
    l.slice_id is not null as launches,
    not c.fetches
    and (h.activity = 'synchronization' or coalesce(h.synchronizing_id = c.slice_id, false)) as waits,
    h.activity = 'allocation' as allocates,
    contains(lower(c.name), 'free') as frees,
    c.fetches,
    l.slice_id is not null or contains(lower(c.name), 'synchronize') or contains(lower(c.name), 'memcpy') as only_waits,
    coalesce(list_position($kinds, w.kind) - 1, -1) as kind,
    coalesce(w.stream, -1) as stream,
    coalesce(w.device, -1) as device,
    coalesce(w.recorded, -1) as recorded
from call as c
inner join thread as t using (thread_id)
inner join _host_slice as h using (slice_id)
left join launching as l using (slice_id)
left join waiting as w using (slice_id)
where
    (c.fetches or l.slice_id is not null or h.synchronizing_id = c.slice_id or h.activity = 'allocation')
    and c.ts >= $ts and c.ts < $ts_end
order by c.ts, c.slice_id
