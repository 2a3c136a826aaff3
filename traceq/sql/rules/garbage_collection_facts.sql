-- Whether the trace names collections at all.
select count(*) as collections
from (
    select distinct name
    from cpu_slice
    where trace_id = $trace_id and kind in ('annotation', 'python', 'other', 'overhead')
)
where regexp_matches(name, '(?i)^(python[ _])?gc$|^traceq\.phase#(gc|garbage)|\bgc[._:]+collect\b|\bgarbage[ _-]?collect|^<built-in (function|method) collect( of .*)?>$')
