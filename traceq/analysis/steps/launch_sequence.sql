-- GPU work in the order in which it was launched, on the device with most of it: one row a launch, a graph's nodes together.
-- number: the same for the same work (names, grids, sizes, stream). With $communication only that: told apart by what is known
-- of the message as well, and of the host where no GPU has any. Without any GPU work the outermost ranges of the thread with most
-- of them, else its outermost operators.
with
described as (
    select slice_id, any_value({'op': op, 'bytes': bytes, 'group': group_name}) as message
    from staging.collective
    where $communication
    group by slice_id
),

gpu_work as (
    select
        g.slice_id, g.device, g.context, g.stream, g.kind, g.name, g.copy_kind, g.ts as gpu_ts, g.ts + g.dur as gpu_ts_end,
        l.launch_id, l.thread_id, l.launched_at, d.message,
        if(
            $communication, null,
            {'x': g.grid_x, 'y': g.grid_y, 'z': g.grid_z, 'bytes': g.bytes, 'context': g.context, 'stream': g.stream}
        ) as what
    from staging.gpu_slice as g
    inner join _gpu_launch as l using (slice_id)
    left join described as d using (slice_id)
    -- nobody launches the migrations of unified memory
    where (l.is_communication or not $communication) and g.copy_kind is distinct from 'um'
),

outermost as (
    select c.thread_id, c.kind, regexp_replace(c.name, '[0-9]+', '#', 'g') as name, c.ts, c.ts_end
    from cpu_slice as c
    where
        not $communication
        and not exists (select 1 from gpu_work)
        and c.depth is not null
        and c.dur > 0
        and ((c.kind = 'annotation' and c.annotation_id is null) or (c.kind = 'op' and c.operator_id is null))
),

busiest as (
    select thread_id, kind
    from outermost
    group by thread_id, kind
    order by kind = 'annotation' desc, count(*) desc, thread_id
    limit 1
),

main_device as (
    from gpu_work
    where device = (select mode(device) from gpu_work)
),

launched as (
    select coalesce(count(launch_id) * 2 >= count(*), false) as is_traced
    from main_device
),

-- Without launching calls there are the times on the device: of one queue, as streams overtake one another.
placed as (
    select
        any_value(m.thread_id) as thread_id, any_value(c.ts) as ts, any_value(c.ts_end) as ts_end,
        min(m.gpu_ts) as gpu_ts, max(m.gpu_ts_end) as gpu_ts_end,
        -- of a graph the nodes by name: the order in which branches run varies
        count(*) as slices, list_sort(list({'kind': m.kind, 'name': m.name, 'what': m.what, 'message': m.message})) as work,
        bool_or(m.copy_kind = 'h2d') as is_input,
        bool_or(m.copy_kind = 'd2h') as is_read,
        bool_or(m.kind = 'graph' or regexp_matches(c.name, 'GraphLaunch')) as is_graph,
        bool_or(m.kind = 'kernel' and regexp_matches(m.name, '(?i)multi_tensor_apply|adam|adagrad|adafactor|lamb_|sgd|momentum|optimizer')) as is_update
    from main_device as m
    inner join cpu_slice as c on c.slice_id = m.launch_id
    where (select is_traced from launched)
    group by m.launch_id
    union all
    select
        null, gpu_ts, gpu_ts_end, gpu_ts, gpu_ts_end, 1, [{'kind': kind, 'name': name, 'what': what, 'message': message}],
        coalesce(copy_kind = 'h2d', false), coalesce(copy_kind = 'd2h', false), kind = 'graph',
        kind = 'kernel' and regexp_matches(name, '(?i)multi_tensor_apply|adam|adagrad|adafactor|lamb_|sgd|momentum|optimizer')
    from main_device
    where
        not (select is_traced from launched)
        and (context, stream) is not distinct from (select mode((context, stream)) from main_device)
    union all
    select
        c.thread_id, c.ts, c.ts_end, c.ts, c.ts_end, 1, [{'kind': c.kind, 'name': c.name, 'what': null, 'message': d.message}],
        false, false, false, false
    from described as d
    inner join cpu_slice as c using (slice_id)
    where not exists (select 1 from gpu_work)
    union all
    select
        o.thread_id, o.ts, o.ts_end, o.ts, o.ts_end, 1, [{'kind': o.kind, 'name': o.name, 'what': null, 'message': null}],
        false, false, false, starts_with(o.name, 'Optimizer.step#')
    from outermost as o
    inner join busiest using (thread_id, kind)
),

ordered as (
    select *, dense_rank() over (order by work) - 1 as number, lead(ts) over (order by ts, ts_end, work) as next_ts
    from placed
),

waiting as (
    select c.thread_id, c.ts, c.ts_end
    from cpu_slice as c
    inner join host_name as n using (kind, name)
    where n.activity = 'synchronization' and c.kind = 'runtime'
)

select
    case when exists (select 1 from gpu_work) then 'launches' when (select kind from busiest) = 'op' then 'operators' else 'ranges' end as what,
    o.number, o.thread_id, o.ts, o.ts_end, o.gpu_ts, o.gpu_ts_end, o.slices, o.is_input, o.is_read, o.is_graph, o.is_update,
    -- the end of the last wait of its thread before the next launch; its own end without one
    if(w.ts >= o.ts_end, greatest(w.ts_end, o.ts_end), o.ts_end) as settled
from ordered as o
asof left join waiting as w on o.thread_id = w.thread_id and coalesce(o.next_ts, 9223372036854775807) > w.ts
order by o.ts, o.ts_end, o.number;
