-- The traces of the database, in the order of ingest.
select trace_id, run, path, format, producer, producer_version, rank
from trace
order by trace_id
