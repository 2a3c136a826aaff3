-- Small copies between host and device, of which a step makes many: their own time, and what asking for them costs where the GPU waits
-- for just that.
-- uses: idle, counted_copy
-- categories: idle_launch, idle_launch_latency, idle_python
with
copy as (
    select c.slice_id, c.step, c.ts, c.dur, c.name, c.direction, c.bytes, c.bandwidth, c.category, c.exposed
    from counted_copy as c
    where
        c.copy_kind in ('h2d', 'd2h')
        and c.bytes < $small_bytes
        and coalesce(c.position, 'other') not in ('item', 'checkpoint')
    qualify count(*) over (partition by c.step, c.direction) >= $many
),

-- Of the wait before a copy no more than it takes to ask for one.
wait as (
    select
        p.step,
        p.ts,
        p.dur,
        c.name,
        c.slice_id,
        least(p.dur, greatest(0, $ask_ns - coalesce(sum(p.dur) over earlier, 0))) as claimed,
        p.cause,
        p.gap_id
    from idle as p
    inner join copy as c on c.slice_id = p.next_slice_id
    where p.cause in ('idle_launch', 'idle_python', 'idle_launch_latency')
    window earlier as (
        partition by p.gap_id order by p.cause rows between unbounded preceding and 1 preceding
    )
)

select
    step,
    ts,
    dur,
    name,
    slice_id,
    exposed as claimed,
    category as cause,
    null as gap_id,
    slice_id as busy_id,
    direction,
    bytes,
    bandwidth
from copy
where exposed > 0
union all
select step, ts, dur, name, slice_id, claimed, cause, gap_id, null as busy_id, null, null, null
from wait
where claimed > 0
