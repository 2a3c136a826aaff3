-- How many calls of the trace launch kernels, how many of these were recorded into graphs, and how many recordings there were.
with
capture as (
    select t.pid, c.ts, c.name
    from cpu_slice as c
    inner join thread as t using (trace_id, thread_id)
    where c.trace_id = $trace_id and c.kind = 'runtime' and regexp_matches(c.name, '^(cuda|cu|hip)Stream(Begin|End)Capture')
),

launch as (
    select t.pid, c.ts
    from cpu_slice as c
    inner join thread as t using (trace_id, thread_id)
    where
        c.trace_id = $trace_id
        and c.kind = 'runtime'
        and regexp_matches(c.name, 'Launch\w*Kernel')
        and exists (from capture)
)

select
    count(*) as launch_calls,
    count(*) filter (contains(c.name, 'BeginCapture')) as recorded_launches,
    (select count(*) from capture where contains(name, 'BeginCapture')) as recordings
from launch as l
asof left join capture as c on c.pid is not distinct from l.pid and l.ts >= c.ts
