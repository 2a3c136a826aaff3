-- What has most time on the critical path of the counted steps: slices by name and operator, with the modules they ran in.
with
path as not materialized (
    select
        p.segment, p.kind,
        -- the marks of all steps are one
        if(p.name = s.name, regexp_replace(p.name, '\d+$', ''), p.name) as name,
        nullif(p.operator, p.name) as operator,
        p.slice_id, p.thread_id, p.ts, p.dur
    from critical_path as p
    inner join step as s using (trace_id, step)
    where p.trace_id = $trace_id and s.excluded is null
),

largest as materialized (
    select
        row_number() over (order by sum(dur) desc, kind, name, operator) as number,
        kind, name, operator, sum(dur)::bigint as dur, sum(dur) / (select sum(dur) from path) as path_share
    from path
    where kind <> 'wait' and name is not null
    group by kind, name, operator
    order by number
    limit $top
),

-- as PyTorch's profiler names them, and as traceq.annotate does
module as materialized (
    select thread_id, depth, ts, ts_end, regexp_replace(name, '^(nn\.Module: |traceq\.module#)', '') as name
    from cpu_slice
    where trace_id = $trace_id and depth is not null and (name ^@ 'nn.Module: ' or name ^@ 'traceq.module#')
),

-- where the host was: at the segment, or at the call that launched what runs
place as (
    select m.number, p.segment, p.dur, d.depth, coalesce(l.thread_id, p.thread_id) as thread_id, coalesce(l.ts, p.ts) as ts
    from path as p
    inner join largest as m on m.kind = p.kind and m.name = p.name and m.operator is not distinct from p.operator
    left join gpu_slice as g on p.kind <> 'host' and g.trace_id = $trace_id and g.slice_id = p.slice_id
    left join cpu_slice as l on l.trace_id = $trace_id and l.slice_id = g.launch_id
    cross join (select distinct depth from module) as d
),

-- modules of one depth of a thread follow one another: the last that began is the one, if it has not ended
innermost as (
    select p.number, any_value(p.dur) as dur, arg_max(m.name, m.depth) as module
    from place as p
    asof inner join module as m on m.thread_id = p.thread_id and m.depth = p.depth and m.ts <= p.ts
    where m.ts_end > p.ts
    group by p.number, p.segment
),

known as (
    select number, arg_max(module, (dur, module)) as module, count(*) as modules
    from (select number, module, sum(dur) as dur from innermost group by number, module)
    group by number
)

select l.kind, l.name, l.operator, k.module, coalesce(k.modules, 0) as modules, l.dur as dur_ns, l.path_share
from largest as l
left join known as k using (number)
order by number
