-- Annotations as the source projected them onto streams.
select
    _slice(
        '"gpu_user_annotation"',
        _quoted(g.name, $most),
        t.pid,
        t.tid,
        g.ts - $origin,
        g.dur,
        concat_ws(',', '"External id":' || g.external_id, '"device":' || g.device, '"stream":' || g.stream)
    ) as event,
    9 as level,
    g.dur
from gpu_annotation as g
left join _lane as l on l.place = 'annotation' and l.slice_id = g.slice_id
inner join _track as t
    on t.place = 'annotation' and t.a = g.device and t.b = coalesce(g.stream, -1) and t.lane = coalesce(l.lane, 0)
where g.trace_id = $trace_id and g.ts <= $until and g.ts + g.dur >= $since
order by g.device, g.stream, g.ts, g.dur desc, g.slice_id
