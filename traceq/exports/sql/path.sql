-- The critical path: a slice for each of its segments.
select
    _slice(
        '"traceq"',
        _quoted(concat(json_extract_string($kinds, p.kind), ': ', json_extract_string($causes, p.cause)), $most),
        t.pid,
        t.tid,
        p.ts - $origin,
        p.dur,
        concat_ws(
            ',',
            '"step":' || p.step,
            '"edge":' || _quoted(p.edge, $most),
            '"unexplained_ns":' || nullif(p.unexplained, 0),
            '"slice":' || _quoted(p.name, $most),
            '"operator":' || _quoted(p.operator, $most)
        )
    ) as event,
    8 as level,
    p.dur
from critical_path as p
inner join _track as t on t.place = 'path'
where p.trace_id = $trace_id and p.ts <= $until and p.ts_end >= $since
order by p.segment
