-- The same kernel on the same work, which takes much longer now and then. The same work: the n-th launch of a name and
-- geometry in each step, where all steps launch it equally often.
with
kernel as (
    select
        b.step,
        b.ts,
        b.dur,
        b.slice_id,
        b.ledger_dur,
        hash(b.name, g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z, g.shared_memory, b.stream) as kernel
    from busy_piece as b
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join kernel_occupancy as k using (trace_id, slice_id)
    where
        b.trace_id = $trace_id
        and b.device = $device
        and b.category = 'compute'
        and g.kind = 'kernel'
        and g.grid_x is not null
        and b.ledger_dur >= 0.99 * b.dur
        and k.family not in ('embedding', 'index', 'scan_sort', 'unknown')
),

counted as (
    select kernel
    from (
        select kernel, step, count(*) as launches
        from kernel
        group by kernel, step
    )
    group by kernel
    having
        count(*) = (select count(*) from step where trace_id = $trace_id and excluded is null)
        and min(launches) = max(launches)
        and sum(launches) >= $instances
),

placed as (
    select k.*, row_number() over (partition by k.kernel, k.step order by k.ts, k.slice_id) as place
    from kernel as k
    inner join counted as c using (kernel)
),

usual as (
    select *, median(dur) over (partition by kernel, place) as usual_dur
    from placed
)

select
    u.step,
    u.ts,
    u.dur,
    g.name,
    u.slice_id,
    u.ledger_dur * (1 - u.usual_dur / u.dur) as claimed,
    'compute' as cause,
    u.slice_id as busy_id,
    u.usual_dur as usual_ns,
    u.dur / u.usual_dur as times
from usual as u
inner join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = u.slice_id
where u.dur > $above * u.usual_dur and u.dur - u.usual_dur > $least_ns
