-- Kernels of the same name, grid and block that take longer the later they run, most of them by about as much: the clock went down. What
-- the later thirds of the counted steps take above the medians of the first.
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
    from busy_piece as b
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join kernel_occupancy as k using (trace_id, slice_id)
    inner join third as t on t.step = b.step
    where
        b.trace_id = $trace_id
        and b.device = $device
        and b.category = 'compute'
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
