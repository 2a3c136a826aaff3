-- From marks (_step_mark: step, name, source, thread_id, ts, own_end, excluded) to steps that follow one another without gaps.
-- Those of a trace that was cut out of a larger one are settled: which of them count, and, where more steps followed, their ends.
-- reads: _gpu_launch, _marked_warm_up, _step_mark, serving_mark
-- makes: _gpu_step, step

-- The last mark may stay open until the profiler stops, long after the program did anything. In one that is longer than all
-- others, time without any slice that is longer than all before it is the tail of the capture; in the only one, which nothing
-- shows to be longer than usual, where it is a hundred times as long. A range whose name tells what
-- is done in it, such as saving a checkpoint, is something done, whether the profiler sees calls in it or not.
create temp table _quiet as
select max(c.ts_end) as since
from (
    select ts_end
    from cpu_slice
    where
        kind not in ('annotation', 'other')
        or kind = 'annotation' and name in (select name from host_name where kind = 'annotation' and context is not null)
    union all
    select ts + dur from staging.gpu_slice
) as c
cross join (
    select ts, own_end, if(count(*) over () = 1, 100, 1) as times
    from (select *, lead(ts) over (order by ts) - ts as dur from _step_mark)
    where source not in ('window', 'recurrence', 'optimizer')
    qualify dur is null and own_end - ts > coalesce(max(dur) over (), 0)
) as l
where c.ts_end > l.ts and c.ts_end <= l.own_end
having any_value(l.times) * (max(c.ts_end) - any_value(l.ts)) < any_value(l.own_end) - max(c.ts_end);

create temp table _step_span as
select
    m.* replace (
        if(
            row_number() over (order by m.ts desc) = 1 and not $is_settled,
            least(m.own_end, coalesce((from _quiet), m.own_end)),
            m.own_end
        ) as own_end,
        if(
            u.until > m.ts and m.source <> 'window' and not _warms_up(m.name) and not $is_settled,
            coalesce(m.excluded, 'the program marks it as warming up'),
            m.excluded
        ) as excluded
    ),
    lead(m.ts) over (order by m.ts) as next_ts
from _step_mark as m
asof left join _marked_warm_up as u on m.ts >= u.ts;

-- Work belongs to the step that launched it; to the one in which it starts where only the GPU's times pace the steps. After the
-- own end of the last step nothing is launched by a step.
create temp table _gpu_step as
select w.slice_id, w.launch_id, s.step
from (
    select l.slice_id, coalesce(l.launch_id, l.slice_id) as launch_id, if($clock = 'gpu', g.ts, l.launched_at) as ts
    from _gpu_launch as l
    inner join staging.gpu_slice as g using (slice_id)
) as w
asof join _step_span as s on w.ts >= s.ts
where w.ts < coalesce(s.next_ts, s.own_end);

create temp table _step_complete as
select
    s.* exclude (own_end, next_ts, excluded), s.excluded as found_excluded,
    coalesce(s.next_ts, if($is_followed, s.own_end, greatest(s.own_end, g.ts_end))) - s.ts as dur,
    g.ts as gpu_ts,
    g.ts_end - g.ts as gpu_dur
from _step_span as s
left join (
    select w.step, min(g.ts) as ts, max(g.ts + g.dur) as ts_end
    from _gpu_step as w
    inner join staging.gpu_slice as g using (slice_id)
    group by w.step
) as g using (step)
-- a last mark that lasts no time is no step
where coalesce(s.next_ts, greatest(s.own_end, g.ts_end)) > s.ts;

-- Steps of a server cost by what they compute, and by how many tokens: powers of two. All NULL for other steps.
create temp table _step_work as
select s.step, m.kind, length(bin(m.new_tokens)) as size
from _step_complete as s
left join serving_mark as m on m.ts = s.ts and m.thread_id is not distinct from s.thread_id;

