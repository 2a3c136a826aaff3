-- Kernels of the same name, grid and block that take longer in some steps than in the fastest, most of them by about as much: the clock
-- was lower then. What they take above their medians of the fastest third of the steps.
-- title: All kernels are slower in some steps
-- finds: Steps in which the same kernels take longer than in the fastest steps, most of them by about the same factor: the
--   GPU's clock was lower because of heat or power, or something else used the GPU.
-- matters: A GPU that is too hot or at its power limit computes more slowly, and a job on many GPUs is only as fast as the
--   slowest of them. It also makes captures of different lengths differ.
-- measured: Kernels of the same name, grid, block and shared memory (and tokens of a server's step), of at least 5 us that
--   nothing overlaps, at least 3 in the fastest third of the counted steps, and of similar duration (0.9 quantile below twice
--   the 0.1 quantile; otherwise they do different work); no embeddings, indexing or sorting, whose time depends on data. The
--   speed of a step is the medians of its kernels relative to their medians over all steps. A step is slow if at least 3
--   kernels can be compared with the fastest third, take 10 % longer in all, and those with 70 % of that time take at least 5 %
--   longer. The claim is what they take beyond the medians of the fastest third. Shares: 0.3 low, 1 likely, 1 high.
-- try: nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,POWER while the program runs shows the reason. Better cooling, a higher
--   power limit (nvidia-smi -pl); locked clocks (nvidia-smi -lgc) for comparisons.
-- references: https://docs.nvidia.com/deploy/nvidia-smi/index.html
-- fix: {{ remedy('clocks') }} In {{ worst.slow_steps }} of {{ plural(steps, 'step') }} the same kernels take up to {{
--   percent(worst.drift_share) }} longer than in the fastest steps. At the speed of the fastest steps, each step would compute
--   for {{ time(claimed_ns) }} less.
-- confidence: medium
-- reason: {{ percent(worst.slower_share) }} of the compared time slowed down by a similar factor; the clocks themselves were
--   not recorded.
-- wrong-if: The clocks stay the same during the run: then the work itself grows, or something else uses the GPU.
-- heading: Keep the GPU's clock up: all kernels are slower in some steps
-- needs: gpu, steps, several_steps, kernel_geometry
-- captures: host_only, steps, window
-- low: 0.3
-- threshold: shortest = 5000: a kernel's start and end take a few us, which clocks do not stretch
-- threshold: each = 3: the median of three leaves one outlier out
-- threshold: kernels = 3: a lower clock is seen in all kernels; one or two may have reasons of their own
-- threshold: least = 0.1: boost clocks move by up to about 5 % with temperature; a tenth is a limit of power or heat
--   (NVIDIA: clocks event reasons)
-- threshold: most_of_it = 0.7: clocks slow all kernels, not some: most of the time has to agree
-- uses: busy
-- categories: compute
with
kernel as (
    select
        b.step, b.ts, b.dur, b.name, b.slice_id,
        b.ledger_dur,
        hash(b.name, g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z, g.shared_memory, s.kind, s.new_tokens) as kernel
    from busy as b
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join kernel_occupancy as k using (trace_id, slice_id)
    left join serving_step as s on s.trace_id = $trace_id and s.step = b.step
    where
        b.category = 'compute'
        and g.kind = 'kernel'
        and g.grid_x is not null
        and b.dur >= $shortest
        -- neither slowed by work beside it, nor as long as its data want
        and b.ledger_dur >= 0.99 * b.dur
        and k.family not in ('embedding', 'index', 'scan_sort')
),

same_work as (
    select kernel, median(dur) as usual
    from kernel
    group by kernel
    having quantile_cont(dur, 0.9) < 2 * quantile_cont(dur, 0.1)
),

in_step as (
    select k.step, k.kernel, count(*) as launches, sum(k.dur) as dur, median(k.dur) as typical, any_value(w.usual) as usual
    from kernel as k
    inner join same_work as w using (kernel)
    group by k.step, k.kernel
),

fastest as (
    select step
    from (
        select step, ntile(3) over (order by sum(dur * typical / usual) / sum(dur), step) as third
        from in_step
        group by step
    )
    where third = 1
),

reference as (
    select kernel, median(dur) as fast_dur
    from kernel
    where step in (from fastest) and kernel in (select kernel from same_work)
    group by kernel
    having count(*) >= $each
),

slow as (
    select
        i.step,
        sum(i.dur) / sum(i.dur * r.fast_dur / i.typical) - 1 as drift,
        sum(i.dur) filter (i.typical > (1 + $least / 2) * r.fast_dur) / sum(i.dur) as slower_share
    from in_step as i
    inner join reference as r using (kernel)
    where i.step not in (from fastest)
    group by i.step
    having drift >= $least and slower_share >= $most_of_it and count(*) >= $kernels
)

select
    k.step, k.ts, k.dur, k.name, k.slice_id,
    k.ledger_dur * (1 - r.fast_dur / k.dur) as claimed,
    'compute' as cause, k.slice_id as busy_id, r.fast_dur as fast_ns, s.drift as drift_share, s.slower_share,
    (select count(*) from slow) as slow_steps
from kernel as k
inner join reference as r using (kernel)
inner join slow as s using (step)
where k.dur > r.fast_dur
