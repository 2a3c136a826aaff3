-- module: kernels and operations by the module of the model that launched them. Those of the backward pass belong to the module
-- that ran the forward operator with the same number in autograd's graph. Only counted steps.
-- reads: _module_call, _module_slice, _module_timeline, compiled_module, graph_kernel, graph_region, kernel_occupancy, operator_cost, step
-- makes: _module_work, module

create temp table _counted as
select step, ts, ts_end from step where excluded is null;

-- Nodes of the backward pass and where the forward operator with the same number was.
create temp table _forward_place as
with
named as materialized (
    select name from host_name where kind = 'op' and phase = 'backward'
),

numbered as (
    select
        c.slice_id, t.pid, c.thread_id, c.ts,
        c.name in (from named) as is_backward,
        try_cast(try(json_extract_string(c.args, '$."Sequence number"')) as bigint) as number
    from cpu_slice as c
    inner join thread as t using (thread_id)
    where
        c.kind = 'op'
        and (c.phase_id is null or c.name in (from named))
        and contains(c.args, '"Sequence number"')
        and exists (from named)
        and exists (from _module_timeline)
)

-- The last of them made the node: those before it have the number of the next node when they make none.
select b.slice_id, f.thread_id, f.ts
from (select * from numbered where is_backward) as b
asof inner join (select * from numbered where not is_backward) as f
    on f.pid is not distinct from b.pid and f.number = b.number and b.ts >= f.ts;

-- Seconds as decimals: their sum does not depend on the order, as that of doubles does in its last digits.
create temp table _module_work as
with
work as (
    select
        k.slice_id, k.device, k.step, l.thread_id, l.ts, l.phase_id,
        coalesce(r.module, q.module) as replayed,
        r.phase as replayed_phase,
        k.exclusive_dur as dur,
        null::double as flops,
        null as seconds_at_peak
    from kernel_occupancy as k
    inner join gpu_slice as g using (slice_id)
    left join cpu_slice as l on l.slice_id = g.launch_id
    left join graph_kernel as q using (slice_id)
    left join graph_region as r using (slice_id)
    where k.family <> 'communication' and (l.slice_id is not null or r.module is not null)
    union all
    select
        null, o.device, o.step, c.thread_id, c.ts, c.phase_id, null, null, 0, o.flops,
        (o.flops / (o.peak * 1e12))::decimal(38, 24)
    from operator_cost as o
    inner join cpu_slice as c using (slice_id)
    where o.flops > 0 and o.device is not null
    union all
    select null, o.device, o.step, null, null, null, q.module, null, 0, o.flops, (o.flops / (o.peak * 1e12))::decimal(38, 24)
    from operator_cost as o
    inner join (
        select operator_id, any_value(module) as module from graph_kernel where operator_id is not null group by operator_id
    ) as q on q.operator_id = o.slice_id
    where o.flops > 0 and o.device is not null
),

placed as (
    select
        w.slice_id, w.device, w.thread_id, w.dur, w.flops, w.seconds_at_peak,
        -- what is computed again in the backward pass runs inside of its module
        coalesce(
            w.replayed,
            -- within what is known around the graph; one that stands for a module is none of the path
            if(
                c.module is not null,
                concat_ws(
                    '/',
                    coalesce(
                        nullif(regexp_replace(own.path, '(^|/)CompiledFxGraph \w+$', ''), ''),
                        nullif(regexp_replace(origin.path, '(^|/)CompiledFxGraph \w+$', ''), '')
                    ),
                    c.module
                ),
                null
            ),
            own.path,
            origin.path
        ) as path,
        coalesce(w.replayed_phase, n.phase) is not distinct from 'backward' as is_backward
    from work as w
    left join cpu_slice as p on p.slice_id = w.phase_id
    left join host_name as n on n.kind = p.kind and n.name = p.name
    left join _forward_place as f on f.slice_id = w.phase_id
    left join compiled_module as c on c.slice_id = w.slice_id
    asof left join _module_timeline as own on own.thread_id = w.thread_id and w.ts >= own.ts
    asof left join _module_timeline as origin on origin.thread_id = f.thread_id and f.ts >= origin.ts
    where w.step in (select step from _counted)
)

from placed where path is not null;

insert into module by name
with
-- with all modules around it
around as (
    select path, place, array_to_string(names[1:place], '/') as module
    from (select path, string_split(path, '/') as names from (select distinct path from _module_work))
    cross join unnest(range(1, len(names) + 1)) as p (place)
),

-- by threads that launch on the device
called as (
    select device, module, max(calls) as calls
    from (
        select d.device, m.path as module, count(*) as calls
        from _module_slice as s
        inner join _module_call as m using (number)
        inner join (select distinct device, thread_id from _module_work) as d using (thread_id)
        asof inner join _counted as c on s.ts >= c.ts
        where s.ts < c.ts_end
        group by d.device, m.path
        union all
        -- in graphs a module runs as often as any of its nodes
        select g.device, r.module, count(*)
        from graph_region as r
        inner join gpu_slice as g using (slice_id)
        where g.step in (select step from _counted) and r.module is not null
        group by g.device, r.module, g.graph_node_id
    )
    group by device, module
),

-- What stays allocated when a call of it ends, of what is sampled.
sample as (
    select device, ts, value from counter where name = 'memory_allocated' and device is not null
),

growth as (
    select m.path as module, d.device, median(e.value - b.value) as bytes
    from _module_slice as s
    inner join _module_call as m using (number)
    cross join (select distinct device from sample) as d
    asof inner join sample as b on b.device = d.device and s.ts >= b.ts
    asof inner join sample as e on e.device = d.device and s.ts_end >= e.ts
    group by m.path, d.device
)

select
    $trace_id as trace_id,
    w.device,
    a.module,
    any_value(a.place)::integer as depth,
    any_value(c.calls) as calls,
    coalesce(sum(w.dur) filter (not w.is_backward), 0) as forward_dur,
    coalesce(sum(w.dur) filter (w.is_backward), 0) as backward_dur,
    coalesce(sum(w.dur) filter (w.path = a.module), 0) as own_dur,
    sum(w.flops) as flops,
    if(count(w.flops) = count(w.seconds_at_peak), sum(w.seconds_at_peak) * 1e9 / nullif(sum(w.dur), 0), null) as mfu,
    any_value(g.bytes)::bigint as memory_growth
from _module_work as w
inner join around as a on a.path = w.path
left join called as c on c.module = a.module and c.device = w.device
left join growth as g on g.module = a.module and g.device = w.device
group by w.device, a.module
order by w.device, a.module;