-- Warm-up: leading steps far above the rest, of a server above those of their kind that compute as much or more; beyond the
-- first only while something is seen that warming up does.
-- Steps of equal length have no spread, so a tenth above the median is asked for as well.
create temp table _warm_up as
with
typical as (
    select w.kind, w.size, median(s.dur) as dur, mad(s.dur) as spread
    from (select distinct kind, size from _step_work) as w
    inner join _step_work as o on o.kind is not distinct from w.kind and coalesce(o.size >= w.size, w.size is null)
    inner join _step_complete as s on s.step = o.step
    where s.found_excluded is null
    group by w.kind, w.size
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
    inner join _step_work as w using (step)
    inner join typical as t on t.kind is not distinct from w.kind and t.size is not distinct from w.size
    where s.dur > t.dur + 5 * t.spread and s.dur > 1.1 * t.dur
        and (s.step = (select min(step) from _step_complete) or s.step in (from warming))
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

-- What each step does, to tell a part of one from a whole one: its launches, without a GPU the operators and ranges of its thread.
create temp table _step_amount as
select s.step, count(distinct w.work_id) as amount
from _step_complete as s
left join (
    select step, launch_id as work_id from _gpu_step
    union all
    select s.step, c.slice_id
    from cpu_slice as c
    asof join _step_complete as s on c.ts >= s.ts
    where
        not exists (from _gpu_step)
        and c.kind in ('op', 'annotation')
        and c.thread_id is not distinct from coalesce(s.thread_id, c.thread_id)
        and c.ts < s.ts + s.dur
) as w using (step)
group by s.step;

-- A capture, or a program, that ends in a step leaves a part of it: the last one, with less work than any whole one (of a server:
-- of its kind). Where the work of whole ones differs it has to be shorter, too.
create temp table _cut as
with
worked as (
    select s.step, s.dur, s.found_excluded, w.kind, a.amount
    from _step_complete as s
    inner join _step_work as w using (step)
    inner join _step_amount as a using (step)
)

select any_value(l.step) as step
from worked as l
inner join worked as o on o.step < l.step and o.found_excluded is null and o.kind is not distinct from l.kind
where l.step = (select max(step) from worked)
having
    count(*) >= 2
    and any_value(l.amount) < 0.9 * min(o.amount)
    and (any_value(l.dur) < min(o.dur) or min(o.amount) >= 0.9 * max(o.amount));

-- Phases, as training and then evaluation: two to four runs of at least three steps each, alike in what they do within a run (a tenth)
-- and not from run to run (a quarter). The one that lasts longest is judged, with those that do as much. Steps of a server differ
-- by what is asked.
create temp table _other_phase as
with
worked as (
    select s.step, s.dur, a.amount, lag(a.amount) over (order by s.step) as before
    from _step_complete as s
    inner join _step_amount as a using (step)
    inner join _step_work as w using (step)
    where s.found_excluded is null and w.kind is null and s.step not in (from _warm_up) and s.step not in (from _cut)
),

numbered as (
    select *, count(if(abs(amount - before) > 0.25 * greatest(amount, before), 1, null)) over (order by step) as run
    from worked
),

phase as (
    select
        run,
        sum(dur) as dur,
        any_value(typical) as amount,
        count(*) >= 3 and max(abs(amount - typical)) <= 0.1 * any_value(typical) as is_even
    from (select *, median(amount) over (partition by run) as typical from numbered)
    group by run
),

longest as (
    select amount, count(*) over () as phases, bool_and(is_even) over () as is_even
    from phase
    qualify row_number() over (order by dur desc, run) = 1
)

select n.step
from numbered as n
inner join phase as p using (run)
cross join longest as l
where
    l.phases between 2 and 4
    and l.is_even
    and abs(p.amount - l.amount) > 0.25 * greatest(p.amount, l.amount)
    and not $is_settled;

insert into step by name
select
    $trace_id as trace_id,
    s.* exclude (found_excluded),
    case
        when s.found_excluded is not null or $is_settled then s.found_excluded
        when w.step is not null then 'warm-up: leading step, above median + 5 MAD'
        -- a profiler that stops at a step's start leaves a stub of it
        when
            s.gpu_ts is null
            and s.step = (select max(step) from _step_complete)
            and s.step > (select min(step) from _step_complete)
            and (select count(*) from _step_complete where gpu_ts is null) = 1
            then 'incomplete: the last step, and the only one that launched no GPU work'
        when s.step in (from _cut) then 'incomplete: the last step, with less work than any other'
        when s.step = (select step from _open_end)
            then 'incomplete: the last step, without the time between its mark and a next one'
        when p.step is not null then 'another phase: steps that do more or less'
    end as excluded
from _step_complete as s
left join _warm_up as w using (step)
left join _other_phase as p using (step)
order by s.step;
