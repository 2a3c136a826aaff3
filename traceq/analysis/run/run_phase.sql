-- The ledger of a run: every nanosecond of its wall time once. What a log says outright comes first (a checkpoint, an
-- evaluation, a compilation, waiting for data), then the steps, then what follows from the last thing that happened: a start
-- of the program, the last sign of life of an attempt, a failure, the end of a job.
-- reads: _run_interval, _run_kept, _run_life, _run_line, _run_moment, _run_mark, _run_usual, run_attempt
-- makes: run_phase

-- Per line of steps: what of it is lost, how much longer it took than usual, and whether that has room for the checkpoints
-- and evaluations of that time: those beside which steps took no longer ran in the background.
create or replace temp table _run_covered as
with
spoken as (
    select ts, ts_end, unnest(if(phase in ('checkpoint', 'evaluation'), ['all', 'beside'], ['all'])) as part
    from _run_interval
    where phase in ('checkpoint', 'compile', 'data', 'evaluation')
),

joined as (
    select part, ts, ts_end, coalesce(sum(ts_end - ts) over (
        partition by part order by ts rows between unbounded preceding and 1 preceding
    ), 0) as before
    from interval_union('spoken')
),

-- what lies before the end of a line less what lies before its begin
shared as (
    select
        l.number,
        p.part,
        coalesce(e.before + least(l.ts_end, e.ts_end) - e.ts, 0) - coalesce(b.before + least(l.ts, b.ts_end) - b.ts, 0) as dur
    from _run_line as l
    cross join (select unnest(['all', 'beside']) as part) as p
    asof left join joined as e on e.part = p.part and e.ts <= l.ts_end
    asof left join joined as b on b.part = p.part and b.ts <= l.ts
),

within as (
    select number, max(dur) filter (part = 'all') as spoken, max(dur) filter (part = 'beside') as beside
    from shared
    group by number
),

measured as (
    select
        l.*,
        l.ts_end - l.ts - l.steps * u.dur as excess,
        coalesce(w.beside, 0) as beside,
        coalesce(w.spoken, 0) as spoken,
        coalesce(least(greatest(l.step - k.last_kept, 0), l.steps), 0) as lost_steps,
        row_number() over (partition by l.attempt order by l.number) as place
    from _run_line as l
    inner join _run_kept as k using (attempt)
    cross join _run_usual as u
    left join within as w on w.number = l.number
),

-- the first steps of an attempt, as long as they are slow
slow as (
    select
        *,
        place <= 10 and min(coalesce(excess - spoken > 0.25 * (ts_end - ts - excess), false)::integer) over (
            partition by attempt order by place rows unbounded preceding
        ) = 1 as is_slow_start
    from measured
)

