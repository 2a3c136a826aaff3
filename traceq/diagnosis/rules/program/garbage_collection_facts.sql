-- Whether the trace names collections at all.
-- uses: host_slice_name
select count(*) as collections
from (
    select distinct name
    from host_slice_name
    where kind in ('annotation', 'python', 'other', 'overhead')
)
where regexp_matches(name, '(?i)^(python[ _])?gc$|^traceq\.phase#(gc|garbage)|\bgc[._:]+collect\b|\bgarbage[ _-]?collect|^<built-in (function|method) collect( of .*)?>$')
