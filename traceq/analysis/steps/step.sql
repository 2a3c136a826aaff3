-- From marks (_step_mark: name, source, thread_id, ts, own_end) to steps that follow one another without gaps.

create temp table _step_span as
select
    (row_number() over (order by ts) - 1)::integer as step,
    *,
    lead(ts) over (order by ts) as next_ts
from _step_mark;

-- Work belongs to the step that launched it. After the own end of the last step nothing is launched by a step.
create temp table _gpu_step as
select l.slice_id, s.step
from _gpu_launch as l
asof join _step_span as s on l.launched_at >= s.ts
where l.launched_at < coalesce(s.next_ts, s.own_end);

create temp table _step_complete as
select
    s.* exclude (own_end, next_ts),
    coalesce(s.next_ts, greatest(s.own_end, g.ts_end)) - s.ts as dur,
    g.ts as gpu_ts,
    g.ts_end - g.ts as gpu_dur
from _step_span as s
left join (
    select w.step, min(g.ts) as ts, max(g.ts + g.dur) as ts_end
    from _gpu_step as w
    inner join staging.gpu_slice as g using (slice_id)
    group by w.step
) as g using (step);

-- Warm-up: leading steps far above the rest; beyond the first only while something is seen that warming up does.
-- Steps of equal length have no spread, so a tenth above the median is asked for as well.
create temp table _warm_up as
with
typical as (
    select median(dur) as dur, mad(dur) as spread
    from _step_complete
    having count(*) >= 4
),

warming as (
    select distinct s.step
    from cpu_slice as c
    asof join _step_complete as s on c.ts >= s.ts
    where
        c.ts < s.ts + s.dur
        and regexp_matches(
            c.name,
            '^(cuda|hip)(Malloc|Free|HostAlloc|MallocHost)|ModuleLoad|LibraryLoad|Lazy Function Loading|Module Loading|(?i)compile_fx|autotun|inductor.*compile|_compile\.compile_inner'
        )
),

slow as (
    select s.step
    from _step_complete as s
    cross join typical as t
    where s.dur > t.dur + 5 * t.spread and s.dur > 1.1 * t.dur and (s.step = 0 or s.step in (from warming))
)

select step
from _step_complete
where step < (select min(step) from _step_complete where step not in (from slow));

-- Programs mark a step around its work and fetch the next batch in between. The last mark is followed by no next one, so
-- its step would be a step without a fetch, and throughput too high.
create temp table _open_end as
select max(step) as step
from _step_span
where source = 'mark'
having count(*) >= 3 and median(next_ts - own_end) > 0.01 * median(next_ts - ts);

insert into step by name
select
    $trace_id as trace_id,
    s.*,
    case
        when w.step is not null then 'warm-up: leading step, above median + 5 MAD'
        -- a profiler that stops at a step's start leaves a stub of it
        when
            s.gpu_ts is null
            and s.step = (select max(step) from _step_complete)
            and s.step > 0
            and (select count(*) from _step_complete where gpu_ts is null) = 1
            then 'incomplete: the last step, and the only one that launched no GPU work'
        when s.step = (select step from _open_end)
            then 'incomplete: the last step, without the time between its mark and a next one'
    end as excluded
from _step_complete as s
left join _warm_up as w using (step)
order by s.step;
