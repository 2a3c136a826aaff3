-- The first counted step against the others.
-- remarks: yes
with
numbered as (
    select step, name, ts, dur, row_number() over (order by step) as number
    from step
    where trace_id = $trace_id and excluded is null
),

first_step as (
    select step, name, ts, dur
    from numbered
    where number = 1
),

rest as (
    select count(*) as steps, median(dur) as median, avg(dur) as mean, max(dur) as longest
    from numbered
    where number > 1
),

seen as (
    select count(*) as calls, coalesce(sum(c.dur), 0) as dur
    from cpu_slice as c
    inner join host_name as n on n.trace_id = c.trace_id and n.kind = c.kind and n.name = c.name
    cross join first_step as f
    where
        c.trace_id = $trace_id
        and c.kind = 'runtime'
        and n.activity in ('allocation', 'compile')
        and c.ts >= f.ts
        and c.ts < f.ts + f.dur
)

select
    f.step,
    f.name,
    f.ts,
    f.dur,
    r.steps as other_steps,
    r.median as other_median_ns,
    r.longest as other_longest_ns,
    f.dur / r.median as ratio,
    (f.dur + r.mean * r.steps) / (r.steps + 1) as mean_ns,
    r.mean as mean_without_ns,
    c.calls as loading_and_allocating_calls,
    c.dur as loading_and_allocating_ns
from first_step as f
cross join rest as r
cross join seen as c
where r.steps > 0
