-- The attempts of a run, over all its logs: a new one begins where the step number falls back, where a log says that the
-- program started anew, and where the scheduler's job ended meanwhile. Steps that a later attempt begins before are lost:
-- what they had learned was thrown away, so the time that counts is that of the second doing. Where the run failed for
-- good, what the last checkpoint does not hold is lost.
-- reads: run_step
-- makes: _run_interval, _run_kept, _run_life, _run_line, _run_mark, _run_moment, _run_usual, run_attempt

-- Events on the clock of the steps. Those without a time come after the last time known before their line, one after the
-- other, and end before the next one; that is not said of starts, as the time before them would count as start-up.
create or replace temp table _run_mark as
with
said as (
    select
        e.log_id, e.line, e.mark, e.phase, e.step, e.detail,
        e.at_ns + coalesce(l.shift, 0) as ts,
        if(e.mark = 'interval', greatest(coalesce(e.dur, 0), 0), 0) as dur
    from run_event as e
    inner join run_log as l using (trace_id, log_id)
    where e.trace_id = $trace_id
),

known as (
    select log_id, line, at_ns as ts from run_step where trace_id = $trace_id and at_ns is not null
    union all
    select log_id, line, ts + dur from said where ts is not null
),

untimed as (
    select s.*, b.ts as ts_before, b.line as line_before, a.ts as ts_after
    from (from said where ts is null and phase in ('checkpoint', 'compile', 'data', 'evaluation', 'failure')) as s
    asof inner join known as b on b.log_id = s.log_id and b.line <= s.line
    asof left join known as a on a.log_id = s.log_id and a.line > s.line
),

chained as (
    select
        *,
        ts_before + (sum(dur) over (partition by log_id, line_before order by line, phase, mark rows unbounded preceding))::bigint
        as ts_end
    from untimed
)

select log_id, line, mark, phase, step, detail, ts, ts + dur as ts_end, true as is_timed
from said
where ts is not null
union all
select
    log_id, line, mark, phase, step, detail,
    greatest(least(ts_end - dur, coalesce(ts_after, ts_end)), ts_before) as ts,
    greatest(least(ts_end, coalesce(ts_after, ts_end)), ts_before) as ts_end,
    false
from chained;

-- What events tell of with begin and end: intervals, and a begin with the next end of its phase in the same log.
create or replace temp table _run_interval as
with
followed as (
    select
        *,
        lead(ts) over in_order as ts_after,
        lead(mark) over in_order as mark_after
    from _run_mark
    where mark <> 'moment'
    window in_order as (partition by log_id, phase order by ts, line)
)

select log_id, line, phase, ts, if(mark = 'interval', ts_end, ts_after) as ts_end
from followed
where mark = 'interval' or (mark = 'begin' and mark_after = 'end');

-- The lines of steps in order of time, without those of logs that tell of the same time as a better one, as logs of several
-- ranks do: the lowest rank's, then the one with most lines. A line covers its steps, not more than back to the line before.
create or replace temp table _run_line as
with
span as (
    select s.log_id, min(s.at_ns) as ts, max(s.at_ns) as ts_end, count(*) as lines, any_value(coalesce(l.rank, 0)) as rank
    from run_step as s
    inner join run_log as l using (trace_id, log_id)
    where s.trace_id = $trace_id and s.at_ns is not null
    group by s.log_id
),

placed as (
    select *, row_number() over (order by rank, lines desc, ts, log_id) as place
    from span
),

chosen as (
    select log_id
    from placed as p
    where not exists (from placed as b where b.place < p.place and b.ts <= p.ts_end and p.ts <= b.ts_end)
),

said as (
    select
        log_id, line, attempt as log_attempt, step, at_ns as ts_end, dur,
        greatest(coalesce(steps, 1), 1) as steps,
        bool_and(at_ns % 1000000000 = 0) over (partition by log_id) as is_in_seconds,
        row_number() over in_order as number,
        lag(at_ns) over in_order as end_before,
        lag(log_id) over in_order as log_before,
        lag(attempt) over in_order as attempt_before,
        lag(step) over in_order as step_before
    from run_step
    where trace_id = $trace_id and at_ns is not null and log_id in (from chosen)
    window in_order as (order by at_ns, log_id, attempt, step)
),

