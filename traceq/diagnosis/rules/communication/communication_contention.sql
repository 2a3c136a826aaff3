-- Kernels that take longer with communication beside them than the same kernels alone, and how much longer.
-- title: Kernels are slowed down by concurrent communication
-- finds: Kernels that take longer while communication runs on the GPU than when they run alone.
-- matters: NCCL's kernels occupy multiprocessors and memory bandwidth the whole time they wait and send. Kernels that
--   run at the same time get the rest; a matrix product tuned for all multiprocessors may need another wave.
-- measured: Kernels of at least 20 us with the same name, grid, block, shared memory, operator and phase in the
--   counted steps, at least 10 that overlap communication for 90 % of their time and 10 that overlap none
--   (device_activity). They count if those that run alone agree (90th percentile at most 1.2 times the 10th;
--   otherwise they do different work) and the medians differ by more than 10 %. The claim is the time beyond the
--   median of those alone. low 0, likely 0.3, high 0.8: some of it is the price of overlap, and overlap is worth
--   more.
-- try: Give NCCL fewer multiprocessors, or let copy engines and the network move the data.
-- references: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
--   https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/types.html
-- fix: {{ remedy('fewer_channels') }} {{ cut(worst.name) }} takes {{ time(worst.alone_ns) }} alone and {{
--   time(worst.accompanied_ns) }} during communication (medians).
-- confidence: low
-- reason: The same kernels with the same geometry are compared, but they may do different work at different places in
--   the step.
-- wrong-if: These kernels differ in what they compute (in sizes that the grid does not show), not in what runs at the
--   same time.
-- heading: Let communication take fewer multiprocessors from kernels
-- needs: gpu, steps, kernel_geometry
-- about: communication
-- low: 0.0
-- likely: 0.3
-- high: 0.8
-- threshold: shortest = 20000: shorter kernels are mostly start and end (about 5 us of either), which communication
--   beside them does not change
-- threshold: fewest = 10: a median and the outer tenths of a sample need at least ten of it
-- threshold: steady = 0.2: kernels of one name and geometry that do equal work differ by clocks and caches, by less
--   than a fifth; more is different work
-- threshold: slower = 0.1: half of what `steady` lets pass as usual: the medians of many lie closer together than
--   single kernels
-- uses: busy
-- categories: compute
with
talk as (
    select ts, dur, sum(dur) over (order by ts rows unbounded preceding) - dur as before
    from device_activity
    where trace_id = $trace_id and device = $device and communication > 0
),

kernel as (
    select
        b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, g.ts_end,
        hash(b.name, g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z, g.shared_memory, p.phase, c.name) as same
    from busy as b
    inner join gpu_slice as g on g.trace_id = b.trace_id and g.slice_id = b.slice_id
    left join launch_state as p on p.trace_id = b.trace_id and p.slice_id = b.slice_id
    left join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    left join cpu_slice as c on c.trace_id = b.trace_id and c.slice_id = l.operator_id
    where
        b.category = 'compute'
        and g.kind = 'kernel'
        and g.grid_x is not null
        and b.dur >= $shortest
        and exists (select 1 from talk)
),

beside as (
    select
        k.*,
        -- cumulative communication at the end less that at the start
        coalesce(e.before + least(k.ts_end - e.ts, e.dur), 0) - coalesce(s.before + least(k.ts - s.ts, s.dur), 0) as talked
    from kernel as k
    asof left join talk as s on k.ts >= s.ts
    asof left join talk as e on k.ts_end >= e.ts
),

class as (
    select
        same,
        median(dur) filter (talked = 0) as alone,
        median(dur) filter (talked >= 0.9 * dur) as accompanied,
        accompanied / alone - 1 as slower,
        quantile_cont(dur, 0.9) filter (talked = 0) / quantile_cont(dur, 0.1) filter (talked = 0) - 1 as spread
    from beside
    group by same
    having
        count(*) filter (talked = 0) >= $fewest
        and count(*) filter (talked >= 0.9 * dur) >= $fewest
        -- alone, all take the same time: else the kernel does different work from call to call
        and spread <= $steady
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    (b.dur - c.alone) * b.ledger_dur / b.dur * _above(c.slower, $slower) * _below(c.spread, $steady) as claimed,
    'compute' as cause, b.slice_id as busy_id, c.alone as alone_ns, c.accompanied as accompanied_ns
from beside as b
inner join class as c on c.same = b.same
where c.slower > $slower and b.talked >= 0.9 * b.dur and b.dur > c.alone
