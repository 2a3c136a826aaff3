-- The calls of _captured_call with what is around them; the module where _module_timeline is filled.
select
    c.graph,
    c.number,
    c.annotation,
    c.name,
    c.grid,
    c.operator_id,
    m.path as module,
    l.name as line
from _captured_call as c
asof left join _module_timeline as m on m.thread_id = c.thread_id and c.ts >= m.ts
left join cpu_slice as l on l.slice_id = c.line_id
order by c.number
