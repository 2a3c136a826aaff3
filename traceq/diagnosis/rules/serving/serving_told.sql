-- What the counted steps of a server tell, and of the gaps before those that decode how much lies between two annotations;
-- no row where no step is one of a server.
-- only-with: serving_mark: trace_id = $trace_id
with
told as (
    select
        s.dialect, s.decode_requests, s.gpu_gap,
        greatest(0, least(s.ts, t.gpu_ts) - greatest(s.ts - s.host_gap, t.gpu_ts - s.gpu_gap)) as between_annotations
    from serving_step as s
    inner join step as t using (trace_id, step)
    where s.trace_id = $trace_id and s.excluded is null
)

select
    max(dialect) as dialect,
    count(decode_requests) as steps_told,
    median(gpu_gap) filter (decode_requests > 0) as gap_ns,
    sum(between_annotations) filter (decode_requests > 0) / sum(gpu_gap) filter (decode_requests > 0) as between_share
from told
having count(*) > 0
