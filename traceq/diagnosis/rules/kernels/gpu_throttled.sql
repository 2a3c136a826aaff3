-- Kernels that ran while heat or the power supply held the clock down, by logs of monitors; what they lost to the lower clock.
-- title: The GPU is throttled by heat or by its power supply
-- finds: Kernels that ran while nvidia-smi, DCGM or another monitor reports that heat, the power brake or the hardware slowdown
--   kept the GPU's clock down.
-- matters: The hardware slowdown at least halves the clock. All kernels become slower, and no change to the program helps.
-- measured: Monitor samples whose reason is heat (of hardware or software), the power brake or the hardware slowdown (NVML:
--   clocks event reasons). Of a kernel's time (busy_piece) in such a sample, the share counts by which the clock is below that
--   of busy samples without these reasons or, if there are none, below the GPU's highest clock; but no more than the share by
--   which the kernel (name, grid, block) takes longer (medians) than in samples without them, if there are three. Shares: low
--   0.3 (kernels that wait for memory do not follow the clock), likely 0.8, high 1.
-- try: Cooling first: fans, filters, warm air from neighbouring machines. For a power brake, the power supplies and limits of
--   the server or rack.
-- references: https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
--   https://docs.nvidia.com/deploy/nvidia-smi/index.html
-- fix: {% if worst.held_by == 'heat' %}Cool the GPU: clean fans and filters, and check the temperature of the intake air {%-
--   else %}Check the machine's power supplies and power limit (its BMC): {{ worst.held_by }} throttles the GPU {%- endif %};
--   until then, use another node. {{ worst.held_by | capitalize }} keeps the clock at {{ '{:,.0f}'.format(worst.clock_mhz) }}
--   MHz{% if worst.temperature is not none %}, at {{ '{:,.0f}'.format(worst.temperature) }} C{% endif %}, in {{
--   percent(worst.throttled_share) }} of the kernels' time; {% if worst.has_free %}otherwise it is{% else %}the GPU can run
--   at{% endif %} {{ '{:,.0f}'.format(worst.free_clock_mhz) }} MHz.
-- confidence: {% if worst.has_free %}high{% else %}medium{% endif %}
-- reason: The monitor logged the reason and the clock{% if not worst.has_free %}; the log does not show the clock without it,
--   so the highest clock is assumed{% endif %}.
-- wrong-if: Without throttling, the kernels take just as long, because they wait for memory, which has its own clock.
-- heading: Cool the GPU, or fix its power supply: it is throttled
-- needs: gpu, steps, gpu_clocks, throttle_reasons
-- low: 0.3
-- likely: 0.8
-- threshold: each = 3: the median of three leaves one outlier out
-- uses: busy, gpu_state
-- categories: compute
with
kernel as (
    select b.*, b.ts + b.dur // 2 as middle, hash(b.name, g.grid_x, g.grid_y, g.grid_z, g.block_x, g.shared_memory) as kernel
    from busy as b
    inner join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = b.slice_id
    where b.category = 'compute'
),

watched as (
    select
        k.*, g.held_by, g.clock_mhz,
        coalesce(g.free_mhz, g.highest_mhz) as free_clock_mhz,
        g.free_mhz is not null as has_free,
        g.temperature
    from kernel as k
    asof inner join gpu_state as g on k.middle <= g.ts_end
    where k.middle >= g.ts
),

-- How long the same kernels take while nothing holds the clock down: what is no slower for it loses nothing.
unheld as (
    select kernel, median(dur) as free_ns
    from watched
    where held_by is null
    group by kernel
    having count(*) >= $each
),

throttled as (
    select w.*, f.free_ns, median(w.dur) over (partition by w.kernel) as held_ns
    from watched as w
    left join unheld as f using (kernel)
    where w.held_by is not null
)

select
    step, ts, dur, name, slice_id,
    ledger_dur * least(1 - clock_mhz / free_clock_mhz, if(free_ns is null, 1, 1 - free_ns / held_ns)) as claimed,
    'compute' as cause, slice_id as busy_id, held_by, clock_mhz, free_clock_mhz, has_free, temperature,
    (select sum(ledger_dur) from throttled) / (select sum(ledger_dur) from kernel) as throttled_share
from throttled
where clock_mhz < free_clock_mhz and (free_ns is null or free_ns < held_ns)
