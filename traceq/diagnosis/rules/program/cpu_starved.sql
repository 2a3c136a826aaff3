-- Idle time in which the host was late while more threads wanted to run than there were CPUs, or the hypervisor took them, by logs.
-- title: The host has too few CPUs: threads wait for one
-- finds: Time in which the GPU waits for the host, while vmstat, sar or another monitor reports that more threads are ready to
--   run than there are CPUs, or that the hypervisor takes time away (steal).
-- matters: A thread that waits for a CPU launches nothing. Faster code helps less than giving it its own CPU.
-- measured: If r threads run or wait on n CPUs, the scheduler gives each of them n/r of the time, and in a virtual machine the
--   hypervisor takes the steal time: the larger loss counts. If that is 10 % or more, that share of the idle time of the GPU
--   counts in which the host was late with work of its own (idle_piece: launching, Python, code, calls, input), and all of the
--   time for which a launching thread stood still (host_stall). Shares: low 0.5, likely 0.9, high 1.
-- try: Fewer loader workers and threads (OMP_NUM_THREADS), other programs moved to other nodes, more CPUs for the job, no
--   oversubscribed virtual machine.
-- references: https://man7.org/linux/man-pages/man8/vmstat.8.html
--   https://docs.kernel.org/scheduler/sched-design-CFS.html
-- fix: {% if worst.steal_share >= worst.queued_share %}Move to a machine with dedicated CPUs: the hypervisor takes {{
--   percent(worst.steal_share) }} of their time {%- else %}Give the job more CPUs, or start fewer threads (OMP_NUM_THREADS,
--   processes that prepare input, other programs): {{ '{:,.0f}'.format(worst.run_queue) }} threads are ready to run on {{
--   plural(worst.cpus | int, 'CPU') }}{% endif %} while the GPU waits for the host.
-- confidence: medium
-- reason: The monitor logged this during the waits; the log does not show which thread waited.
-- wrong-if: The launching threads have their own CPUs (taskset, numactl), or %wait of the process in pidstat is near 0.
-- heading: Give the host more CPUs: its threads wait for one
-- needs: gpu, steps, cpu_samples_logged
-- unknown: {% if not has('cpu_count') and not has('steal') %}{{ lacks('no log says how many CPUs there are', 'cpu_count') }}{%
--   endif %}
-- low: 0.5
-- likely: 0.9
-- threshold: least_lost = 0.1: run queues are counted at an instant, and the monitor itself is in them: less is chance
-- uses: host_late, monitored
with
state as (
    select
        log_id, ts, ts_end,
        max(value) filter (name = 'run_queue') as run_queue,
        coalesce(max(value) filter (name = 'cpu_steal' and instance is null), avg(value) filter (name = 'cpu_steal'), 0) / 100 as steal_share
    from monitored
    where device is null and name in ('run_queue', 'cpu_steal') and ts_end > ts
    group by all
),

host as (
    select max(value) as cpus
    from monitored
    where name = 'cpu_count'
),

lost as (
    select
        s.*,
        h.cpus,
        coalesce(greatest(0, 1 - h.cpus / nullif(s.run_queue, 0)), 0) as queued_share,
        greatest(queued_share, s.steal_share) as lost_share
    from state as s
    cross join host as h
),

stalled as (
    select gap_id, cause, sum(dur) as dur
    from stall_cost
    where trace_id = $trace_id and gap_id is not null
    group by gap_id, cause
)

select
    p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id,
    least(p.dur, coalesce(s.dur, 0) + greatest(0, p.dur - coalesce(s.dur, 0)) * l.lost_share) as claimed,
    p.cause, p.gap_id, l.run_queue, l.cpus, l.queued_share, l.steal_share
from host_late as p
asof inner join (from lost where lost_share >= $least_lost) as l on p.middle <= l.ts_end
left join stalled as s on s.gap_id = p.gap_id and s.cause = p.cause
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.cpu_slice_id
where p.middle >= l.ts
