-- What monitors said over the counted steps: means weighted by the steps' time, of what the report shows. Of the GPUs that did
-- something, of disks and interfaces the busiest.
with
shown as (
    from (values
        ('gpu_utilization', 1), ('gpu_sm_clock', 2), ('gpu_power', 3), ('gpu_temperature', 4), ('gpu_throttle_thermal_hw', 5),
        ('gpu_throttle_thermal_sw', 6), ('gpu_throttle_power_brake', 7), ('gpu_throttle_power_cap', 8), ('cpu_user', 10), ('cpu_system', 11),
        ('cpu_iowait', 12), ('cpu_steal', 13), ('run_queue', 14), ('cpu_pressure', 15), ('swap_in', 16), ('disk_utilization', 20),
        ('disk_queue', 21), ('disk_read', 22), ('disk_write', 23), ('network_receive', 30), ('network_send', 31)
    ) as t (name, place)
),

series as (
    select
        m.device,
        m.instance,
        m.name,
        any_value(m.unit) as unit,
        sum(m.mean * s.dur) / sum(s.dur) as mean,
        min(m.lowest) as lowest,
        max(m.highest) as highest,
        any_value(n.place) as place
    from monitor_step as m
    inner join shown as n using (name)
    inner join step as s on s.trace_id = m.trace_id and s.step = m.step
    where
        m.trace_id = $trace_id
        and s.excluded is null
        and (m.device is null or m.device in (select device from gpu_slice where trace_id = $trace_id))
    group by m.device, m.instance, m.name
)

select device, instance, name, unit, mean, lowest, highest
from series
-- a reason that never was and an interface without traffic are no news
where not (highest = 0 and (starts_with(name, 'gpu_throttle_') or instance is not null))
qualify row_number() over (partition by device, name order by mean desc, instance) = 1
order by device nulls last, place
