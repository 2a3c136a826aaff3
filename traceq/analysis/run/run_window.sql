-- run_window: where the captured steps lie among those of each training log. By the clock where trace and log know UTC, or can be
-- brought to agree; else by the number of the step, where it is the program's own; else not, and run_log.reason says why.
-- reads: run_log run_step step
-- makes: run_window

-- What is captured: the steps that count, or all of them. Numbers of steps are the program's where its own annotations have them; those of
-- ProfilerStep and traceq.step are counted by the profiler from 0, wherever the training is. What the program printed meanwhile tells, too.
create or replace temp table _captured as
with
counted as (
    select *
    from step
    where trace_id = $trace_id
    qualify excluded is null or count(*) filter (excluded is null) over () = 0
),

extent as (
    select
        min(ts) as ts, max(ts_end) as ts_end, if(any_value(source) = 'window', null, median(dur)) as step_dur,
        if(
            bool_and(source in ('annotation', 'step_range') and try_cast(regexp_extract(name, '([0-9]+)$', 1) as bigint) = step),
            {'first': min(step), 'last': max(step)},
            null
        ) as numbered
    from counted
),

printed as (
    select {'first': min(p.step), 'last': max(p.step)} as numbered
    from printed_value as p
    cross join extent as e
    where p.trace_id = $trace_id and p.is_recorded and p.step is not null and p.ts between e.ts and e.ts_end + coalesce(e.step_dur, 0) / 2
    having count(*) > 0
)

select
    e.ts + t.utc_origin_ns as from_ns, e.ts_end + t.utc_origin_ns as until_ns, t.utc_zone_ns, e.step_dur,
    coalesce((select numbered from printed), e.numbered) as numbered,
    if(exists (from printed), 'the program printed its number while it was recorded', 'the program numbers its steps in the trace')
        as numbered_by
from extent as e
inner join trace as t on t.trace_id = $trace_id
where e.ts is not null;

-- Rows of the log with the time that they stand for.
create or replace temp table _logged as
select
    log_id, attempt, step, steps, dur, at_ns,
    coalesce(lag(at_ns) over (partition by log_id, attempt order by step), at_ns - dur * steps, at_ns) as from_ns
from run_step
where trace_id = $trace_id;

-- When attempts ran, on the log's own clock; after the last line a step may be under way.
create or replace temp table _attempt as
select
    log_id, attempt, min(step - steps) as before_step, max(step) as last_step, min(from_ns) as from_ns,
    max(at_ns) + 1000000000 + coalesce(median(at_ns - from_ns), 0)::bigint as until_ns, count(dur) as timed
from _logged
group by log_id, attempt;

-- Shifts from the log's clock to UTC in which the captured steps lie in an attempt: one, or all quarters of an hour of a zone.
create or replace temp table _fitting as
select distinct l.log_id, s.shift, a.attempt
from run_log as l
cross join _captured as c
cross join lateral (
    select unnest(
        case
            when l.shift is not null then [l.shift]
            when c.utc_zone_ns is not null then [-c.utc_zone_ns]
            else list_transform(range(-56, 49), lambda quarter: quarter * 900000000000)
        end
    ) as shift
) as s
inner join _attempt as a on a.log_id = l.log_id
where
    l.trace_id = $trace_id and l.clock <> 'none'
    and c.from_ns >= a.from_ns + s.shift and c.until_ns <= a.until_ns + s.shift;

create or replace temp table _place as
with
by_clock as (
    select log_id, any_value(shift) as shift, any_value(attempt) as attempt, count(*) as places
    from _fitting
    group by log_id
),

by_number as (
    select a.log_id, any_value(a.attempt) as attempt, count(*) as places
    from _attempt as a
    inner join _captured as c on c.numbered is not null and c.numbered.first > a.before_step and c.numbered.last <= a.last_step
    group by a.log_id
)

