-- GPU work in the order in which it was launched, for traces that nothing marks: a number per name, on the device with most of it.
-- With $communication only that: told apart by what is known of the message as well, and of the host where no GPU has any.
with
described as (
    select slice_id, any_value({'op': op, 'bytes': bytes, 'group': group_name}) as message
    from staging.collective
    where $communication
    group by slice_id
),

gpu_work as (
    select
        g.slice_id, g.device, {'context': g.context, 'stream': g.stream} as queue, g.kind, g.name, g.ts, g.ts + g.dur as ts_end,
        l.launch_id, l.thread_id, l.launched_at
    from staging.gpu_slice as g
    inner join _gpu_launch as l using (slice_id)
    where l.is_communication or not $communication
),

main_device as (
    from gpu_work
    where device = (select mode(device) from gpu_work)
),

-- Without launching calls there are the times on the device: of one stream, as streams overtake one another.
placed as (
    select m.slice_id, m.kind, m.name, m.thread_id, m.launched_at as ts, c.ts_end
    from main_device as m
    inner join cpu_slice as c on c.slice_id = m.launch_id
    where (select count(launch_id) * 2 >= count(*) from main_device)
    union all
    select slice_id, kind, name, null, ts, ts_end
    from main_device
    where queue = (select mode(queue) from main_device) and (select count(launch_id) * 2 < count(*) from main_device)
    union all
    select slice_id, c.kind, c.name, c.thread_id, c.ts, c.ts_end
    from described
    inner join cpu_slice as c using (slice_id)
    where not exists (select 1 from gpu_work)
)

select dense_rank() over (order by p.kind, p.name, d.message) - 1 as number, p.thread_id, p.ts, p.ts_end
from placed as p
left join described as d using (slice_id)
order by p.ts, p.ts_end, number;
