-- Compute kernels of the counted steps, by device and step in the order of launches; where a launch is missing, in the order in
-- which they ran, of device $device. number: equal for equal names. path: the module, from the outermost in; NULL for none.
-- reads: _module_work, kernel_occupancy, step
with
kernel as (
    select
        k.slice_id, k.device, k.step, k.exclusive_dur as dur, g.name, g.ts, l.ts as launch_ts, l.phase_id,
        k.family not in (
            'elementwise', 'reduce', 'norm', 'softmax', 'optimizer', 'copy', 'index', 'embedding', 'scan_sort', 'sampling',
            'kv_cache', 'quantize', 'routing', 'loss', 'pooling', 'fbgemm', 'pytorch', 'thrust', 'unknown'
        ) as is_heavy,
        k.family in ('flash_attention', 'linear_attention', 'softmax') as is_attention
    from kernel_occupancy as k
    inner join gpu_slice as g using (slice_id)
    left join cpu_slice as l on l.slice_id = g.launch_id
    where k.device = $device and k.family <> 'communication' and k.step in (select step from step where excluded is null)
),

-- names are few, kernels many
named as (
    select
        name,
        row_number() over (order by name) - 1 as number,
        regexp_matches(any_value(name), '(?i)backward|bwd|dgrad|wgrad|bprop') as is_backward
    from kernel
    group by name
),

launched as (
    select step, count(*) = count(launch_ts) as is_known
    from kernel
    group by step
),

backward as (
    select p.slice_id
    from cpu_slice as p
    inner join host_name as n using (kind, name)
    where n.phase = 'backward'
),

placed as (
    select slice_id, path, is_backward
    from _module_work
    where slice_id is not null
)

select
    k.step, n.number, k.dur, k.is_heavy, k.is_attention,
    coalesce(m.is_backward, k.phase_id in (from backward), false) as is_backward,
    n.is_backward as is_named_backward,
    m.path
from kernel as k
inner join named as n using (name)
inner join launched as o using (step)
left join placed as m using (slice_id)
order by k.step, if(o.is_known, k.launch_ts, k.ts), k.ts, k.slice_id
