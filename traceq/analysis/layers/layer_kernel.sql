-- Compute kernels of the counted steps of device $device, by step in the order of launches; where a launch is missing, in the order
-- in which they ran. number: that of the name. path: the number of the module in _layer_path; NULL for none.
-- reads: _layer_name, _layer_path, _module_work, kernel_occupancy, step
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
)

select
    k.step,
    n.number,
    k.exclusive_dur as dur,
    coalesce(m.is_backward, l.phase_id in (from backward), false) as is_backward,
    m.path
from kernel_occupancy as k
inner join gpu_slice as g using (slice_id)
inner join launched as o on o.step = k.step
inner join _layer_name as n using (name)
left join cpu_slice as l on l.slice_id = g.launch_id
left join placed as m using (slice_id)
where k.device = $device and k.family <> 'communication'
order by k.step, if(o.is_known, l.ts, g.ts), g.ts, k.slice_id
