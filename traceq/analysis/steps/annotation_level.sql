-- Annotations of a thread, the same name up to digits, one after the other. One row per thread and
-- pattern: how often, how much of the GPU work (of operators, without a GPU) is launched inside, how much of the GPU's time that
-- takes, and what speaks for or against its being a step. Coverage is counted over all threads, because autograd launches the
-- backward pass from a thread of its own.
-- What the program itself calls warming up is not looked at.
-- reads: _gpu_launch, _marked_warm_up
with
work as (
    select w.ts, w.dur
    from (
        select l.launched_at as ts, g.dur
        from _gpu_launch as l
        inner join staging.gpu_slice as g using (slice_id)
        union all
        select ts, 0 from cpu_slice where kind = 'op' and not exists (select 1 from _gpu_launch)
    ) as w
    asof left join _marked_warm_up as u on w.ts >= u.ts
    where coalesce(u.until <= w.ts, true)
),

spelled as (
    select
        n.*,
        -- operators as torch.autograd.profiler.emit_nvtx writes them end in a number of their own
        regexp_replace(regexp_replace(n.name, ', (op_id|seq) = .*$', ''), '[0-9]+', '#', 'g') as pattern,
        regexp_matches(
            n.words,
            '(?i)^FSDP::(pre|post)_|(^|[^a-z])(layers?|blocks?|sublayer|attention|attn|mlp|experts?|micro[ _-]?batch(es)?|chunk|bucket)([^a-z]|$)|(^|[^a-z])(h|encoder|decoder)[._\[ ][0-9]'
        ) as is_layer,
        regexp_matches(n.name, '(?i)epoch') and not regexp_matches(n.name, '(?i)(^|[^a-z])(step|iter(ation)?)([^a-z]|$)') as is_epoch,
        regexp_matches(n.name, '(?i)(^|[^a-z])(steps?|iter(ation)?s?|batch|train(ing)?)([^a-z]|$)') as is_step_word,
        regexp_matches(n.words, '(?i)(^|[^a-z])(step|iter(ation)?|forward|fwd|infer(ence)?|predict(ion)?)([^a-z]|$)') as is_pass_word,
        -- of one, not of a loop over many
        regexp_matches(n.words, '(?i)(^|[^a-z])(step|iter(ation)?|forward|fwd)([^a-z]|$)')
        and not regexp_matches(n.words, '(?i)(^|[^a-z])(loop|main|run|fit|train(ing)?|all|to|over)([^a-z]|$)|[0-9].*[^0-9].*[0-9]')
            as is_unit_word
    from (
        -- TransformerLayer_0 as Transformer_Layer_0
        select kind, name, regexp_replace(name, '([a-z0-9])([A-Z])', '\1_\2', 'g') as words
        from cpu_slice
        where kind = 'annotation' or (kind = 'op' and starts_with(name, 'FSDP::'))
        group by kind, name
    ) as n
    left join host_name as h using (kind, name)
    where
        not regexp_matches(n.name, '^(Optimizer\.|enumerate\(DataLoader\)|traceq\.|aten::|nccl|MPI_|ProfilerStep#|gloo:)')
        and h.context is null
        -- what a runtime notes of its own: one call of an executor is a part of a step
        and h.activity is distinct from 'launch'
        and coalesce(h.phase, 'forward') = 'forward'
        and (not contains(n.name, ', op_id = ') or starts_with(n.name, 'FSDP::'))
),

named as (
    select c.thread_id, s.pattern, c.name, s.is_layer, s.is_epoch, s.is_step_word, s.is_pass_word, s.is_unit_word, c.slice_id, c.ts, c.ts_end
    from cpu_slice as c
    inner join spelled as s using (kind, name)
    asof left join _marked_warm_up as u on c.ts >= u.ts
    where c.dur > 0 and coalesce(u.until <= c.ts, true)
),

counted as (
    select
        thread_id, pattern, count(*) as count, count(distinct name) as names,
        bool_or(is_layer) as is_layer, bool_or(is_epoch) as is_epoch, bool_or(is_step_word) as is_step_word,
        bool_or(is_pass_word) as is_pass_word, bool_or(is_unit_word) as is_unit_word,
        -- one of layer_0, layer_1, layer_0, layer_1, ... is no step: names either count up or stay the same
        count(distinct name) not in (1, count(*)) as is_cycle
    from named
    group by thread_id, pattern
    -- repeated a hundred thousand times it is an operator
    having count(*) <= 100000
),

repeated as (
    select thread_id, pattern, sum(ts_end - ts) as total, median(ts - previous_ts) as period
    from (
        select
            thread_id, pattern, ts, ts_end,
            lag(ts) over (partition by thread_id, pattern order by ts, ts_end desc) as previous_ts,
            lag(ts_end) over (partition by thread_id, pattern order by ts, ts_end desc) as previous_end
        from named
        inner join counted using (thread_id, pattern)
    )
    group by thread_id, pattern
    having bool_and(previous_end is null or ts >= previous_end)
    -- the longest few: one of thousands of repeated names is no candidate, and each costs a join over all work
    order by total desc
    limit 20
),

-- What there is one of in a step.
event as (
    select 'work' as what, ts, dur from work
    union all
    select 'update', c.ts, 0
    from cpu_slice as c
    where c.kind = 'annotation' and starts_with(c.name, 'Optimizer.step#')
    union all
    select 'fetch', c.ts, 0
    from cpu_slice as c
    inner join host_name as h using (kind, name)
    where h.context = 'data' and c.context_id is null
),

numbered as (
    select
        what, ts,
        row_number() over (partition by what order by ts, dur) as number,
        sum(dur) over (partition by what order by ts, dur rows unbounded preceding) as busy
    from event
),

instance as (
    select n.thread_id, n.pattern, n.ts, n.ts_end
    from named as n
    inner join repeated using (thread_id, pattern)
),

border as (
    select distinct i.thread_id, i.pattern, i.ts, i.ts_end, e.what
    from instance as i
    cross join (select distinct what from event) as e
),

-- Events inside an instance: those before its end less those before its start. Not a range join: one lookup a boundary.
inside as (
    select
        b.thread_id, b.pattern, b.what,
        sum(coalesce(z.number, 0) - coalesce(a.number, 0)) as inside,
        sum(coalesce(z.busy, 0) - coalesce(a.busy, 0)) as busy
    from border as b
    asof left join numbered as a on b.what = a.what and b.ts > a.ts
    asof left join numbered as z on b.what = z.what and b.ts_end > z.ts
    group by b.thread_id, b.pattern, b.what
)

select
    r.thread_id, r.pattern, c.count, c.names, c.is_layer or c.is_cycle as is_layer, c.is_epoch, c.is_step_word, c.is_pass_word, c.is_unit_word,
    (coalesce(sum(i.inside) filter (i.what = 'work'), 0) / (select count(*) from work))::double as coverage,
    -- without a GPU as good as all of none
    coalesce(sum(i.busy) filter (i.what = 'work') / nullif((select sum(dur) from work), 0), 1)::double as busy_share,
    coalesce(sum(i.inside) filter (i.what = 'update'), 0)::bigint as updates,
    coalesce(sum(i.inside) filter (i.what = 'fetch'), 0)::bigint as fetches,
    r.total::bigint as total, r.period::bigint as period
from repeated as r
inner join counted as c using (thread_id, pattern)
left join inside as i using (thread_id, pattern)
where exists (select 1 from work)
group by all
order by coverage desc, total desc, r.thread_id, r.pattern;
