-- Numbered or repeated annotations that look like steps: the same name up to digits, on one thread, at least 3 times,
-- never overlapping, and most of the GPU launches (of operators, without a GPU) fall inside. Coverage is counted over
-- all threads, because autograd launches the backward pass from a thread of its own while the annotation stands on the main one.
with
work as (
    select launched_at as ts from _gpu_launch
    union all
    select ts from cpu_slice where kind = 'op' and not exists (select 1 from _gpu_launch)
),

named as (
    select thread_id, regexp_replace(name, '[0-9]+', '#', 'g') as pattern, name, slice_id, ts, ts_end
    from cpu_slice
    where
        kind = 'annotation'
        and dur > 0
        and not regexp_matches(name, '^(Optimizer\.|enumerate\(DataLoader\)|traceq\.)')
),

counted as (
    select thread_id, pattern
    from named
    group by thread_id, pattern
    -- repeated a hundred thousand times it is a layer or an operator, not a step
    -- nor is one of layer_0, layer_1, layer_0, layer_1, ...: names either count up or stay the same
    having count(*) between 3 and 100000 and count(distinct name) in (1, count(*))
),

repeated as (
    select thread_id, pattern, sum(ts_end - ts) as total
    from (
        select thread_id, pattern, ts, ts_end, lag(ts_end) over (partition by thread_id, pattern order by ts, ts_end desc) as previous_end
        from named
        inner join counted using (thread_id, pattern)
    )
    group by thread_id, pattern
    having bool_and(previous_end is null or ts >= previous_end)
    -- the longest few: one of thousands of repeated operator names is no candidate, and each costs a join over all work
    order by total desc
    limit 20
),

numbered as (
    select ts, row_number() over (order by ts) as launches from work
),

instance as (
    select thread_id, pattern, n.ts, n.ts_end
    from named as n
    inner join repeated using (thread_id, pattern)
),

-- Launches inside an instance: those before its end less those before its start. Not a range join: one lookup a boundary.
covered as (
    select i.thread_id, i.pattern, sum(coalesce(before_end.launches, 0) - coalesce(before_start.launches, 0)) as inside
    from instance as i
    asof left join numbered as before_start on i.ts > before_start.ts
    asof left join numbered as before_end on i.ts_end > before_end.ts
    group by i.thread_id, i.pattern
),

chosen as (
    select thread_id, pattern
    from covered
    inner join repeated using (thread_id, pattern)
    where inside > 0 and inside * 2 >= (select count(*) from work)
    order by regexp_matches(pattern, '(?i)step|iter|batch|train') desc, inside desc, total desc, thread_id, pattern
    limit 1
)

select n.name, n.thread_id, n.ts, n.ts_end as own_end
from named as n
inner join chosen using (thread_id, pattern)
order by n.ts;
