-- Idle time after kernels whose launching calls had waited for them. Without that wait the host would go on while kernels run, so
-- no more of the host's time can be hidden than kernels ran.
-- title: Launches wait for their kernels
-- finds: Launch calls that return only after their own kernel has ended, for most kernels: CUDA_LAUNCH_BLOCKING is on, or a
--   debugging tool does the same.
-- matters: The host prepares the next kernel only after the last one has ended, so the GPU is idle after every
--   kernel.
-- measured: A kernel counts when the call in cpu_slice that launched it ends at or after the kernel's own end. The rule applies
--   when that holds for more than half of the kernels (share 0.5: without the setting it is below 2 % in every trace we know),
--   of at least 20 kernels (fewer show no pattern). Claimed are the pieces idle_launch, idle_python, idle_cpu, idle_sync and
--   idle_launch_latency in the gaps that begin where such a kernel ends (idle_piece). Once launches do not wait, host work
--   hides behind kernels, so the claim in a step is at most the time of those kernels. Low 0.5, likely 1, high 1: waits that
--   the program itself asks for remain.
-- try: Unset CUDA_LAUNCH_BLOCKING (on AMD HIP_LAUNCH_BLOCKING and AMD_SERIALIZE_KERNEL) in the environment of training, and run
--   without compute-sanitizer or cuda-gdb. Set it only to find the kernel behind an error.
-- references: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html
--   https://docs.pytorch.org/docs/stable/notes/cuda.html
-- fix: {{ remedy('blocking_launches') }} Of {{ plural(worst.kernels, 'kernel') }}, {{ '{:,}'.format(worst.blocking_kernels) }}
--   had already ended when the call that launched them returned.
-- confidence: high
-- reason: The calls return after their kernels have ended, which launches normally do not do.
-- wrong-if: The variable is not set and no debugger or sanitizer runs: then the clocks of host and GPU disagree.
-- heading: Do not wait for each kernel: launches block
-- needs: gpu, steps, launches
-- low: 0.5
-- likely: 1.0
-- threshold: share = 0.5: with the setting every launch waits for its kernel, without it only where the program asks
--   for it: half lies between
-- threshold: kernels = 20: fewer say nothing of a habit
-- uses: idle, counted
-- categories: idle_cpu, idle_launch, idle_launch_latency, idle_python, idle_sync
with
kernel as (
    select g.step, g.dur, g.ts_end, c.slice_id, c.name, c.ts_end >= g.ts_end as is_blocking
    from gpu_slice as g
    inner join counted using (step)
    inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where g.trace_id = $trace_id and g.device = $device and g.kind = 'kernel'
),

habit as (
    select count(*) as kernels, count(*) filter (is_blocking) as blocking_kernels
    from kernel
),

awaited as (
    select step, sum(dur) as dur
    from kernel
    where is_blocking
    group by step
),

-- gaps that begin where such a kernel ends
gap as materialized (
    select g.gap_id, k.slice_id, k.name
    from idle_gap as g
    inner join (
        select ts_end, any_value(slice_id) as slice_id, any_value(name) as name
        from kernel
        where is_blocking
        group by ts_end
    ) as k on k.ts_end = g.ts
    where g.trace_id = $trace_id and exists (from habit where kernels >= $kernels and blocking_kernels > $share * kernels)
),

piece as (
    select p.step, p.ts, p.dur, p.cause, p.gap_id, g.slice_id, g.name, sum(p.dur) over (partition by p.step) as idle_dur
    from idle as p
    inner join gap as g using (gap_id)
    where p.cause in ('idle_launch', 'idle_python', 'idle_cpu', 'idle_sync', 'idle_launch_latency')
)

select
    p.step, p.ts, p.dur, p.name, p.slice_id,
    p.dur * least(1, a.dur / p.idle_dur) * _above(h.blocking_kernels / h.kernels, $share) as claimed,
    p.cause, p.gap_id, h.kernels, h.blocking_kernels
from piece as p
inner join awaited as a using (step)
cross join habit as h
