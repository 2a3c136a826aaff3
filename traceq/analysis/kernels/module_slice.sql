-- Calls of the modules of a model: frames that PyTorch names after them (with_stack), FSDP's ranges from before to after a module's
-- forward, ranges (NVTX, record_function) that a program names like modules: a path with a number (layers.3.mlp), or a word of
-- models, and those of pieces of a graph that torch.fx splits (submod_3). Without frames of modules, the graphs that
-- torch.compile calls, by the first letters of their hash.
-- makes: _module_slice

create or replace temp table _module_slice as
with
-- names are few, slices many
named as materialized (
    select
        kind,
        name,
        case
            when kind = 'python' then nullif(regexp_extract(name, '^nn\.Module: (.+)$', 1), '')
            when starts_with(name, 'nn.Module: ') then name[12:]
            when _is_module_name(name) or regexp_matches(name, '^submod_\d+$') then name
            when
                starts_with(name, '## Call CompiledFxGraph ')
                and not bool_or(regexp_matches(name, '^nn\.Module: ')) over ()
                then 'CompiledFxGraph ' || name[25:32]
        end as module
    from (select distinct kind, name from cpu_slice where kind in ('python', 'annotation'))
),

-- PyTorch's wrappers are none of the model's modules.
fsdp as (
    select
        thread_id, ts, ts_end,
        starts_with(name, 'FSDP::pre_forward') as begins,
        regexp_replace(
            regexp_extract(name, '^FSDP::(?:pre|post)_forward \((.+)\)$', 1),
            '(^|\.)_(checkpoint_wrapped_module|fsdp_wrapped_module|orig_mod)(\.|$)',
            '\1',
            'g'
        ) as path
    from cpu_slice
    where kind = 'annotation' and regexp_matches(name, '^FSDP::(pre|post)_forward \(')
),

wrapped as (
    select b.thread_id, b.ts, min(e.ts_end) as ts_end, rtrim(b.path, '.') as module
    from fsdp as b
    asof inner join (select thread_id, path, ts, ts_end from fsdp where not begins) as e
        on e.thread_id = b.thread_id and e.path = b.path and b.ts <= e.ts
    where b.begins and b.path <> ''
    group by b.thread_id, b.ts, b.path
)

select row_number() over (order by thread_id, ts, ts_end desc, module) as number, *
from (
    select c.thread_id, c.ts, c.ts_end, n.module
    from cpu_slice as c
    inner join named as n on n.kind = c.kind and n.name = c.name
    where n.module is not null and c.dur > 0 and c.depth is not null
    union all
    from wrapped
);
