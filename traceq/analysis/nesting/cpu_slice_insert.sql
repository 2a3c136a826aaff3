-- reads: _nested
-- makes: cpu_slice
insert into cpu_slice by name
select $trace_id as trace_id, * exclude (ts_end, nesting_kind)
from _nested;
