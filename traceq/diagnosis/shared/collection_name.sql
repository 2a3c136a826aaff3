-- Names of host slices in which Python collects garbage. is_asked_for: the program calls the collector.
-- uses: host_slice_name
select kind, name, regexp_matches(name, 'collect') as is_asked_for
from host_slice_name
where
    kind in ('annotation', 'python', 'other', 'overhead')
    and regexp_matches(name, '(?i)^(python[ _])?gc$|^traceq\.phase#(gc|garbage)|\bgc[._:]+collect\b|\bgarbage[ _-]?collect|^<built-in (function|method) collect( of .*)?>$')
