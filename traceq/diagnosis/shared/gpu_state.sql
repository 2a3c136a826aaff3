-- Clock of the critical device by monitors, and what held it down, by sample. free_mhz is the clock that it has when it is busy and
-- nothing holds it down, by the other samples; NULL where there are none.
-- uses: monitored
with
state as (
    select
        log_id, ts, ts_end,
        max(value) filter (name = 'gpu_sm_clock') as clock_mhz,
        max(value) filter (name = 'gpu_sm_clock_max') as highest_mhz,
        max(value) filter (name = 'gpu_utilization') as utilization,
        max(value) filter (name = 'gpu_temperature') as temperature,
        max(value) filter (name = 'gpu_power') as power,
        max(value) filter (name = 'gpu_power_limit') as power_limit,
        max(value) filter (name = 'gpu_power_limit_max') as power_limit_max,
        max(value) filter (name in ('gpu_throttle_thermal_hw', 'gpu_throttle_thermal_sw', 'gpu_thermal_violation')) > 0 as is_hot,
        max(value) filter (name = 'gpu_throttle_power_brake') > 0 as is_braked,
        max(value) filter (name = 'gpu_throttle_hw_slowdown') > 0 as is_slowed,
        max(value) filter (name = 'gpu_throttle_power_cap') > 0 as is_capped,
        max(value) filter (name = 'gpu_throttle_clock_setting') > 0 as is_set,
        count(*) filter (starts_with(name, 'gpu_throttle_') or name = 'gpu_thermal_violation') > 0 as has_reasons
    from monitored
    where device = $device
    group by log_id, ts, ts_end
)

select
    *,
    case
        when is_hot then 'heat'
        when is_braked then 'the power brake of the server'
        when is_slowed then 'a slowdown of the hardware'
    end as held_by,
    -- half of the time: mostly busy, so that the clock has no reason to rest
    median(clock_mhz) filter (
        utilization >= 50 and not coalesce(is_hot, false) and not coalesce(is_braked, false) and not coalesce(is_slowed, false)
    ) over () as free_mhz
from state
where clock_mhz > 0
