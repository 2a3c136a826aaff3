-- What the ranks of one window do between collectives, where the source is a table of operations; no rows of other sources.
-- reads: job_rank
select
    r.unit,
    dense_rank() over (order by g.name) - 1 as kind,
    g.ts,
    g.ts_end
from job_rank as r
inner join trace as t using (trace_id)
inner join gpu_slice as g on g.trace_id = r.trace_id and g.device = r.device
where
    r.job = $job
    and r.time_window = $time_window
    and not g.is_communication
    and json_exists(t.args, '$.operations')
order by r.unit, g.ts::hugeint + g.ts_end, g.slice_id
