-- What ranks that train one model exchange of it, by the gradients that they reduce: one row; none where these are not known byte for
-- byte. `reductions`: micro-batches a step whose gradients are reduced; `updates`: optimizer steps a step. Parameters have the type of
-- gradients under DDP, of what is gathered where they are sharded; `state_bytes` are those of torch.optim, in that type.
-- uses: counted, communication_role, training_pass
with
-- a bucket may be too small to be told by its size: what the same ranks reduce in the backward pass belongs to them
gradient as (
    select
        r.step, r.slice_id, r.op, r.bytes, r.group_size, r.members, p.micro_batch, c.bytes / greatest(c.in_elements, c.out_elements) as element_bytes
    from communication_role as r
    left join training_pass as p using (slice_id)
    left join collective as c on c.trace_id = $trace_id and c.slice_id = r.slice_id
    where
        r.op in ('all_reduce', 'reduce_scatter')
        and (
            r.role = 'gradient'
            or (r.role = 'gather' and r.op = 'reduce_scatter')
            or (r.role = 'other' and r.phase = 'backward' and not contains(r.names, 'syncbatchnorm'))
        )
),

-- once for each micro-batch
reduced as (
    select micro_batch, sum(bytes) as bytes
    from gradient
    group by micro_batch
),

same as (
    select
        max(op) as op,
        max(group_size) as ranks,
        max(element_bytes) as element_bytes
    from gradient
    having
        count(distinct op) = 1
        and count(distinct group_size) = 1
        and count(distinct members) = 1
        and count(group_size) = count(*)
        and count(bytes) = count(*)
        and count(micro_batch) = count(*)
        and count(distinct element_bytes) = 1
        and count(element_bytes) = count(*)
),

passes as (
    select
        count(*) filter (is_turn) / (select count(*) from counted) as micro_batches,
        count(*) filter (phase = 'optimizer' and before is distinct from 'optimizer') / (select count(*) from counted) as updates
    from training_pass
),

-- of sharded parameters
gathered as (
    select max(c.bytes / greatest(c.in_elements, c.out_elements)) as element_bytes
    from communication_role as r
    inner join collective as c on c.trace_id = $trace_id and c.slice_id = r.slice_id
    where r.role = 'gather' and r.op = 'all_gather'
    having count(distinct c.dtype) = 1
),

-- Megatron and DeepSpeed may reduce gradients in another type than parameters have
wrapped as (
    select coalesce(bool_or(value = 'DDP'), false) and not coalesce(bool_or(value in ('Megatron', 'DeepSpeed')), false) as by_torch
    from program
    where trace_id = $trace_id and property = 'framework'
),

-- torch.optim keeps as many numbers for a parameter; what others keep, and SGD with or without momentum, its name does not tell
optimizer as (
    select case
        when count(*) > 1 then null
        when max(name) in ('Adam', 'AdamW', 'NAdam', 'RAdam', 'Adamax') then 2
        when max(name) = 'Adagrad' then 1
    end as numbers,
    if(count(*) = 1, max(name), null) as name
    from (
        select distinct regexp_extract(name, '^Optimizer\.step#(\w+)\.step$', 1) as name
        from cpu_slice
        where trace_id = $trace_id and name like 'Optimizer.step#%' and kind in ('op', 'annotation')
    )
),

parameter as (
    select
        s.op, s.ranks, s.element_bytes,
        any_value(r.bytes)::bigint as gradient_bytes,
        (any_value(r.bytes) / s.element_bytes)::bigint as parameters,
        count(*) / (select count(*) from counted) as reductions
    from same as s
    cross join reduced as r
    where s.ranks > 1
    group by s.op, s.ranks, s.element_bytes
    having count(distinct r.bytes) = 1
)

select
    m.*, p.micro_batches, p.updates, o.name as optimizer,
    m.parameters * if(m.op = 'all_reduce', m.element_bytes, g.element_bytes)::bigint as parameter_bytes,
    parameter_bytes * o.numbers as state_bytes,
    (
        select max(bus_bandwidth)
        from collective_slice
        where trace_id = $trace_id and slice_id in (select slice_id from gradient)
    ) as best_rate
from parameter as m
cross join passes as p
cross join optimizer as o
cross join wrapped as w
left join gathered as g on true
where
    p.micro_batches >= m.reductions
    and p.updates > 0
    and if(m.op = 'all_reduce', w.by_torch, g.element_bytes is not null)
