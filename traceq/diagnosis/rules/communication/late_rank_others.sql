-- Whether other ranks of this trace's job are in the database, and collectives that can be matched with theirs.
-- uses: job_trace
select
    count(*) filter (trace_id <> $trace_id and $trace_id in (select trace_id from job_trace)) as ranks,
    (
        select count(*)
        from collective
        where trace_id = $trace_id and sequence is not null and group_name is not null
    ) as numbered
from job_trace
