-- The claim of a rule on the training thread's time (host_time) where no GPU works, per counted step, and what a fix would win: what
-- goes from this thread goes from the step. Of each piece the shares goes_low, goes and goes_high go, all of it where they are NULL, times
-- those of the rule. Two things that the trace leaves open widen it:
-- Recording took time, by what traceq.profile says of steps with and without it (of the CPU time of their thread where it says that; other
-- programs change it little). An event takes 0.6 to 1.6 us: at most 2 are believed. Where CPU time tells of more, operators took longer in
-- themselves, as memory that was freed is not where it was: at most half of their time. Whether that is so of this part of the step the trace
-- does not show: likely lies in the middle between that and all of it in all time alike; the bounds hold both. They also hold operators that
-- took twice as long for being recorded where fewer than 10 steps were measured without: the first ones take longer for reasons of their own.
-- Steps differ: the bounds hold what 98 % of samples of such steps would say (standard errors of a ratio of two sums, times the quantile 0.99
-- of Student's t with a freedom of one less than there are steps). One step does not say how steps differ: its bounds are none, from nothing to
-- all that is claimed.
with
recording as (
    select
        coalesce(least(longer / nullif(events, 0), 2000), 0) as event_ns,
        coalesce(least(if(is_cpu, greatest(longer - 2000 * events, 0), 0) / nullif(operators, 0), 0.5), 0) as slower,
        if(coalesce(measured, 0) < 10, 0.5, slower) as slowest
    from (
        select
            measured,
            cpu_within is not null and cpu_without is not null as is_cpu,
            greatest(if(is_cpu, cpu_within - cpu_without, within - without), 0) as longer
        from (
            select
                try_cast(json_extract_string(args, '/traceq/unprofiled_steps') as double) as measured,
                try_cast(json_extract_string(args, '/traceq/profiled_step_ns') as double) as within,
                try_cast(json_extract_string(args, '/traceq/unprofiled_step_ns') as double) as without,
                try_cast(json_extract_string(args, '/traceq/profiled_cpu_ns') as double) as cpu_within,
                try_cast(json_extract_string(args, '/traceq/unprofiled_cpu_ns') as double) as cpu_without
            from trace
            where trace_id = $trace_id
        )
        where coalesce(isfinite(within) and isfinite(without), true) and coalesce(isfinite(cpu_within) and isfinite(cpu_without), true)
    )
    cross join (
        select
            sum(events) / count(distinct step) as events,
            sum(dur) filter (category = 'operator') / count(distinct step) as operators
        from host_time
    )
),

piece as (
    select
        h.step, h.piece_id, h.dur,
        greatest(h.dur - h.events * coalesce(r.event_ns, 0), 0) * (1 - if(h.category = 'operator', coalesce(r.slower, 0), 0)) as less,
        h.dur * (1 - if(h.category = 'operator', coalesce(r.slowest, 0.5), 0)) as least
    from host_time as h
    left join recording as r on true
),

lasts as (
    select step, sum(dur)::double as dur, sum(less::decimal(18, 3))::double as less, sum(least::decimal(18, 3))::double as least
    from piece
    group by step
),

gone as (
    select
        p.step,
        sum((i.claimed * coalesce(i.goes_low, 1) * $low)::decimal(18, 3))::double as low,
        sum((i.claimed * coalesce(i.goes, 1) * $likely)::decimal(18, 3))::double as likely,
        sum((i.claimed * coalesce(i.goes_high, 1) * $high)::decimal(18, 3))::double as high,
        sum((i.claimed * p.less / p.dur * coalesce(i.goes_low, 1) * $low)::decimal(18, 3))::double as less_low,
        sum((i.claimed * p.less / p.dur * coalesce(i.goes, 1) * $likely)::decimal(18, 3))::double as less_likely,
        sum((i.claimed * p.less / p.dur * coalesce(i.goes_high, 1) * $high)::decimal(18, 3))::double as less_high,
        sum((i.claimed * p.least / p.dur * coalesce(i.goes_low, 1) * $low)::decimal(18, 3))::double as least_low,
        sum((i.claimed * p.least / p.dur * coalesce(i.goes_high, 1) * $high)::decimal(18, 3))::double as least_high
    from rule_instances as i
    inner join piece as p on p.piece_id = i.gap_id
    group by p.step
),

-- of each step what goes, and what it lasts, as recorded and with less for recording
stepped as (
    select unnest([
        {'of': 'low', 'gone': coalesce(low, 0), 'dur': dur},
        {'of': 'likely', 'gone': coalesce(likely, 0), 'dur': dur},
        {'of': 'high', 'gone': coalesce(high, 0), 'dur': dur},
        {'of': 'less_low', 'gone': coalesce(less_low, 0), 'dur': less},
        {'of': 'less_likely', 'gone': coalesce(less_likely, 0), 'dur': less},
        {'of': 'less_high', 'gone': coalesce(less_high, 0), 'dur': less},
        {'of': 'least_low', 'gone': coalesce(least_low, 0), 'dur': least},
        {'of': 'least_high', 'gone': coalesce(least_high, 0), 'dur': least}
    ], recursive := true)
    from lasts
    left join gone using (step)
),

shared as (
    select of, sum(gone) / nullif(sum(dur), 0) as share
    from stepped
    group by of
),

told as (
    select
        s.of,
        any_value(s.share) as share,
        coalesce(coalesce([31.82, 6.96, 4.54, 3.75, 3.36, 3.14, 3.00, 2.90, 2.82, 2.76][count(*) - 1], 2.33 + 4.3 / nullif(count(*) - 1, 0))
        * sqrt(sum((e.gone - s.share * e.dur) ** 2) * count(*) / nullif(count(*) - 1, 0)) / sum(e.dur), 0) as error
    from stepped as e
    inner join shared as s using (of)
    group by s.of
),

won as (
    select
        (max(share) filter (of = 'likely') + coalesce(max(share) filter (of = 'less_likely'), max(share) filter (of = 'likely'))) / 2 as likely,
        min(share - error) filter (of in ('low', 'less_low', 'least_low')) as low,
        max(share + error) filter (of in ('high', 'less_high', 'least_high')) as high
    from told
)

select
    count(*) as instances,
    count(distinct i.step) as steps_with_it,
    sum(i.claimed::decimal(18, 3)) / s.steps as claimed_ns,
    any_value(w.likely) * s.total / s.steps as saving_ns,
    -- of what gets longer (traceq whatif) all three are negative
    case
        when any_value(w.likely) < 0 then any_value(w.low)
        when s.steps = 1 then 0
        else greatest(least(any_value(w.low), any_value(w.likely)), 0)
    end * s.total / s.steps as saving_low_ns,
    least(
        greatest(any_value(w.high), any_value(w.likely), if(s.steps = 1 and any_value(w.likely) >= 0, sum(i.claimed) / s.total, any_value(w.likely))), 1
    ) * s.total / s.steps as saving_high_ns,
    false as only_bounds,
    sum(i.claimed::decimal(18, 3)) / s.total as claimed_share,
    max(i.claimed)::double as longest_ns
from rule_instances as i
cross join won as w
inner join step_stats as s on s.trace_id = $trace_id
group by s.steps, s.total
