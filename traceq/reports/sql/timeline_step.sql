-- The steps worth drawing in detail, each with what all counted steps are: the counted one nearest to the median, and the longest;
-- one row where these are the same.
with
counted as (
    select
        s.step, s.ts, s.ts_end, s.dur, s.source = 'window' as is_window, abs(s.dur - t.p50) as from_median,
        c.ts as capture_ts, c.ts + c.dur as capture_ts_end, min(s.ts) over () as first_ts, max(s.ts_end) over () as last_ts_end, count(*) over () as steps
    from step as s
    inner join step_stats as t using (trace_id)
    inner join trace as c using (trace_id)
    where s.trace_id = $trace_id and s.excluded is null and s.dur > 0
),

typical as (
    select * from counted order by from_median, step limit 1
),

longest as (
    select * from counted order by dur desc, step limit 1
)

select 'typical' as what, step, ts, ts_end, is_window, capture_ts, capture_ts_end, first_ts, last_ts_end, steps
from typical
union all
select 'longest', step, ts, ts_end, is_window, capture_ts, capture_ts_end, first_ts, last_ts_end, steps
from longest
where step not in (select step from typical)
order by what desc
