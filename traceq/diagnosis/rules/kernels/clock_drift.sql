-- Kernels of the same name, grid and block that take longer the later they run, most of them by about as much: the clock went down. What
-- the later thirds of the counted steps take above the medians of the first.
-- title: Kernels slow down over the trace
-- finds: The same kernels take longer in the last third of the steps than in the first, most of them by about as
--   much: the clock of the GPU went down, for heat or power.
-- matters: A GPU that is too hot or at its limit of power computes more slowly the longer a job runs, and a job of
--   many GPUs is as fast as the slowest of them. It also makes captures of different lengths differ.
-- measured: Kernels of the same name, grid, block and shared memory, of at least 5 us and with nothing beside them,
--   at least 3 in each of the first and last third of the counted steps and not of very different durations (0.9
--   quantile below twice the 0.1 quantile: those are different work); no embeddings, indexing or sorting, whose
--   time depends on data. Found if at least 3 kernels are compared, medians rise by 10 % over the time of all, and
--   70 % of that time rises by 5 % or more. Claimed is what later kernels take above the medians of the first
--   third. Shares: 0.3 low, 1 likely, 1 high.
-- try: nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,POWER while it runs tells the reason. Better cooling, a
--   higher limit of power (nvidia-smi -pl); locked clocks (nvidia-smi -lgc) for comparisons.
-- references: https://docs.nvidia.com/deploy/nvidia-smi/index.html
-- fix: The same kernels take {{ percent(worst.drift_share) }} longer at the end of the trace than at its start. {{
--   remedy('clocks') }} At the first speed each step would compute {{ time(claimed_ns) }} less.
-- confidence: medium
-- reason: {{ percent(worst.slower_share) }} of the compared time slowed down alike; clocks themselves were not
--   recorded.
-- wrong-if: Clocks stay the same while it runs: then the work itself grows, or something else uses the GPU.
-- heading: Keep the clock up: kernels slow down over the trace
-- needs: gpu, steps, several_steps, kernel_geometry
-- low: 0.3
-- threshold: shortest = 5000: a kernel's start and end take a few us, which clocks do not stretch
-- threshold: each = 3: the median of three leaves one outlier out
-- threshold: kernels = 3: a drift of the clock is seen in all kernels; one or two may have reasons of their own
-- threshold: least = 0.1: boost clocks move by up to about 5 % with temperature; a tenth is a limit of power or heat
--   (NVIDIA: clocks event reasons)
-- threshold: most_of_it = 0.7: clocks slow all kernels, not some: most of the time has to agree
-- uses: busy
-- categories: compute
with
third as (
    select step, ntile(3) over (order by step) as third
    from step
    where trace_id = $trace_id and excluded is null
),

kernel as (
    select
        b.step,
        b.ts,
        b.dur,
        b.name,
        b.slice_id,
        b.ledger_dur,
        t.third,
        hash(b.name, g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z, g.shared_memory) as kernel
    from busy as b
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join kernel_occupancy as k using (trace_id, slice_id)
    inner join third as t on t.step = b.step
    where
        b.category = 'compute'
        and g.kind = 'kernel'
        and g.grid_x is not null
        and b.dur >= $shortest
        -- neither slowed by work beside it, nor as long as its data want
        and b.ledger_dur >= 0.99 * b.dur
        and k.family not in ('embedding', 'index', 'scan_sort')
),

typical as (
    select
        kernel,
        median(dur) filter (third = 1) as first_dur,
        median(dur) filter (third = 3) as last_dur,
        sum(dur) as dur
    from kernel
    group by kernel
    having
        count(*) filter (third = 1) >= $each
        and count(*) filter (third = 3) >= $each
        and quantile_cont(dur, 0.9) < 2 * quantile_cont(dur, 0.1)
),

overall as (
    select
        sum(dur * last_dur / first_dur) / sum(dur) - 1 as drift,
        sum(dur) filter (last_dur > (1 + $least / 2) * first_dur) / sum(dur) as slower_share,
        count(*) as kernels
    from typical
)

select
    k.step,
    k.ts,
    k.dur,
    k.name,
    k.slice_id,
    k.ledger_dur * (1 - t.first_dur / k.dur) as claimed,
    'compute' as cause,
    k.slice_id as busy_id,
    t.first_dur as first_ns,
    t.last_dur as last_ns,
    o.drift as drift_share,
    o.slower_share
from kernel as k
inner join typical as t using (kernel)
cross join overall as o
where
    k.third > 1
    and k.dur > t.first_dur
    and t.last_dur > (1 + $least / 2) * t.first_dur
    and o.drift >= $least
    and o.slower_share >= $most_of_it
    and o.kernels >= $kernels
