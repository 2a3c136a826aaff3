-- Synchronizations that the profiler recorded as such, as Kineto would write them.
select
    _slice(
        '"cuda_sync"',
        case s.kind
            when 'event' then '"Event Sync"'
            when 'stream_wait_event' then '"Stream Wait Event"'
            when 'stream' then '"Stream Sync"'
            when 'context' then '"Context Sync"'
            else '"unknown"'
        end,
        t.pid,
        t.tid,
        s.ts - $origin,
        s.dur,
        concat_ws(
            ',',
            '"device":' || s.device,
            '"context":' || s.context,
            '"stream":' || s.stream,
            '"correlation":' || s.correlation_id,
            '"wait_on_stream":' || s.wait_on_stream,
            '"wait_on_cuda_event_record_corr_id":' || s.wait_on_correlation_id,
            '"wait_on_cuda_event_id":' || s.event_id
        )
    ) as event,
    9 as level,
    s.dur
from synchronization as s
left join _lane as l on l.place = 'synchronization' and l.slice_id = s.slice_id
inner join _track as t
    on
        t.place = 'synchronization'
        and t.a = coalesce(s.device, -1)
        and t.b = coalesce(s.stream, -1)
        and t.lane = coalesce(l.lane, 0)
where s.trace_id = $trace_id and s.ts <= $until and s.ts + s.dur >= $since
order by s.device, s.stream, s.ts, s.dur desc, s.slice_id