select
    l.log_id,
    case when k.places = 1 then 'clock' when n.places = 1 then 'step_number' end as placed_by,
    if(k.places = 1, k.shift, coalesce(l.shift, if(l.clock = 'local', -c.utc_zone_ns, null))) as shift,
    if(k.places = 1, k.attempt, if(n.places = 1, n.attempt, null)) as attempt,
    case
        when t.timed is null then 'it has no steps'
        when t.timed = 0 then 'neither its lines nor their times tell how long steps took'
        when c.from_ns is null and c.numbered is null and not exists (from _captured) then 'no steps were found in the trace'
        when k.places = 1 and l.clock = 'utc' then 'its times are UTC'
        when k.places = 1 and l.shift is not null then 'by --offset'
        when k.places = 1 and c.utc_zone_ns is not null then 'its times are in the zone of the trace'
        when k.places = 1 then 'its times fit the trace in one zone only'
        when n.places = 1 then c.numbered_by
        when t.from_ns is null and c.numbered is null then 'the lines of its steps have no times, and the program does not number its steps in the trace'
        when c.from_ns is null and c.numbered is null then 'the trace does not say when it was recorded, and the program does not number its steps in it'
        when k.places > 1 then 'its times name no zone, and it fits the trace in several: let the program log its zone, or record with TZ=UTC'
        when n.places > 1 then format('steps {} to {} are in {} attempts', c.numbered.first, c.numbered.last, n.places)
        when c.numbered is not null then format('it does not have steps {} to {}', c.numbered.first, c.numbered.last)
        when l.shift is null and c.utc_zone_ns is null then 'in no time zone the trace lies between its first and last step'
        when c.from_ns > t.until_ns + coalesce(l.shift, -c.utc_zone_ns)
            then format('the trace was recorded {:.1f} h after its last step', (c.until_ns - t.until_ns - coalesce(l.shift, -c.utc_zone_ns)) / 3.6e12)
        when c.until_ns < t.from_ns + coalesce(l.shift, -c.utc_zone_ns)
            then format('the trace was recorded {:.1f} h before its first step', (t.from_ns + coalesce(l.shift, -c.utc_zone_ns) - c.from_ns) / 3.6e12)
        else 'the trace lies between two of its attempts, or at the end of one'
    end as reason
from run_log as l
left join _captured as c on true
left join by_clock as k on k.log_id = l.log_id
left join by_number as n on n.log_id = l.log_id
left join (
    select log_id, sum(timed) as timed, min(from_ns) as from_ns, max(until_ns) as until_ns from _attempt group by log_id
) as t on t.log_id = l.log_id
where l.trace_id = $trace_id;

update run_log
set shift = coalesce(p.shift, run_log.shift), placed_by = p.placed_by, reason = p.reason
from _place as p
where run_log.trace_id = $trace_id and run_log.log_id = p.log_id;

insert into run_window by name
with
-- Steps that were done by the begin and the end of what is captured: between lines as many as time has passed.
done as (
    select
        p.log_id, p.attempt,
        max_by(g.step - g.steps * greatest(g.at_ns + p.shift - m.moment, 0) / nullif(g.at_ns - g.from_ns, 0), -g.at_ns)
            filter (g.at_ns + p.shift >= m.moment) as steps,
        max(g.step) as last_step, m.is_end
    from _place as p
    cross join _captured as c
    cross join lateral (select unnest([c.from_ns, c.until_ns]) as moment, unnest([false, true]) as is_end) as m
    inner join _logged as g on g.log_id = p.log_id and g.attempt = p.attempt
    where p.placed_by = 'clock'
    group by p.log_id, p.attempt, m.is_end
),

span as (
    select
        log_id, attempt, 'clock' as placed_by,
        least(round(max(coalesce(steps, last_step)) filter (not is_end)) + 1, max(last_step))::bigint as first_step,
        round(max(coalesce(steps, last_step)) filter (is_end))::bigint as last_step
    from done
    group by log_id, attempt
    union all
    select p.log_id, p.attempt, 'step_number', c.numbered.first, c.numbered.last
    from _place as p
    cross join _captured as c
    where p.placed_by = 'step_number'
),

whole as (
    select log_id, attempt, placed_by, first_step, greatest(first_step, last_step) as last_step
    from span
),

-- The first row of an attempt has what is done once: compiling, warming up.
usual as (
    select *
    from _logged
    where dur is not null
    qualify row_number() over (partition by log_id, attempt order by step) > 1 or count(*) over (partition by log_id) < 3
),

windowed as (
    select w.log_id, w.attempt, w.placed_by, w.first_step, w.last_step, median(g.dur) as dur
    from whole as w
    inner join _logged as g
        on g.log_id = w.log_id and g.attempt = w.attempt and g.dur is not null
        and g.step >= w.first_step and g.step - g.steps < w.last_step
    group by all
)

select
    $trace_id as trace_id, w.log_id, w.attempt, w.first_step, w.last_step, w.last_step - w.first_step + 1 as steps,
    w.dur::bigint as step_dur, median(u.dur)::bigint as run_step_dur, sum(u.steps)::bigint as run_steps,
    100 * (coalesce(sum(u.steps) filter (u.dur < w.dur), 0) + coalesce(sum(u.steps) filter (u.dur = w.dur), 0) / 2) / sum(u.steps)
        as percentile,
    w.dur / nullif(median(u.dur), 0) as ratio,
    any_value(c.step_dur) / nullif(w.dur, 0) as trace_ratio,
    w.placed_by
from windowed as w
inner join usual as u on u.log_id = w.log_id
cross join _captured as c
group by w.log_id, w.attempt, w.placed_by, w.first_step, w.last_step, w.dur
having median(u.dur) > 0;

-- On one clock from here on, where that is known.
update run_step
set at_ns = run_step.at_ns + l.shift
from run_log as l
where
    run_step.trace_id = $trace_id and l.trace_id = $trace_id and l.log_id = run_step.log_id and l.shift <> 0;

drop table _captured;
drop table _logged;
drop table _attempt;
drop table _fitting;
drop table _place;
