-- Views of what monitors said.

--: One row per sample of a log of a monitor, with the time that it stands for: from the sample before it, of the same
--: series.
create or replace view monitor_sample as
with
series as (
    select
        *,
        ts - lag(ts) over (partition by trace_id, log_id, device, instance, name order by ts) as gap
    from counter
    where log_id is not null
),

usual as (
    select trace_id, log_id, device, instance, name, median(gap) as gap
    from series
    group by all
)

select
    --: Trace.
    s.trace_id,
    --: Log; see monitor_log.
    s.log_id,
    --: Device; NULL for the host.
    s.device,
    --: As in counter.
    s.instance,
    --: Series, as in counter.
    s.name,
    --: Unit of value; NULL for counts.
    s.unit,
    -- before the first sample, and before one after a pause, as long as there mostly is
    --: Start of the time it stands for, ns: when the sample before was taken, or as long before as they mostly are
    --: apart.
    s.ts - if(s.gap <= 3 * u.gap, s.gap, coalesce(u.gap, 0))::bigint as ts,
    --: When it was taken, ns.
    s.ts as ts_end,
    --: The sample.
    s.value
from series as s
inner join usual as u
    on u.trace_id = s.trace_id
    and u.log_id = s.log_id
    and u.device is not distinct from s.device
    and u.instance is not distinct from s.instance
    and u.name = s.name;

--: One row per step and device that monitors watched: what they said of the GPU, and of the host beside it. Means over
--: the step; NULL for what no log says.
create or replace view step_condition as
with
host as (
    select
        trace_id,
        step,
        100 - max(mean) filter (name = 'cpu_idle' and instance is null) as cpu_busy,
        max(mean) filter (name = 'cpu_steal' and instance is null) as cpu_steal,
        max(mean) filter (name = 'run_queue') as run_queue,
        max(mean) filter (name = 'disk_utilization') as disk_utilization,
        sum(mean) filter (name = 'disk_read') as disk_read,
        sum(mean) filter (name = 'disk_write') as disk_write,
        max(mean) filter (name = 'swap_in') as swap_in,
        sum(mean) filter (name = 'network_receive' and instance <> 'lo') as network_receive,
        sum(mean) filter (name = 'network_send' and instance <> 'lo') as network_send
    from monitor_step
    where device is null
    group by trace_id, step
),

gpu as (
    select
        trace_id, step, device,
        max(mean) filter (name = 'gpu_power') as power,
        max(mean) filter (name = 'gpu_sm_clock') as sm_clock,
        max(mean) filter (name = 'gpu_temperature') as temperature,
        max(mean) filter (name = 'gpu_utilization') as utilization,
        max(highest) filter (
            name in (
                'gpu_throttle_thermal_hw', 'gpu_throttle_thermal_sw', 'gpu_throttle_power_brake', 'gpu_throttle_hw_slowdown',
                'gpu_thermal_violation'
            )
        ) > 0 as is_throttled,
        max(highest) filter (name = 'gpu_throttle_power_cap') > 0 as is_power_capped
    from monitor_step
    where device is not null
    group by trace_id, step, device
)

select
    --: Trace.
    coalesce(g.trace_id, h.trace_id) as trace_id,
    --: Step.
    coalesce(g.step, h.step) as step,
    --: Device; NULL where logs are of the host only.
    g.device,
    --: Power drawn, W.
    g.power,
    --: Clock of the multiprocessors, MHz.
    g.sm_clock,
    --: Temperature, C.
    g.temperature,
    --: Time in which at least one kernel ran, percent, as the monitor says it.
    g.utilization,
    --: Whether heat or the power supply held the clock down in any sample.
    g.is_throttled,
    --: Whether the limit of power held the clock down in any sample.
    g.is_power_capped,
    h.* exclude (trace_id, step)
from gpu as g
full join host as h on h.trace_id = g.trace_id and h.step = g.step;
comment on column step_condition.cpu_busy is 'Time of all CPUs that was not idle, percent.';
comment on column step_condition.cpu_steal is 'Time of all CPUs that the hypervisor took, percent.';
comment on column step_condition.run_queue is 'Threads that ran or waited for a CPU.';
comment on column step_condition.disk_utilization is 'Time in which the busiest disk had requests, percent.';
comment on column step_condition.disk_read is 'Read from all disks, bytes per second.';
comment on column step_condition.disk_write is 'Written to all disks, bytes per second.';
comment on column step_condition.swap_in is 'Memory read back from swap, bytes per second.';
comment on column step_condition.network_receive is 'Received by all interfaces but the loopback, bytes per second.';
comment on column step_condition.network_send is 'Sent by them, bytes per second.';