-- between two lines of different logs or attempts: the last start of the program, and the last start or failure
between_lines as (
    select
        s.number,
        max(m.ts) filter (m.phase <> 'failure') as started,
        max(m.ts) filter (m.phase <> 'allocation' and m.mark <> 'end') as changed
    from (from said where log_before <> log_id or attempt_before <> log_attempt) as s
    inner join _run_mark as m on m.ts <= s.ts_end and m.ts > s.end_before
    where m.phase in ('allocation', 'failure', 'start_up') or (m.phase = 'restart' and m.mark = 'begin')
    group by s.number
),

job_end as (
    select ts_end as off
    from _run_mark
    where phase = 'allocation' and mark = 'interval'
),

begun as (
    select
        s.*,
        b.started,
        s.ts_end - coalesce(s.steps * s.dur, 0) as earliest,
        s.end_before is null
        or coalesce(j.off >= s.end_before, false)
        or (s.log_before = s.log_id and s.attempt_before <> s.log_attempt)
        -- a log may go on where another one ended
        or (
            s.log_before <> s.log_id
            and (
                s.step - s.steps <> s.step_before
                or b.changed is not null
                or coalesce(l.first_at + coalesce(l.shift, 0) between s.end_before and s.ts_end - coalesce(s.steps * s.dur, 0), false)
            )
        ) as begins
    from said as s
    inner join run_log as l on l.trace_id = $trace_id and l.log_id = s.log_id
    left join between_lines as b using (number)
    asof left join job_end as j on j.off < s.ts_end
)

select
    number, log_id, line, step, steps, ts_end, dur,
    count_if(begins) over (order by number) as attempt,
    least(
        ts_end,
        case
            -- times in whole seconds are too coarse to tell of less between two lines
            when is_in_seconds and not begins and dur is not null and earliest - end_before < 1000000000 then end_before
            when begins then greatest(earliest, coalesce(end_before, earliest), coalesce(started, earliest))
            else greatest(earliest, end_before)
        end
    ) as ts,
    if(begins, null, ts_end - end_before) as gap
from begun;

-- The usual step (ns) and the usual time between two lines, without the first ten lines of an attempt, in a short run
-- without the first one; NULL where there are fewer than five.
create or replace temp table _run_usual as
select
    if(max(late) >= 5, median(dur) filter (place > 10), if(count(dur) >= 5, median(dur), null))::bigint as dur,
    if(max(late) >= 5, median(gap) filter (place > 10), if(count(gap) >= 5, median(gap), null))::bigint as gap
from (
    select *, count_if(place > 10) over () as late
    from (select dur, gap, row_number() over (partition by attempt order by number) as place from _run_line)
)
where place > 1;

-- Starts of the program, failures, and ends of jobs, without those while steps go on.
create or replace temp table _run_moment as
with
run_time as (
    select attempt, min(ts) as ts, max(ts_end) as ts_end
    from _run_line
    group by attempt
),

first_line as (
    select l.log_id, l.first_at + coalesce(l.shift, 0) as ts
    from run_log as l
    inner join (select log_id, min(ts) as ts from _run_line group by log_id) as s using (log_id)
    where l.trace_id = $trace_id and l.first_at + coalesce(l.shift, 0) <= s.ts
),

job as (
    select ts, ts_end
    from _run_mark
    where phase = 'allocation' and mark = 'interval'
),

