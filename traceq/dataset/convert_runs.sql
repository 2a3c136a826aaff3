-- The run of each trace, the job it belongs to, and the folder of its file: traces without a run are named by these.
select
    t.trace_id,
    t.run,
    r.job,
    coalesce(nullif(regexp_extract(t.path, '([^/\\]+)[/\\][^/\\]*$', 1), ''), 'traces') as folder,
    t.path as source,
    t.sha256
from trace as t
left join (select trace_id, min(job) as job from job_rank group by trace_id) as r using (trace_id)
order by t.trace_id
