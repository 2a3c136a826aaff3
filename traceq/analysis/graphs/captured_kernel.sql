-- The calls of _captured_call with what is around them. Names and grids as numbers, -1 for none: as text they would fill the memory.
-- reads: _captured_call, _module_timeline
select
    c.graph, c.number, c.annotation,
    if(c.name is null, -1, (hash(c.name) >> 1)::bigint) as name,
    if(c.grid is null, -1, (hash(c.grid) >> 1)::bigint) as grid,
    c.operator_id,
    m.path as module,
    l.name as line
from _captured_call as c
asof left join _module_timeline as m on m.thread_id = c.thread_id and c.ts >= m.ts
left join cpu_slice as l on l.slice_id = c.line_id
order by c.number
