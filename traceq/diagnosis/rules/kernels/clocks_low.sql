-- Kernels that ran at a clock far below the highest although nothing that cannot be changed held it down, by logs of monitors.
-- title: The GPU's clock is low while it is busy
-- finds: Kernels that ran at a clock well below the GPU's highest while it was busy, because of a setting, because the power
--   limit is set below the highest one allowed, or for no known reason.
-- matters: A clock that was locked for a measurement, or a power limit that was set for the rack, slows down all kernels, and
--   nothing in the program shows it.
-- measured: Samples of a monitor in which the GPU is busy at least half of the time, neither hot nor braked, and its clock
--   (clocks.sm) is 15 % or more below the highest (clocks.max.sm). If the power limit holds the clock down, that limit has to
--   be below the highest one that can be set: a GPU at its own limit is normal. The share by which the clock is below the
--   highest counts of a kernel's time (busy_piece) in such a sample. Shares: low 0.2, likely 0.6, high 1.
-- try: nvidia-smi -rgc and -rac (reset clocks), -pl (power limit); nvidia-smi -q -d CLOCK,PERFORMANCE,POWER.
-- references: https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
--   https://docs.nvidia.com/deploy/nvidia-smi/index.html
-- fix: {% if worst.held_by == 'power' %}{{ remedy('power_limit', watts='{:.0f}'.format(worst.power_limit_max),
--   limit='{:.0f}'.format(worst.power_limit)) }} {%- elif worst.held_by == 'setting' %}{{ remedy('clock_setting') }} {%- else
--   %}{{ remedy('clock_reason') }} {%- endif %} The clock is {{ '{:,.0f}'.format(worst.clock_mhz) }} MHz while kernels run; the
--   GPU can run at {{ '{:,.0f}'.format(worst.highest_mhz) }} MHz.
-- confidence: {% if worst.held_by == 'setting' %}high{% elif worst.held_by == 'power' %}medium{% else %}low{% endif %}
-- reason: {% if worst.held_by == 'unknown' %}The monitor logged the clock, but no reason for it {%- else %}The monitor logged
--   the clock and its reason{% endif %}.
-- wrong-if: Kernels take just as long at the highest clock, because they wait for memory.
-- heading: Raise the GPU's clock: something holds it down
-- needs: gpu, steps, gpu_clocks
-- low: 0.2
-- likely: 0.6
-- threshold: busy = 50: per cent: mostly busy, so that the clock has no reason to rest
-- threshold: low_clock = 0.85: boost clocks move by some per cent with voltage and temperature; profilers that judge clocks call
--   15 % below the highest throttled
-- threshold: at_limit = 0.95: the power control of the GPU keeps its draw within some per cent of the limit
-- uses: busy, gpu_state
-- categories: compute
with
low as (
    select
        *,
        case
            when is_capped or power >= $at_limit * power_limit then 'power'
            when is_set then 'setting'
            else 'unknown'
        end as low_by
    from gpu_state
    where
        held_by is null
        and utilization >= $busy
        and clock_mhz <= $low_clock * highest_mhz
        -- without reasons, and without power against its limit, it may be as it should be
        and (has_reasons or (power is not null and power_limit is not null))
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * (1 - g.clock_mhz / g.highest_mhz) as claimed,
    'compute' as cause, b.slice_id as busy_id, g.low_by as held_by, g.clock_mhz, g.highest_mhz, g.power_limit,
    g.power_limit_max
from busy as b
asof inner join low as g on b.ts + b.dur // 2 <= g.ts_end
where
    b.category = 'compute'
    and b.ts + b.dur // 2 >= g.ts
    and (g.low_by <> 'power' or g.power_limit < g.power_limit_max)
