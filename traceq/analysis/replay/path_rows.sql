-- Rows of critical_path; found_rows is the Arrow table that path_table.py makes of them.
insert into critical_path by name
select *, $trace_id as trace_id
from found_rows
