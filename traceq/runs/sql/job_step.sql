-- Steps of one window of a job on the common clock of its ranks. Where ranks go on to the next step before others have ended one, a
-- step lasts from end to end. Without a common clock ($is_aligned) it is the longest of any rank. Where ranks number their steps each
-- in its own way (not $by_number), steps at the same place are one, with their place from 0 as number.
with
middle as (
    select min(ts_end) + (max(ts_end) - min(ts_end)) // 2 as ts
    from collective_match
    where job = $job and time_window = $time_window
),

clock as (
    select
        r.trace_id,
        any_value(coalesce(t.utc_origin_ns, 0)) as origin,
        coalesce(min_by(r.clock_offset, r.unit), 0) as clock_offset,
        coalesce(min_by(r.clock_drift, r.unit), 0) as clock_drift
    from job_rank as r
    inner join trace as t using (trace_id)
    where r.job = $job and r.time_window = $time_window
    group by r.trace_id
),

placed as (
    select
        s.trace_id,
        if($by_number, s.step, row_number() over (partition by s.trace_id order by s.ts) - 1) as step,
        s.name,
        s.dur,
        s.excluded,
        s.ts + c.origin - c.clock_offset - coalesce(c.clock_drift * (s.ts + c.origin - m.ts), 0)::bigint as begins
    from step as s
    inner join clock as c using (trace_id)
    cross join middle as m
),

whole as (
    select
        step,
        min_by(name, trace_id) as name,
        count(*) as traces,
        min_by(excluded, trace_id) filter (excluded is not null) as excluded,
        max(dur) as longest,
        min(begins) as begins,
        max(begins + dur) as ends
    from placed
    group by step
)

select
    step,
    name,
    if($is_aligned, greatest(ends - greatest(begins, coalesce(lag(ends) over (order by step), begins)), 0), longest) as dur,
    coalesce(excluded, if(traces < (select count(*) from clock), 'not on all ranks', null)) as excluded
from whole
order by step
