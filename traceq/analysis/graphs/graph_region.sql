-- graph_region: what a program said of the work in its CUDA graphs when it captured them (torch.cuda.graph_annotations). PyTorch
-- writes it into the args of replayed work: name (str or annotation before 2.15), module_fqn of torchtitan, autograd_phase.
-- makes: graph_region

create temp table _region_args as
select
    slice_id, device, graph_id, launch_id, correlation_id, ts,
    nullif(coalesce(args ->> '$.name', args ->> '$.str', args ->> '$.annotation'), '') as region,
    nullif(args ->> '$.module_fqn', '') as module_fqn,
    args ->> '$.autograd_phase' as phase
from gpu_slice
where
    graph_node_id is not null
    and kind <> 'graph'
    and regexp_matches(args, '"(name|str|annotation|module_fqn|autograd_phase)":');

-- Names are few, kernels many: a module's path is made once.
create temp table _region_name as
with
named as (
    select distinct coalesce(module_fqn, region) as name, module_fqn is not null as is_module
    from _region_args
    where coalesce(module_fqn, region) is not null
),

-- forward layers.3 and layers.3 (backward) are layers.3.
unphased as (
    select
        *,
        if(
            is_module,
            name,
            regexp_replace(
                regexp_replace(name, '(?i)^\s*(forward|backward|fwd|bwd)(\s*[:/]\s*|\s+)', ''),
                '(?i)(\s+|\s*[:/]\s*)[(\[]?(forward|backward|fwd|bwd)[)\]]?\s*$', ''
            )
        ) as words
    from named
),

-- Dynamo's L['self'].layers[0] and ._modules['layers'] are layers.0 and .layers; wrappers are none of the model's modules.
plain as (
    select
        *,
        regexp_replace(
            regexp_replace(
                regexp_replace(
                    regexp_replace(words, '(\._modules)?\[[''"]?(\w+)[''"]?\]', '.\2', 'g'), '^L\.(self\.)?|^self\.', ''
                ),
                '(^|\.)(_checkpoint_wrapped_module|_fsdp_wrapped_module|_orig_mod)\b', '', 'g'
            ),
            '^\.', ''
        ) as fqn
    from unphased
)

-- layers.0.attention.wq is attention.wq in layers.0: a number belongs to the name before it.
select
    name, is_module,
    replace(
        replace(
            regexp_replace(regexp_replace(fqn, '\.(\d+)(\.|$)', chr(1) || '\1\2', 'g'), '\.(\d+)(\.|$)', chr(1) || '\1\2', 'g'),
            '.', '/'
        ),
        chr(1), '.'
    ) as path
from plain
where
    fqn <> ''
    and (is_module or _is_module_name(words) or regexp_matches(words, '^L(\[|\.)'));

-- A graph of a whole step runs its modules once forward and then back, if the phase of neither is told: after the first run of
-- the last module to begin, modules that began before run again, the last one first.
create temp table _region_order as
with
placed as (
    select a.*, n.path, row_number() over (partition by device, launch_id order by ts, slice_id) as place
    from _region_args as a
    inner join _region_name as n on n.name = coalesce(a.module_fqn, a.region) and n.is_module = (a.module_fqn is not null)
    where a.launch_id is not null and not exists (from _region_args where phase is not null)
),

began as (
    select
        device, launch_id, path, min(place) as first_place, max(place) as last_place, count(*) as kernels,
        regexp_replace(path, '[.]\d+', '', 'g') as kind
    from placed
    group by device, launch_id, path
),

turn as (
    select device, launch_id, max(first_place) as turn, count(*) as paths
    from began
    group by device, launch_id
),

-- Of all pairs of modules that run again, in how many the one that began later ends first.
mirrored as (
    select
        b.device, b.launch_id, t.turn, t.paths,
        count(*) filter (b.last_place > t.turn) as again,
        corr(b.first_place, b.last_place) filter (b.last_place > t.turn and b.first_place < t.turn) as along
    from began as b
    inner join turn as t using (device, launch_id)
    group by b.device, b.launch_id, t.turn, t.paths
),

counted as (
    select p.device, p.launch_id, p.path, count(*) as kernels
    from placed as p
    inner join turn as t using (device, launch_id)
    where p.place < t.turn
    group by p.device, p.launch_id, p.path
),

-- The last module runs forward as far as one does that differs from it only in numbers and has as many kernels.
last_module as (
    select b.device, b.launch_id, b.path, max_by(c.kernels, o.first_place) as forward_kernels
    from turn as t
    inner join began as b on b.device = t.device and b.launch_id = t.launch_id and b.first_place = t.turn
    left join began as o
        on
            o.device = b.device
            and o.launch_id = b.launch_id
            and o.kind = b.kind
            and o.path <> b.path
            and o.kernels = b.kernels
    left join counted as c on c.device = o.device and c.launch_id = o.launch_id and c.path = o.path
    group by b.device, b.launch_id, b.path
),

numbered as (
    select *, row_number() over (partition by device, launch_id, path order by place) as number_in_module
    from placed
)

select
    p.slice_id,
    case
        when p.place < m.turn or p.path = l.path and p.number_in_module <= l.forward_kernels then 'forward'
        when p.path <> l.path or l.forward_kernels is not null then 'backward'
    end as phase
from numbered as p
inner join mirrored as m using (device, launch_id)
inner join last_module as l on l.device = p.device and l.launch_id = p.launch_id
where m.again >= 3 and 2 * m.again > m.paths and m.along < -0.5;

insert into graph_region by name
select
    $trace_id as trace_id,
    slice_id, region, module,
    coalesce(annotated, ordered, if(module is not null and has_backward, 'forward', null)) as phase,
    if(annotated is null and ordered is not null, 'order', if(phase is not null, 'annotation', null)) as phase_source
from (
    select
        a.slice_id, a.region, n.path as module,
        case
            when a.phase = 'backward' or regexp_matches(a.region, '(?i)(^|[^a-z])(backward|bwd)([^a-z]|$)') then 'backward'
            when regexp_matches(a.region, '(?i)(^|[^a-z])(optim(izer)?|adamw?|sgd)([^a-z]|$)') then 'optimizer'
            when regexp_matches(a.region, '(?i)(^|[^a-z])(forward|fwd)([^a-z]|$)') then 'forward'
        end as annotated,
        o.phase as ordered,
        bool_or(a.phase = 'backward') over () as has_backward
    from _region_args as a
    left join _region_name as n on n.name = coalesce(a.module_fqn, a.region) and n.is_module = (a.module_fqn is not null)
    left join _region_order as o using (slice_id)
    where a.region is not null or n.path is not null
)
order by slice_id;
