-- What the host did, as Kineto would write it. Deeper slices have higher levels: they are the first to be left out.
select
    _event(
        if(c.kind = 'other' and c.dur = 0, '{"ph":"i","s":"t"', '{"ph":"X"'),
        case c.kind
            when 'op' then '"cpu_op"'
            when 'annotation' then '"user_annotation"'
            when 'runtime' then if(c.category ilike '%driver%', '"cuda_driver"', '"cuda_runtime"')
            when 'python' then '"python_function"'
            when 'overhead' then '"overhead"'
            when 'os' then '"os"'
            else _quoted(coalesce(c.category, 'other'), $most)
        end,
        _quoted(c.name, $most),
        t.pid,
        t.tid,
        c.ts - $origin,
        concat(
            if(c.kind = 'other' and c.dur = 0, '', ',"dur":' || _micro(c.dur)),
            if(a.launch_id is null, '', concat(',"bind_id":', $flow + c.slice_id, ',"flow_out":true'))
        ),
        concat_ws(
            ',', '"External id":' || c.external_id, '"correlation":' || c.correlation_id, _members(c.args, $most)
        )
    ) as event,
    if(list_contains($kept::bigint[], c.slice_id), 0, if(coalesce(c.depth, 0) < 3, 1, 10) + coalesce(c.depth, 0)) as level,
    c.dur
from cpu_slice as c
left join _lane as l on l.place = 'host' and l.slice_id = c.slice_id
inner join _track as t
    on t.place = 'host' and t.a = c.thread_id and t.b = (c.depth is null)::bigint and t.lane = coalesce(l.lane, 0)
left join (select distinct launch_id from _arrow) as a on a.launch_id = c.slice_id
where c.trace_id = $trace_id and ((c.ts <= $until and c.ts_end >= $since) or list_contains($kept::bigint[], c.slice_id))
order by c.thread_id, c.ts, c.dur desc, c.depth, c.slice_id
