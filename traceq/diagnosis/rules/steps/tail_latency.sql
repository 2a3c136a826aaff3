-- Steps that take far longer than the others, and what they have more of than these: on the critical device, without one on the host.
-- uses: idle
-- remarks: yes
-- threshold: enough_steps = 10: with fewer a step of a tail stands alone
-- threshold: tail_ratio = 1.5: guides for serving call p99 / p50 beyond that a long tail
-- threshold: outlier_ratio = 1.25: five median deviations are little where steps hardly differ; a quarter longer is seen in a timeline
-- threshold: part_share = 0.2: of what a step is longer by: a smaller part does not explain it
-- threshold: worth = 0.01: what is worth listing at all (WORTH_LISTING)
-- threshold: regular = 3: two distances that agree; one may be chance
-- threshold: most = 0.5: the larger part of the change
with
-- The last step lasts until the work it launched is done, which the others leave to the next.
considered as (
    select step, name, ts, dur
    from step
    where
        trace_id = $trace_id
        and excluded is null
        -- those of a server that compute prompts are as long as these
        and step not in (select step from serving_step where trace_id = $trace_id and kind in ('prefill', 'mixed'))
        and (
            step < (select max(step) from step where trace_id = $trace_id)
            or gpu_ts is null
            or ts + dur > gpu_ts + gpu_dur
        )
),

spread as (
    select
        count(*) as steps,
        sum(dur) as total,
        median(dur) as p50,
        quantile_cont(dur, 0.99) as p99,
        mad(dur) as spread
    from considered
),

judged as (
    select
        c.*,
        (p.steps >= 4 and c.dur > p.p50 + 5 * p.spread and c.dur >= $outlier_ratio * p.p50)
        or (p.steps >= $enough_steps and c.dur >= $tail_ratio * p.p50) as is_slow
    from considered as c
    cross join spread as p
),

usual as (
    select count(*) as steps, avg(dur) as dur
    from judged
    where not is_slow
),

part as (
    select j.step, j.is_slow, l.category, l.dur
    from time_ledger as l
    inner join judged as j using (step)
    where l.trace_id = $trace_id and l.device = $device
    union all
    select j.step, j.is_slow, 'host_' || h.category, sum(h.dur)
    from host_ledger as h
    inner join judged as j using (step)
    where h.trace_id = $trace_id and $device < -1
    group by j.step, j.is_slow, h.category
),

usual_part as (
    select category, coalesce(sum(dur) filter (not is_slow), 0) / (select steps from usual) as dur
    from part
    group by category
),

change as (
    select j.step, u.category, coalesce(p.dur, 0) - u.dur as change
    from (select step from judged where is_slow) as j
    cross join usual_part as u
    left join part as p on p.step = j.step and p.category = u.category
),

-- where the host was in the longest piece of an idle category, if in more than the step itself
place as (
    select
        p.step,
        p.cause,
        min_by(nullif(coalesce(c.name, j.name), j.name), {'dur': -p.dur, 'ts': p.ts}) as name,
        min_by(p.ts, {'dur': -p.dur, 'ts': p.ts}) as ts,
        max(p.dur) as dur
    from idle as p
    inner join judged as j using (step)
    left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
    where j.is_slow
    group by p.step, p.cause
),

-- without a GPU: the longest range or Python frame of each name in a step, against that of the usual ones
host_range as (
    select j.step, j.is_slow, c.name, max(c.dur) as dur, max_by(c.ts, {'dur': c.dur, 'ts': -c.ts}) as ts
    from judged as j
    inner join cpu_slice as c on c.ts >= j.ts and c.ts < j.ts + j.dur and c.name <> j.name
    where c.trace_id = $trace_id and c.kind in ('annotation', 'python') and $device < -1
    group by all
),

longer as (
    select
        s.step, s.name, s.ts, s.dur,
        s.dur - coalesce((select avg(r.dur) from host_range as r where not r.is_slow and r.name = s.name), 0) as excess
    from host_range as s
    where s.is_slow
),

-- the innermost of those that are longer by nearly as much as any
host_place as (
    select
        step,
        min_by(name, {'dur': dur, 'name': name}) as name,
        min_by(ts, {'dur': dur, 'name': name}) as ts,
        min_by(excess, {'dur': dur, 'name': name})::bigint as dur
    from (from longer qualify excess >= 0.9 * max(excess) over (partition by step))
    group by step
)

select
    j.step, j.name, j.ts, j.dur,
    c.category, c.change as change_ns, p.steps, u.dur as usual_ns,
    p.p99 / p.p50 as p99_over_p50,
    (select sum(s.dur - u.dur) from judged as s where s.is_slow) / p.total as all_excess_share,
    coalesce(w.name, h.name) as inside,
    coalesce(w.ts, h.ts) - j.ts as inside_begins_ns,
    coalesce(w.dur, h.dur) as inside_ns
from judged as j
cross join spread as p
cross join usual as u
left join change as c on c.step = j.step and c.change >= $part_share * (j.dur - u.dur)
left join place as w on w.step = j.step and w.cause = c.category
left join host_place as h on h.step = j.step and c.category in ('host_annotation', 'host_python')
where j.is_slow
order by j.dur desc, j.step, c.change desc, c.category
limit $most_rows
