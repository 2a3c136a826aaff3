-- The critical path of a judged job is one piece after the other, from its begin to its end. Checked with each of its ranks.
with
mine as (
    select distinct r.job, r.time_window, j.dur
    from job_rank as r
    inner join job as j using (job, time_window)
    where r.trace_id = $trace_id and j.dur is not null
),

piece as (
    select
        p.job, p.time_window, p.dur,
        p.place <> row_number() over follows - 1 as is_misplaced,
        p.ts_begin <> lag(p.ts_begin + p.dur, 1, p.ts_begin) over follows as is_apart
    from job_path as p
    window follows as (partition by p.job, p.time_window order by p.place)
),

whole as (
    select job, time_window, sum(dur) as dur, bool_or(is_misplaced or is_apart) as is_torn
    from piece
    group by job, time_window
)

select
    m.job,
    m.time_window,
    w.dur is distinct from m.dur or w.is_torn as is_broken,
    'job ' || m.job || ', window ' || m.time_window as place
from mine as m
left join whole as w using (job, time_window)
