-- The traces of the database, in the order of ingest, and how many facts and knobs of each run are known.
with
facts as (
    select trace_id, count(*) as made_with
    from made_with
    group by trace_id
)

select trace_id, run, path, format, producer, producer_version, rank, coalesce(made_with, 0) as made_with
from trace
left join facts using (trace_id)
order by trace_id