known as (
    select 'start' as kind, ts, log_id, line, detail
    from _run_mark
    -- what launchers say that start it anew
    where (phase in ('start_up', 'allocation') and mark <> 'end') or (phase = 'restart' and mark = 'begin')
    union all
    select 'start', ts, log_id, null, null from first_line
    union all
    select 'failure', ts, log_id, line, detail
    from _run_mark as m
    where phase = 'failure' and mark <> 'end' and (
        is_timed
        or not exists (
            from _run_mark as o
            where o.phase = 'failure' and o.mark <> 'end' and o.is_timed and o.ts >= m.ts
                and not exists (from run_time as r where r.ts_end > m.ts and r.ts < o.ts)
        )
    )
    union all
    select 'off', ts_end, null, null, null
    from job as j
    where not exists (from job as o where o.ts <= j.ts_end and o.ts_end > j.ts_end)
)

select *
from known as k
where not exists (
    from run_time as r
    where k.ts < r.ts_end and (k.ts > r.ts or (k.kind <> 'start' and k.ts = r.ts))
);

-- When each attempt began, showed the last sign of life, failed and ended. The time between two attempts is the later one's.
create or replace temp table _run_life as
with
done as (
    select
        attempt,
        min(ts) as ts,
        max(ts_end) as ts_end,
        min(step - steps + 1) as first_step,
        arg_max(step, number) as last_step,
        any_value(log_id order by number) as log_id
    from _run_line
    group by attempt
),

framed as (
    select *, lead(ts) over (order by attempt) as ts_next, lag(ts_end) over (order by attempt) as end_before
    from done
),

-- what comes first after its last line
ended as (
    select
        f.attempt,
        min(m.ts) filter (m.kind = 'failure') as failed_at,
        min(m.ts) filter (m.kind = 'start') as start_after,
        min(m.ts) filter (m.kind = 'off') as off_at,
        min(m.ts) as bound
    from framed as f
    left join _run_moment as m on m.ts >= f.ts_end and (m.ts < f.ts_next or f.ts_next is null)
    group by f.attempt
),

failed as (
    select attempt, failed_at
    from ended
    where failed_at is not null and coalesce(failed_at <= start_after, true)
),

alive as (
    select f.attempt, greatest(f.ts_end, coalesce(max(i.ts_end), f.ts_end)) as silent_at
    from framed as f
    inner join ended as e using (attempt)
    left join _run_interval as i
        on i.phase in ('checkpoint', 'compile', 'data', 'evaluation')
        and i.ts_end > f.ts_end
        and i.ts_end <= coalesce(e.bound, f.ts_next, i.ts_end)
    group by f.attempt, f.ts_end
),

closed as (
    select
        f.*,
        a.silent_at,
        d.failed_at,
        coalesce(d.failed_at, if(e.off_at <= coalesce(e.start_after, e.off_at), e.off_at, null), a.silent_at) as ended_at
    from framed as f
    inner join alive as a using (attempt)
    inner join ended as e using (attempt)
    left join failed as d using (attempt)
),

wall as (
    select min(ts) as ts, max(ts_end) as ts_end
    from (
        select ts, ts_end from _run_line
        union all
        select ts, ts_end from _run_mark
        union all
        select first_at + coalesce(shift, 0), last_at + coalesce(shift, 0) from run_log where trace_id = $trace_id and first_at is not null
    )
)

select
    c.* exclude (ended_at),
    coalesce(lag(c.ended_at) over in_order, w.ts) as begun_at,
    if(lead(c.attempt) over in_order is null, w.ts_end, c.ended_at) as ended_at
from closed as c
cross join wall as w
window in_order as (order by c.attempt);

-- The last step of each attempt whose outcome lives on; NULL: cannot tell.
create or replace temp table _run_kept as
with
saved as (
    select m.ts_end as ts, coalesce(m.step, l.step) as step
    from _run_mark as m
    asof left join _run_line as l on l.ts_end <= m.ts
    where m.phase = 'checkpoint' and m.mark <> 'begin'
),

checkpoint as (
    select t.attempt, max(s.step) as checkpoint_step
    from _run_life as t
    inner join saved as s
        on s.ts >= t.ts and s.ts <= coalesce(t.failed_at, t.ended_at) and s.step between t.first_step and t.last_step
    group by t.attempt
)

