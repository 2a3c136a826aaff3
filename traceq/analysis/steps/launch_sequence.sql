-- GPU work in the order in which it was launched, on the device with most of it: one row a launch, a graph's nodes together.
-- number: the same for the same work (names, grids, sizes, stream). With $communication only that: told apart by what is known
-- of the message as well, and of the host where no GPU has any. Without any GPU work the outermost ranges of the thread with most
-- of them, else its outermost operators.
-- reads: _gpu_launch
with
described as (
    select slice_id, any_value({'op': op, 'bytes': bytes, 'group': group_name}) as message
    from staging.collective
    where $communication
    group by slice_id
),

-- any_value: the condition is on names once each, and not moved to the rows they are from
update_name as (
    select name
    from staging.gpu_slice
    where kind = 'kernel' and not $communication
    group by name
    having regexp_matches(any_value(name), '(?i)multi_tensor_apply|adam|adagrad|adafactor|lamb_|sgd|momentum|optimizer')
),

gpu_work as (
    select
        g.device, g.context, g.stream, g.ts as gpu_ts, g.ts + g.dur as gpu_ts_end, l.launch_id,
        case
            when $communication then hash(g.kind, g.name, d.message)
            else hash(g.kind, g.name, g.grid_x, g.grid_y, g.grid_z, g.bytes, g.context, g.stream)
        end::hugeint as work,
        coalesce(g.copy_kind = 'h2d', false) as is_input,
        coalesce(g.copy_kind = 'd2h', false) as is_read,
        (g.context, g.stream) is distinct from (select mode((context, stream)) from staging.gpu_slice) as is_aside,
        g.kind = 'graph' as is_graph,
        g.kind = 'kernel' and not l.is_communication as is_compute,
        g.kind = 'kernel' and u.name is not null as is_update,
        g.kind = 'memset' or coalesce(g.copy_kind = 'h2d', false) as is_set_up
    from staging.gpu_slice as g
    inner join _gpu_launch as l using (slice_id)
    left join described as d using (slice_id)
    left join update_name as u using (name)
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

-- A graph is the sum of its nodes: the order in which its branches run varies.
launch as (
    select
        launch_id, min(gpu_ts) as gpu_ts, max(gpu_ts_end) as gpu_ts_end, sum(work) as work,
        bool_or(is_input) as is_input, bool_or(is_read) as is_read, bool_or(is_graph) as is_graph, bool_or(is_update) as is_update,
        bool_and(is_aside) as is_aside, bool_and(is_compute) as is_compute,
        bool_and(is_set_up) as is_set_up
    from main_device
    where launch_id is not null and (select is_traced from launched)
    group by launch_id
),

-- Without launching calls there are the times on the device: of one queue, as streams overtake one another.
placed as (
    select
        c.thread_id, c.ts, c.ts_end, l.gpu_ts, l.gpu_ts_end, l.work, l.is_input, l.is_read,
        l.is_graph or contains(c.name, 'GraphLaunch') as is_graph, l.is_update, l.is_aside, l.is_compute, l.is_set_up
    from launch as l
    inner join cpu_slice as c on c.slice_id = l.launch_id
    union all
    select null, gpu_ts, gpu_ts_end, gpu_ts, gpu_ts_end, work, is_input, is_read, is_graph, is_update, is_aside, is_compute,
        is_set_up
    from main_device
    where
        not (select is_traced from launched)
        and (context, stream) is not distinct from (select mode((context, stream)) from main_device)
    union all
    select c.thread_id, c.ts, c.ts_end, c.ts, c.ts_end, hash(c.kind, c.name, d.message), false, false, false, false, false, false,
        false
    from described as d
    inner join cpu_slice as c using (slice_id)
    where not exists (select 1 from gpu_work)
    union all
    select
        o.thread_id, o.ts, o.ts_end, o.ts, o.ts_end, hash(o.kind, o.name), false, false, false,
        starts_with(o.name, 'Optimizer.step#'), false, false, false
    from outermost as o
    inner join busiest using (thread_id, kind)
),

ordered as (
    select *, lead(ts) over (order by ts, ts_end, work) as next_ts
    from placed
),

waiting as (
    select c.thread_id, c.ts, c.ts_end
    from cpu_slice as c
    inner join host_name as n using (kind, name)
    where n.activity = 'synchronization' and c.kind = 'runtime'
)

select
    case when exists (select 1 from gpu_work) then 'launches' when (select kind from busiest) = 'op' then 'operators' else 'ranges' end
        ::enum ('launches', 'operators', 'ranges') as what,
    (o.work % 4611686018427387904)::bigint as number,
    coalesce(o.thread_id, -1)::bigint as thread_id, o.ts, o.ts_end, o.gpu_ts, o.gpu_ts_end, o.is_input, o.is_read, o.is_graph, o.is_update, o.is_aside, o.is_compute,
    o.is_set_up,
    -- the end of the last wait of its thread before the next launch; its own end without one
    if(w.ts >= o.ts_end, greatest(w.ts_end, o.ts_end), o.ts_end) as settled
from ordered as o
asof left join waiting as w on o.thread_id = w.thread_id and coalesce(o.next_ts, 9223372036854775807) > w.ts
order by o.ts, o.ts_end, number;
