-- What the GPUs of the ranks in the list $shown do in one window of a job, on their common clock: a row for each uninterrupted stretch of
-- one category, in the order of ranks; `lane` counts them from 0, `number` is the place of the category in the list $categories. No
-- rows without a common clock.
with
middle as (
    select min(ts_end) + (max(ts_end) - min(ts_end)) // 2 as ts
    from collective_match
    where job = $job and time_window = $time_window
),

member as (
    select
        r.trace_id, r.device, r.rank, coalesce(t.utc_origin_ns, 0) - coalesce(r.clock_offset, 0) as ahead,
        coalesce(r.clock_drift, 0) as drift, coalesce(t.utc_origin_ns, 0) as origin,
        row_number() over (order by r.rank, r.unit) - 1 as lane,
        count(distinct r.trace_id) over () = 1 or bool_and(r.clock_offset is not null) over () as is_aligned
    from job_rank as r
    inner join trace as t using (trace_id)
    where r.job = $job and r.time_window = $time_window and r.device is not null
        and list_contains(string_split($shown, ','), r.rank::varchar)
),

segment as (
    select
        m.lane, a.category,
        a.ts + m.ahead - (m.drift * (a.ts + m.origin - coalesce(c.ts, 0)))::bigint as ts, a.dur,
        a.category is distinct from lag(a.category) over (partition by m.lane order by a.ts)
        or a.ts <> lag(a.ts + a.dur) over (partition by m.lane order by a.ts) as is_first
    from member as m
    inner join device_activity as a using (trace_id, device)
    cross join middle as c
    where m.is_aligned
),

run as (
    select *, sum(is_first::integer) over (partition by lane order by ts rows unbounded preceding) as number
    from segment
),

stretch as (
    select lane, category, min(ts) as ts, max(ts + dur) as ts_end
    from run
    where category <> 'idle'
    group by lane, category, number
)

select
    lane,
    coalesce(array_position(string_split($categories, ','), category), 0)::bigint as number,
    ts - min(ts) over () as ts,
    ts_end - min(ts) over () as ts_end,
    min(ts) over () as first_ts
from stretch
order by lane, ts
