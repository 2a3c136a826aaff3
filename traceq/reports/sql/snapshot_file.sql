-- Whether all traces of a database are memory snapshots, and their files.
select coalesce(bool_and(format = 'memory_snapshot'), false) as is_snapshot, coalesce(list(path order by trace_id), []) as files
from trace
