-- Training steps; those that are left out of statistics say why.
select
    _slice(
        '"traceq"',
        _quoted(if(s.excluded is null, s.name, s.name || ' (excluded)'), $most),
        t.pid,
        t.tid,
        s.ts - $origin,
        s.dur,
        concat_ws(
            ',', '"step":' || s.step, '"source":' || _quoted(s.source, $most), '"excluded":' || _quoted(s.excluded, $most)
        )
    ) as event,
    0 as level,
    s.dur
from step as s
inner join _track as t on t.place = 'step'
where s.trace_id = $trace_id and s.ts <= $until and s.ts_end >= $since
order by s.ts, s.step
