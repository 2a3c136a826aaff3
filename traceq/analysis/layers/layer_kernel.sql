-- Compute kernels of the counted steps of device $device, by step in the order of launches; where a launch is missing, in the order
-- in which they ran. number: that of the name. path: the number of the module in _layer_path; NULL for none.
-- Between them, with number NULL, the sends and receives of a pipeline: kernels whose names do not tell them from all-to-alls
-- only where there are none of these.
-- reads: _layer_name, _layer_path, _module_work, collective_slice, kernel_occupancy, step
with
launched as (
    select step, count(*) = count(launch_id) as is_known
    from gpu_slice
    where kind = 'kernel' and device = $device and step in (select step from step where excluded is null)
    group by step
),

backward as (
    select p.slice_id
    from cpu_slice as p
    inner join host_name as n using (kind, name)
    where n.phase = 'backward'
),

placed as (
    select w.slice_id, p.number as path, w.is_backward
    from _module_work as w
    inner join _layer_path as p using (path)
    where w.slice_id is not null and w.device = $device
),

-- few slices
sent as (
    select slice_id
    from collective_slice
    where
        device = $device
        and (
            op in ('send', 'recv')
            or op = 'send_recv' and not exists (from collective_slice where op = 'all_to_all')
        )
),

work as (
    select slice_id, step, exclusive_dur as dur, false as is_sent
    from kernel_occupancy
    where device = $device and family <> 'communication'
    union all
    select slice_id, step, 0, true
    from gpu_slice
    where slice_id in (from sent) and step in (select step from step where excluded is null)
)

select
    k.step,
    n.number,
    k.dur,
    coalesce(m.is_backward, l.phase_id in (from backward), false) as is_backward,
    m.path
from work as k
inner join gpu_slice as g using (slice_id)
inner join launched as o on o.step = k.step
left join _layer_name as n on n.name = g.name and not k.is_sent
left join cpu_slice as l on l.slice_id = g.launch_id
left join placed as m using (slice_id)
order by k.step, if(o.is_known, l.ts, g.ts), g.ts, k.slice_id
