-- What goes through each process group of a trace, operation by operation: when in a step, in which phase, beside how much compute, and
-- which words for an axis of parallelism stand around the launches.
-- reads: _collective_around, collective, collective_slice, launch_state, step
with
-- An operator around those that launched: a function of autograd, of a library.
outer_range as (
    select slice_id, name
    from cpu_slice
    where slice_id in (select operator_id from _collective_around where place = 4)
),

around as (
    select slice_id, lower(string_agg(name, ' ')) as names
    from (
        select slice_id, name from _collective_around
        union all
        select a.slice_id, o.name
        from _collective_around as a
        inner join outer_range as o on o.slice_id = a.operator_id
        where a.place = 4
    )
    group by slice_id
),

slice as (
    select
        s.group_name, s.group_size, s.op, s.dur, s.overlapped, s.step,
        nullif(p.phase, 'other') as phase,
        (g.ts - t.ts) / nullif(t.dur, 0) < 1 / 3 as is_early,
        c.args ->> 'Process Group Description' as described,
        c.args ->> 'Process Group Ranks' as ranks,
        regexp_matches(
            a.names,
            '_c10d_functional|redistribute|modelparallelregion|sequenceparallelregion|vocabparallel|tensor_?(model_)?parallel|'
            || '(column|row)parallel|vllm::all_reduce'
        ) as is_tensor,
        regexp_matches(
            a.names,
            'fsdp|fully_?shard|zero_?(optimizer|redundancy)|stage_?3|partitionedparameter|fetch_sub_module|accumulategrad|'
            || 'distributeddataparallel|syncbatchnorm|\breducer\b|\bgrads?\b|gradient'
        ) as is_data,
        regexp_matches(a.names, 'moe|expert|dispatch|combine') as is_expert,
        regexp_matches(a.names, 'alltoall4d|ulysses|seq_?all|context_?parallel|ring_?(flash_?)?att') as is_context
    from collective_slice as s
    inner join gpu_slice as g using (slice_id)
    left join collective as c using (slice_id)
    left join launch_state as p using (slice_id)
    left join around as a using (slice_id)
    left join step as t on t.step = s.step
    where s.op <> 'unknown' and (s.group_name is not null or s.algorithm is distinct from 'copy_engine')
)

select
    group_name,
    op,
    max(group_size) as group_size,
    any_value(described) as described,
    any_value(ranks) as ranks,
    count(*) as count,
    count(distinct step) as steps,
    count(phase) as phased,
    count(*) filter (phase = 'forward') as forward,
    count(*) filter (is_early) as early,
    sum(overlapped) / nullif(sum(dur), 0) as hidden,
    count(*) filter (is_tensor) as tensor,
    count(*) filter (is_data) as data,
    count(*) filter (is_expert) as experts,
    count(*) filter (is_context) as context
from slice
group by group_name, op
order by group_name, op
