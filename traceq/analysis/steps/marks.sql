-- What the marks of traceq.annotate say: phases of a step, and how much work it did. Grammar: docs/metrics.md.

--: One row per mark of traceq.annotate: a named range or, for payloads, an instant on one thread.
create or replace view mark as
select
    --: Trace.
    m.trace_id,
    --: The annotation in cpu_slice.
    m.slice_id,
    --: Thread it stands on.
    m.thread_id,
    --: step, phase, fetch (one fetch from a data loader), module (its forward) or payload (numbers for the step).
    m.mark,
    --: Number of the step, name of the phase or loader, path of the module, or key=value,... of the payload.
    m.label,
    --: step.step of the step in which it starts; NULL outside all steps.
    case when m.ts < s.ts_end then s.step end as step,
    --: Start, ns.
    m.ts,
    --: Duration, ns; of a payload what making it took.
    m.dur,
    --: End, ns: ts + dur.
    m.ts_end,
    --: Slices around it on its thread, as in cpu_slice; NULL for ranges that need not nest.
    m.depth
from (
    select
        c.trace_id, c.slice_id, c.thread_id, c.ts, c.dur, c.ts_end, c.depth,
        regexp_extract(c.name, '^traceq\.(step|phase|fetch|module|payload)#', 1) as mark,
        substr(c.name, strpos(c.name, '#') + 1) as label
    from cpu_slice as c
    where c.kind = 'annotation' and starts_with(c.name, 'traceq.')
    -- Under nsys marks are ranges of the domain traceq, and PyTorch's emit_nvtx repeats each as a range of none; counted twice,
    -- throughput would double.
    qualify c.category = 'traceq' or not coalesce(bool_or(c.category = 'traceq') over (partition by c.trace_id), false)
) as m
asof left join step as s on m.trace_id = s.trace_id and m.ts >= s.ts
where m.mark <> '';

--: One row per step and phase that has an instance or time in it. Phases may nest in one another: they are not parts of
--: a whole.
create or replace view step_phase as
with
instance as (
    select trace_id, thread_id, step, if(mark = 'fetch', 'data', label) as phase, ts, ts_end, slice_id
    from mark
    where mark in ('phase', 'fetch')
),

-- An instance adds what lies beyond the end of all that started before it: these parts are disjoint and make up the union.
swept as (
    select
        *,
        max(ts_end) over (
            partition by trace_id, thread_id, phase
            order by ts, ts_end desc, slice_id
            rows between unbounded preceding and 1 preceding
        ) as busy_until
    from instance
),

part as (
    select trace_id, phase, greatest(ts, coalesce(busy_until, ts)) as ts, ts_end
    from swept
    where busy_until is null or ts_end > busy_until
),

-- Steps follow one another without gaps, so the first and the last one that a part touches tell those between them too.
placed as (
    select trace_id, step, ts, ts_end, row_number() over (partition by trace_id order by ts) as place
    from step
),

touched as (
    select p.trace_id, p.phase, p.ts, p.ts_end, unnest(range(coalesce(a.place, 1), z.place + 1)) as place
    from part as p
    asof left join placed as a on p.trace_id = a.trace_id and p.ts >= a.ts
    asof join placed as z on p.trace_id = z.trace_id and p.ts_end > z.ts
),

counted as (
    select trace_id, step, phase, 1 as instances, 0 as dur
    from swept
    where step is not null and (busy_until is null or ts >= busy_until)
    union all
    select p.trace_id, s.step, p.phase, 0, least(p.ts_end, s.ts_end) - greatest(p.ts, s.ts)
    from touched as p
    inner join placed as s on p.trace_id = s.trace_id and p.place = s.place
    where least(p.ts_end, s.ts_end) > greatest(p.ts, s.ts)
)

select
    --: Trace.
    trace_id,
--: Step the time elapsed in.
step::integer as step,
--: Label of the phase; data for fetches from a data loader.
phase,
--: Instances that start in the step, without those that start inside another instance of the phase on their thread; 0
--: when one reaches in from the step before.
sum(instances)::bigint as count,
--: Time in the phase, ns, cut at the ends of the step: per thread no instant counts twice, several threads add up.
sum(dur)::bigint as dur
from counted
group by trace_id, step, phase;

--: One row per step and key of its payload marks.
create or replace view step_payload as
with
pair as (
    select trace_id, step, unnest(string_split(label, ',')) as pair
    from mark
    where mark = 'payload' and step is not null
),

number as (
    select trace_id, step, split_part(pair, '=', 1) as key, try_cast(split_part(pair, '=', 2) as double) as value
    from pair
    where regexp_full_match(pair, '[a-z][a-z0-9_]*=.+')
)

select
    --: Trace.
    trace_id,
    --: Step in which the payload marks stand.
    step,
    --: What is counted: samples, tokens, micro_batch, or any other key the program gave.
    key,
    -- an index, not an amount: what adds up is how many there were
    --: Sum over all payload marks of the step, all threads and processes of the trace; of micro_batch, which is an
    --: index, how many different ones.
    if(key = 'micro_batch', count(distinct value)::double, sum(value)) as value
from number
where isfinite(value)
group by trace_id, step, key;

--: One row per trace and key of the payload marks: work per second over the steps that count.
create or replace view throughput as
select
    --: Trace.
    p.trace_id,
    --: What is counted: samples, tokens, micro_batch, ...
    p.key,
    --: Steps that are not excluded and have the key.
    count(*) as steps,
    --: Sum over these steps.
    sum(p.value) as total,
    --: total by the duration of these steps, per second; NULL when that is 0.
    sum(p.value) * 1e9 / nullif(sum(s.dur), 0) as per_second
from step_payload as p
inner join step as s on p.trace_id = s.trace_id and p.step = s.step
where s.excluded is null
group by p.trace_id, p.key;
