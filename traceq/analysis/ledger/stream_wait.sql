-- What each wait of a stream for an event waited for: the last work on the event's stream that was launched before the event was
-- recorded, and the first work on the waiting stream that was launched after the wait.
-- makes: _event_recorded, stream_wait

create temp table _event_recorded as
select t.pid, c.correlation_id, min(c.ts) as ts
from cpu_slice as c
inner join thread as t using (thread_id)
where c.kind = 'runtime' and c.name like '%EventRecord%' and c.correlation_id is not null
group by t.pid, c.correlation_id;

insert into stream_wait by name
with
wait as (
    select
        s.slice_id, s.device, s.stream, s.ts,
        coalesce(e.device, s.device) as event_device,
        coalesce(e.stream, s.wait_on_stream) as event_stream,
        r.ts as recorded
    from synchronization as s
    left join cuda_event as e
        on e.correlation_id = s.wait_on_correlation_id and coalesce(e.pid = s.pid, true)
    left join _event_recorded as r
        on r.correlation_id = s.wait_on_correlation_id and coalesce(r.pid = s.pid, true)
    where s.kind = 'stream_wait_event'
    qualify row_number() over (partition by s.slice_id order by r.ts) = 1
),

-- One call can launch many slices (a graph): it is done when the last of them is.
work as (
    select
        g.device, g.stream, c.ts,
        min_by(g.slice_id, _in_time(g.ts, g.slice_id)) as first_id,
        max_by(g.slice_id, _in_time(g.ts_end, g.slice_id)) as last_id,
        max(g.ts_end) as ts_end
    from gpu_slice as g
    inner join cpu_slice as c on c.slice_id = g.launch_id
    group by g.device, g.stream, c.ts
),

launched as (
    -- a stream works in order, so what was launched before has finished before
    select
        * exclude (ts_end),
        max(ts_end) over (partition by device, stream order by ts rows unbounded preceding) as finished
    from work
)

select
    $trace_id as trace_id,
    w.* exclude (event_device, event_stream),
    b.last_id as waited_for_id,
    b.finished,
    n.first_id as next_slice_id
from wait as w
asof left join launched as b on b.device = w.event_device and b.stream = w.event_stream and w.recorded >= b.ts
asof left join launched as n on n.device = w.device and n.stream = w.stream and w.ts <= n.ts
order by w.slice_id;
