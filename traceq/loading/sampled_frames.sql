-- Frames of Python from samples of stacks (staging.python_run), for time in which nothing more precise was recorded: within no
-- operator, call or frame of the thread. A sample counts from half way to the one before until half way to the next. Pieces below
-- a twentieth of the period are left out: a sample says little of them, and they would be many. Garbage collections (staging.collection) are known to the microsecond, and are
-- frames inside the sampled ones. A trimmed trace has the samples of all of the trace.
create temp table _sampled as
with
recorded as (
    select min(ts) as ts, max(ts + dur) as ts_end from staging.cpu_slice
),

run as (
    select
        thread_id,
        frames,
        period_ns,
        coalesce((ts + lag(ts_last) over thread) // 2, ts - period_ns // 2) as ts,
        coalesce((ts_last + lead(ts) over thread) // 2, ts_last + period_ns // 2) as ts_end
    from staging.python_run
    window thread as (partition by thread_id order by ts)
),

collection as (
    select thread_id, ts, ts + dur as ts_end from staging.collection
),

slice as (
    select
        thread_id,
        ts,
        ts + dur as ts_end,
        kind in ('op', 'runtime', 'python', 'os', 'overhead') as is_precise
    from staging.cpu_slice
    where thread_id in (select thread_id from run) and not coalesce(is_async, false) and dur > 0
),

-- +1 where a precise slice begins, -1 where it ends; ranges only cut.
edge as (
    select thread_id, ts, is_precise::integer as opened from slice
    union all
    select thread_id, ts_end, -is_precise::integer from slice
    union all
    select thread_id, unnest([ts, ts_end]), 0 from run
    union all
    select thread_id, unnest([ts, ts_end]), 0 from collection
),

moment as (
    select thread_id, ts, sum(opened) as opened from edge group by all
),

piece as (
    select
        thread_id,
        ts,
        lead(ts) over thread as ts_end,
        sum(opened) over thread as open_slices
    from moment
    window thread as (partition by thread_id order by ts)
),

seen as (
    select
        p.thread_id, p.ts, p.ts_end,
        list_concat(if(p.ts_end <= r.ts_end, r.frames, []), if(p.ts < c.ts_end, ['Python GC'], [])) as frames
    from piece as p
    asof left join run as r on p.thread_id = r.thread_id and p.ts >= r.ts
    asof left join collection as c on p.thread_id = c.thread_id and p.ts >= c.ts
    cross join recorded as w
    where
        p.open_slices = 0
        and p.ts >= w.ts
        and p.ts_end <= w.ts_end
        and (p.ts < c.ts_end or p.ts_end <= r.ts_end and p.ts_end - p.ts >= r.period_ns // 20)
)

select thread_id, ts, ts_end - ts as dur, unnest(frames) as name, generate_subscripts(frames, 1) as level
from seen;

insert into staging.cpu_slice by name
select
    (select max(slice_id) from staging.cpu_slice) + row_number() over (order by thread_id, ts, level) as slice_id,
    thread_id,
    'python' as kind,
    'sampled' as category,
    name,
    ts,
    dur
from _sampled;

drop table _sampled;
