-- Frames of Python from samples of stacks (staging.python_sample), for gaps: time of a thread in which nothing more precise was recorded, no
-- operator, call or frame. A sample names the gap that it was taken in; between two samples the names change half way. A gap without a
-- sample is named as most time of the sampled gaps is that lie between slices of the same names: steps repeat. Gaps below a twentieth of the
-- period are left out: a sample says little of them, and they would be many. Garbage collections (staging.collection) are known to the
-- microsecond, and are frames inside the sampled ones. A trimmed trace has the samples of all of the trace.
create temp table _sampled as
with
slice as (
    select
        thread_id,
        ts,
        ts + dur as ts_end,
        regexp_replace(name, '\d+', '#', 'g') as name,
        kind in ('op', 'runtime', 'python', 'os', 'overhead') as is_precise
    from staging.cpu_slice
    where
        thread_id in (select thread_id from staging.python_sample union select thread_id from staging.collection)
        and not coalesce(is_async, false)
        and dur > 0
),

recorded as (
    select min(ts) as ts, max(ts + dur) as ts_end, any_value(p.period_ns) as period_ns
    from staging.cpu_slice
    cross join (select any_value(period_ns) as period_ns from staging.python_sample) as p
),

-- Precise slices are counted, ranges only cut; threads without slices have one gap.
edge as (
    select thread_id, ts, name, is_precise::integer as opened from slice
    union all
    select thread_id, ts_end, name, -is_precise::integer from slice
    union all
    select t.thread_id, unnest([w.ts, w.ts_end]), '', 0
    from (select distinct thread_id from staging.python_sample) as t
    cross join recorded as w
),

moment as (
    select thread_id, ts, min(name) as name, sum(opened) as opened from edge group by thread_id, ts
),

piece as (
    select
        thread_id,
        ts,
        lead(ts) over thread as ts_end,
        name || chr(10) || lead(name) over thread as place,
        sum(opened) over thread as open_slices
    from moment
    window thread as (partition by thread_id order by ts)
),

gap as (
    select row_number() over () as gap_id, p.thread_id, p.ts, p.ts_end, p.place
    from piece as p
    cross join recorded as w
    where p.open_slices = 0 and p.ts_end - p.ts >= w.period_ns // 20
),

sampled_gap as (
    select
        g.gap_id, g.thread_id, g.place, g.ts as gap_ts, g.ts_end as gap_end, p.ts, p.frames,
        p.frames is distinct from lag(p.frames) over (partition by g.gap_id order by p.ts) as is_new
    from staging.python_sample as p
    asof inner join gap as g on g.thread_id = p.thread_id and p.ts >= g.ts
    where p.ts < g.ts_end
),

-- Equal samples in a row.
run as (
    select
        gap_id,
        any_value(thread_id) as thread_id,
        any_value(place) as place,
        any_value(frames) as frames,
        any_value(gap_ts) as gap_ts,
        any_value(gap_end) as gap_end,
        min(ts) as ts,
        max(ts) as ts_last
    from (select *, sum(is_new::integer) over (partition by gap_id order by ts) as number from sampled_gap)
    group by gap_id, number
),

sample as (
    select
        gap_id, thread_id, place, frames,
        coalesce((lag(ts_last) over gap + ts) // 2, gap_ts) as ts,
        coalesce((ts_last + lead(ts) over gap) // 2, gap_end) as ts_end
    from run
    window gap as (partition by gap_id order by ts)
),

usual as (
    select thread_id, place, max_by(frames, dur) as frames
    from (select thread_id, place, frames, sum(ts_end - ts) as dur from sample group by all)
    group by thread_id, place
),

named as (
    select row_number() over () as part_id, *
    from (
        select thread_id, ts, ts_end, frames from sample where ts < ts_end
        union all
        select g.thread_id, g.ts, g.ts_end, u.frames
        from gap as g
        left join usual as u using (thread_id, place)
        where g.gap_id not in (select gap_id from sample)
    )
),

collection as (
    select thread_id, ts, ts + dur as ts_end from staging.collection
),

cut as (
    select part_id, ts from named
    union
    select n.part_id, m.ts
    from (select thread_id, unnest([ts, ts_end]) as ts from collection) as m
    asof inner join named as n on m.thread_id = n.thread_id and m.ts > n.ts
    where m.ts < n.ts_end
),

part as (
    select
        n.thread_id,
        c.ts,
        coalesce(lead(c.ts) over (partition by c.part_id order by c.ts), n.ts_end) as ts_end,
        if(n.frames <> '', string_split(n.frames, chr(10)), []) as frames
    from cut as c
    inner join named as n using (part_id)
)

select
    p.thread_id,
    p.ts,
    p.ts_end - p.ts as dur,
    unnest(list_concat(p.frames, if(p.ts < c.ts_end, ['Python GC'], []))) as name,
    generate_subscripts(list_concat(p.frames, if(p.ts < c.ts_end, ['Python GC'], [])), 1) as level
from part as p
asof left join collection as c on p.thread_id = c.thread_id and p.ts >= c.ts
where p.ts < p.ts_end;

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