select
    attempt, ts, ts_end,
    ts + if(is_slow_start, greatest(excess - spoken, 0), 0) as warm_at,
    ts_end - ((ts_end - ts)::hugeint * lost_steps // steps)::bigint as lost_at,
    beside > 0 and coalesce(2 * excess < beside, false) as is_beside
from slow
where ts_end > ts;

insert into run_phase by name
with
interval_of as (
    select ts, ts_end, phase as kind from _run_interval where phase <> 'failure'
    union all
    select ts, ts_end, if(is_beside, 'beside', 'covered') from _run_covered
    union all
    select ts, warm_at, 'warm_up' from _run_covered
    union all
    select lost_at, ts_end, 'lost' from _run_covered
),

-- Moments, in the order in which they count at the same time: what happens after them follows from the last one.
turn as (
    select silent_at as ts, 'silent' as kind, 0 as weight, null as log_id, null as line from _run_life
    union all
    select ts, kind, if(kind = 'failure', 1, if(kind = 'off', 2, 3)), log_id, line from _run_moment
    union all
    select ts, 'running', 4, null, null from _run_life
),

followed as (
    select
        *,
        lead(kind) over in_order as kind_after,
        lead(ts) over in_order as ts_after,
        lead(log_id) over in_order as log_after,
        lead(line) over in_order as line_after,
        lead(is_scheduled) over in_order as is_scheduled_after,
        row_number() over in_order as place
    from turn
    left join (
        select log_id, format in ('slurm', 'kubernetes') as is_scheduled from run_log where trace_id = $trace_id
    ) as l using (log_id)
    window in_order as (order by ts, weight, log_id, line)
),

moment as (
    select *, max(ts) filter (kind in ('start', 'running')) over () > ts as goes_on
    from followed
    qualify row_number() over (partition by ts order by place desc) = 1
),

edge as (
    select kind, unnest([ts, ts_end]) as ts, unnest([1, -1]) as delta from interval_of where ts < ts_end
    union all
    select null, ts, 0 from turn
    union all
    select null, unnest([begun_at, ended_at]), 0 from _run_life
    union all
    select null, unnest([ts, ts_end]), 0 from _run_mark
    union all
    select null, unnest([first_at, last_at]) + coalesce(shift, 0), 0 from run_log where trace_id = $trace_id and first_at is not null
),

changed as (
    select
        ts,
        coalesce(sum(delta) filter (kind = 'checkpoint'), 0) as checkpoint,
        coalesce(sum(delta) filter (kind = 'evaluation'), 0) as evaluation,
        coalesce(sum(delta) filter (kind = 'compile'), 0) as compile,
        coalesce(sum(delta) filter (kind = 'data'), 0) as data,
        coalesce(sum(delta) filter (kind = 'start_up'), 0) as start_up,
        coalesce(sum(delta) filter (kind = 'restart'), 0) as restart,
        coalesce(sum(delta) filter (kind = 'idle'), 0) as idle,
        coalesce(sum(delta) filter (kind = 'warm_up'), 0) as warm_up,
        coalesce(sum(delta) filter (kind = 'lost'), 0) as lost,
        coalesce(sum(delta) filter (kind in ('covered', 'beside')), 0) as covered,
        coalesce(sum(delta) filter (kind = 'beside'), 0) as beside,
        coalesce(sum(delta) filter (kind = 'queue'), 0) as queue,
        coalesce(sum(delta) filter (kind = 'allocation'), 0) as allocation
    from edge
    group by ts
),

stretch as (
    select
        ts,
        lead(ts) over in_order as ts_end,
        sum(checkpoint) over in_order as checkpoint,
        sum(evaluation) over in_order as evaluation,
        sum(compile) over in_order as compile,
        sum(data) over in_order as data,
        sum(start_up) over in_order as start_up,
        sum(restart) over in_order as restart,
        sum(idle) over in_order as idle,
        sum(warm_up) over in_order as warm_up,
        sum(lost) over in_order as lost,
        sum(covered) over in_order as covered,
        sum(beside) over in_order as beside,
        sum(queue) over in_order as queue,
        sum(allocation) over in_order as allocation
    from changed
    window in_order as (order by ts)
),

placed as (
    select
        s.*,
        m.kind as last_turn, m.kind_after, m.ts_after, m.goes_on,
        -- a job of which no training log is here
        coalesce(m.kind = 'start' and m.is_scheduled and (m.kind_after is null or m.kind_after = 'off' or m.is_scheduled_after), false)
        as is_silent_job,
        m.ts as turned_at,
        case m.kind when 'failure' then m.log_id when 'silent' then m.log_after end as turn_log,
        case m.kind when 'failure' then m.line when 'silent' then m.line_after end as turn_line
    from stretch as s
    asof left join moment as m on m.ts <= s.ts
    where s.ts_end > s.ts
),

judged as (
    select
        *,
        covered > 0 or checkpoint + evaluation + compile + data + start_up + restart + idle > 0 as is_said,
        case
            when checkpoint > 0 and beside = 0 then 'checkpoint'
            when evaluation > 0 and beside = 0 then 'evaluation'
            when compile > 0 then 'compile'
            when data > 0 then 'data'
            when warm_up > 0 then 'compile'
            when lost > 0 then 'lost'
            when covered > 0 then 'step'
            when start_up > 0 then 'start_up'
            when restart > 0 then 'restart'
            when idle > 0 then 'idle'
            when is_silent_job then 'unattributed'
            when last_turn = 'start' then 'start_up'
            when last_turn = 'silent' and kind_after = 'failure'
                then if(ts_after - turned_at <= 2 * (select gap from _run_usual), 'lost', 'hang')
            when last_turn = 'silent' and kind_after in ('start', 'running') then 'restart'
            when last_turn = 'silent' and (kind_after = 'off' or allocation > 0) then 'idle'
            when last_turn = 'failure' then if(goes_on, 'restart', 'idle')
            when queue > 0 then 'queue'
            when last_turn = 'off' then 'not_submitted'
            else 'unattributed'
        end as category
    from placed
),

owned as (
    select
        j.ts, j.ts_end, j.category, a.attempt, a.gpus,
        j.category = 'compile' and j.compile = 0 as is_inferred,
        if(j.is_said, null, j.turn_log) as log_id,
        if(j.is_said, null, j.turn_line) as line
    from judged as j
    asof left join (select at_ns as ts, attempt, gpus from run_attempt where trace_id = $trace_id) as a on a.ts <= j.ts
),

numbered as (
    select
        *,
        count_if(changes) over (order by ts) as piece
    from (
        select
            *,
            (category, attempt, is_inferred) is distinct from lag((category, attempt, is_inferred)) over (order by ts) as changes
        from owned
    )
),

piece as (
    select
        any_value(attempt) as attempt,
        min(ts) as ts,
        max(ts_end) as ts_end,
        any_value(category) as category,
        any_value(is_inferred) as is_inferred,
        any_value(gpus) as gpus,
        any_value(log_id order by ts) as log_id,
        any_value(line order by ts) as line
    from numbered
    group by piece
),

-- the event that tells of a piece, the last one that began
telling as (
    select p.ts, i.log_id, i.line
    from piece as p
    asof inner join _run_interval as i on i.phase = p.category and i.ts <= p.ts
    where i.ts_end > p.ts
)

select
    $trace_id as trace_id,
    p.attempt,
    p.ts as at_ns,
    p.ts_end - p.ts as dur,
    p.category,
    p.is_inferred,
    p.gpus,
    coalesce(t.log_id, p.log_id) as log_id,
    if(t.log_id is null, p.line, t.line) as line
from piece as p
left join telling as t using (ts)
order by p.ts;
