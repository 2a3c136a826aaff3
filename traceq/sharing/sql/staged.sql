-- The GPU work of a trace where analyses of steps look for it while a trace is ingested.
attach if not exists ':memory:' as staging (read_write);

create or replace table staging.gpu_slice as
select * from gpu_slice where trace_id = $trace_id;

create or replace temp table _gpu_launch as
select g.slice_id, coalesce(c.ts, g.ts) as launched_at
from gpu_slice as g
left join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
where g.trace_id = $trace_id;
