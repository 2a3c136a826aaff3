-- Recordings of CUDA events whose time is known.
select
    _slice(
        '"cuda_event"',
        '"cudaEventRecord"',
        t.pid,
        t.tid,
        e.ts - $origin,
        0,
        concat_ws(
            ',',
            '"device":' || e.device,
            '"context":' || e.context,
            '"stream":' || e.stream,
            '"correlation":' || e.correlation_id,
            '"event_id":' || e.event_id
        )
    ) as event,
    9 as level,
    0 as dur
from cuda_event as e
inner join _track as t on t.place = 'event' and t.a = coalesce(e.device, -1) and t.b = coalesce(e.stream, -1)
where e.trace_id = $trace_id and e.ts between $since and $until
order by e.device, e.stream, e.ts, e.slice_id
