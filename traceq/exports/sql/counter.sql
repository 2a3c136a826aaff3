-- Samples of time series other than those that memory_timeline is made of.
select
    _event(
        '{"ph":"C"',
        '"counter"',
        _quoted(concat_ws(' ', c.name, c.instance), $most),
        t.pid,
        t.tid,
        c.ts - $origin,
        '',
        concat(_quoted(coalesce(c.unit, 'value'), $most), ':', c.value)
    ) as event,
    9 as level,
    0 as dur
-- as they were recorded where times are the same
from (select *, row_number() over () as number from counter where trace_id = $trace_id) as c
inner join _track as t on t.place = 'counter' and t.a is not distinct from c.device
where
    c.ts between $since and $until
    and isfinite(c.value)
    and not (coalesce(c.unit = 'bytes', false) and regexp_matches(c.name, '^memory_(allocated|reserved)'))
order by c.device, c.name, c.instance, c.ts, c.number
