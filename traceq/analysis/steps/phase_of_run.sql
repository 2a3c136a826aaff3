-- The trace from its first slice to its last, in phases: what comes before the steps, those that do not count at either end,
-- those between (the window, with what is left out inside it), and what comes after.
-- reads: step
-- makes: phase_of_run
insert into phase_of_run
with
extent as (
    select min(ts) as ts, max(ts_end) as ts_end
    from (
        select ts, ts_end from cpu_slice where kind <> 'other' or dur > 0
        union all
        select ts, ts + dur from staging.gpu_slice
        union all
        -- a window may begin before the first slice, where threads are only sampled
        select ts, ts_end from step
    )
    having min(ts) is not null
),

counted as (
    select min(ts) as ts, max(ts_end) as ts_end from step where excluded is null having count(*) > 0
),

phase as (
    select 'start_up' as phase, e.ts, least(s.ts, e.ts_end) as ts_end, 'before the first step, or before the window' as text
    from extent as e
    cross join (select min(ts) as ts from step) as s
    union all
    select 'left_out', s.ts, s.ts_end, s.text
    from (
        select
            min(step.ts) as ts,
            max(step.ts_end) as ts_end,
            count(*) || if(count(*) = 1, ' step that does not count: ', ' steps that do not count: ') || string_agg(distinct excluded, '; ' order by excluded) as text
        from step
        cross join counted as c
        where step.excluded is not null and (step.ts_end <= c.ts or step.ts >= c.ts_end)
        group by step.ts >= c.ts_end
    ) as s
    union all
    select 'window', ts, ts_end, 'what is judged' from counted
    union all
    select 'tail', greatest(s.ts_end, e.ts), e.ts_end, 'after the last step, or after the window'
    from extent as e
    cross join (select max(ts_end) as ts_end from step) as s
),

-- The union of GPU work, as disjoint pieces.
swept as (
    select ts, ts_end, max(ts_end) over (order by ts, ts_end rows between unbounded preceding and 1 preceding) as busy_until
    from (select ts, ts + dur as ts_end from staging.gpu_slice)
),

busy as (
    select greatest(ts, coalesce(busy_until, ts)) as ts, ts_end
    from swept
    where busy_until is null or ts_end > busy_until
)

select
    $trace_id as trace_id, p.phase, p.ts, p.ts_end - p.ts as dur,
    (p.ts_end - p.ts) / nullif((select ts_end - ts from extent), 0) as share,
    coalesce((
        select sum(least(b.ts_end, p.ts_end) - greatest(b.ts, p.ts)) from busy as b where b.ts < p.ts_end and b.ts_end > p.ts
    ), 0)::bigint as gpu_busy,
    p.text
from phase as p
where p.ts_end > p.ts
order by p.ts;