select
    t.attempt,
    any_value(c.checkpoint_step) as checkpoint_step,
    case
        when t.ts_next is not null then min(n.first_step) - 1
        when t.failed_at is null then t.last_step
        when not exists (from saved) then null
        else coalesce(any_value(c.checkpoint_step), t.first_step - 1)
    end as last_kept
from _run_life as t
left join _run_life as n on n.attempt > t.attempt
left join checkpoint as c on c.attempt = t.attempt
group by t.attempt, t.ts_next, t.failed_at, t.last_step, t.first_step;

insert into run_attempt by name
with
why as (
    select
        t.attempt,
        any_value(m.detail order by m.ts, m.log_id, m.line) filter (l.format not in ('slurm', 'kubernetes')) as by_log,
        any_value(m.detail order by m.ts, m.log_id, m.line) filter (l.format in ('slurm', 'kubernetes')) as by_scheduler,
        any_value(m.log_id order by m.ts, m.log_id, m.line) as failure_log_id,
        any_value(m.line order by m.ts, m.log_id, m.line) as failure_line
    from _run_life as t
    inner join _run_mark as m
        on m.phase = 'failure'
        and m.mark <> 'end'
        and m.ts >= least(t.failed_at, t.ts_end)
        and m.ts < coalesce(
            (select min(s.ts) from _run_moment as s where s.kind = 'start' and s.ts > t.failed_at), t.ts_next, m.ts + 1
        )
    inner join run_log as l on l.trace_id = $trace_id and l.log_id = m.log_id
    where t.failed_at is not null
    group by t.attempt
),

started as (
    select t.attempt, max(m.ts) as started_at
    from _run_life as t
    inner join _run_moment as m on m.kind = 'start' and m.ts <= t.ts and m.ts >= coalesce(t.end_before, m.ts)
    group by t.attempt
),

said_size as (
    select v.at_ns + coalesce(l.shift, 0) as ts, max(v.value)::integer as gpus
    from run_value as v
    inner join run_log as l using (trace_id, log_id)
    where v.trace_id = $trace_id and v.quantity = 'gpus' and v.at_ns is not null and v.value between 1 and 1e7
    group by all
),

sized as (
    select t.attempt, arg_max(s.gpus, s.ts) as gpus
    from _run_life as t
    inner join said_size as s on s.ts <= t.ts_end
    group by t.attempt
),

lost as (
    select l.attempt, sum(l.steps)::bigint as steps, sum(if(k.last_kept is null, null, least(greatest(l.step - k.last_kept, 0), l.steps)))::bigint as lost_steps
    from _run_line as l
    inner join _run_kept as k using (attempt)
    group by l.attempt
)

select
    $trace_id as trace_id,
    t.attempt,
    t.begun_at as at_ns,
    t.ended_at - t.begun_at as dur,
    s.started_at,
    t.ts as first_step_at,
    coalesce(t.failed_at, t.silent_at) as ended_at,
    t.first_step,
    t.last_step,
    o.steps,
    o.lost_steps,
    k.checkpoint_step,
    case
        when t.failed_at is not null and concat(y.by_log, ' ', y.by_scheduler) ilike '%preempt%' then 'preemption'
        when t.failed_at is not null then 'failure'
        when t.ts_next is not null then 'restart'
    end as ended_by,
    nullif(
        concat_ws('; ', if(y.by_log ilike '%preempt%' and y.by_scheduler ilike '%preempt%', null, y.by_log), y.by_scheduler), ''
    ) as reason,
    coalesce(z.gpus, g.gpus, (select max(gpus) from run_log where trace_id = $trace_id)) as gpus,
    t.log_id,
    y.failure_log_id,
    y.failure_line
from _run_life as t
inner join _run_kept as k using (attempt)
left join why as y using (attempt)
left join started as s using (attempt)
left join sized as z using (attempt)
left join lost as o using (attempt)
left join run_log as g on g.trace_id = $trace_id and g.log_id = t.log_id
order by t.attempt;
