-- Time in which the device has nothing to do because a call held the host until it had none: the end of that call, and what the host had
-- to catch up on after it. `kind` tells calls apart: item (a value is read), shape (a size is), explicit (asked for as such).
with recursive
-- a gap that the start of a step cuts goes on
gap as (
    select
        gap_id,
        ts,
        coalesce(drained_by, case when ts = lag(ts_end) over by_time then lag(drained_by) over by_time end) as drained_by
    from idle_gap
    where trace_id = $trace_id and device = $device
    window by_time as (order by ts)
),

piece as (
    select
        p.*,
        if(p.cause = 'idle_sync', p.cpu_slice_id, g.drained_by) as call_id,
        -- when the device ran dry
        case when p.cause <> 'idle_sync' or p.cpu_slice_id = g.drained_by then min(g.ts) over (partition by g.drained_by) end as drained
    from idle_piece as p
    inner join gap as g using (gap_id)
    where
        p.trace_id = $trace_id
        and p.device = $device
        and (
            p.cause = 'idle_sync'
            or (
                (
                    p.cause in ('idle_launch', 'idle_python', 'idle_launch_latency', 'idle_os')
                    -- what is long has a cause of its own, though nobody recorded it
                    or (p.cause = 'idle_unattributed' and p.dur <= $right_after)
                )
                and g.drained_by is not null
                and p.next_slice_id is not null
            )
        )
),

call as (
    select slice_id, kind, thread_id, ts, name, operator_id, annotation_id, phase_id
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select call_id from piece)
),

-- the call and the operators around it, from inside to outside; nsys has operators as ranges
around (call_id, slice_id, level, name, is_operator) as (
    select slice_id, coalesce(operator_id, annotation_id), 0, name, kind = 'op' or contains(name, ', op_id = ')
    from call
    union all
    select a.call_id, coalesce(c.operator_id, c.annotation_id), a.level + 1, c.name, c.kind = 'op' or contains(c.name, ', op_id = ')
    from around as a
    inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = a.slice_id
    where a.level < 6
),

operator as (
    select
        call_id,
        max_by(regexp_replace(name, ',( seq = \d+,)? op_id = .*$', ''), level) filter (is_operator) as operator,
        bool_or(regexp_matches(name, '^aten::(item|_local_scalar_dense|is_nonzero)(,|$)')) as is_item,
        bool_or(regexp_matches(name, '^aten::(nonzero\w*|masked_select|_?unique\w*|repeat_interleave|argwhere|bincount)(,|$)')) as is_shape
    from around
    group by call_id
),

copy as (
    select c.slice_id, c.thread_id, c.ts, c.ts_end, c.operator_id, o.copy_kind, max(o.bytes) as bytes
    from copy_overlap as o
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join cpu_slice as c on c.trace_id = o.trace_id and c.slice_id = g.launch_id
    where o.trace_id = $trace_id
    group by all
),

-- a call that waits is that of a copy, or comes right after one
copied as (
    select c.slice_id, k.copy_kind, k.bytes
    from call as c
    asof inner join copy as k on k.thread_id = c.thread_id and c.ts >= k.ts
    where c.ts - k.ts_end <= $right_after or c.operator_id = k.operator_id
),

meant as (
    select
        c.slice_id as call_id,
        c.ts,
        c.name,
        o.operator,
        regexp_replace(if(a.name = o.operator or contains(a.name, ', op_id = '), null, a.name), '\d+', '#', 'g') as annotation,
        h.phase,
        case
            when o.is_shape then 'shape'
            when o.is_item or (k.copy_kind = 'd2h' and k.bytes <= if(o.operator is null, $few_bytes, $small_bytes)) then 'item'
            when k.slice_id is null and c.kind = 'runtime' and o.operator is null then 'explicit'
        end as kind
    from call as c
    left join operator as o on o.call_id = c.slice_id
    left join copied as k using (slice_id)
    left join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = c.annotation_id
    left join cpu_slice as p on p.trace_id = $trace_id and p.slice_id = c.phase_id
    left join host_name as h on h.trace_id = $trace_id and h.kind = p.kind and h.name = p.name
),

waiting as (
    select
        p.*,
        m.name,
        m.operator,
        m.annotation,
        m.phase,
        p.drained - m.ts as waited,
        coalesce(sum(p.dur) filter (p.cause <> 'idle_sync') over earlier, 0) as before
    from piece as p
    inner join meant as m using (call_id)
    where m.kind = $kind
    window earlier as (partition by p.call_id order by p.ts, p.cause rows between unbounded preceding and 1 preceding)
)

select
    step,
    ts,
    dur,
    name,
    call_id as slice_id,
    -- without the call the host would be ahead by as long as it waited, not longer
    if(cause = 'idle_sync', dur, greatest(0, least(dur, coalesce(waited, 0) - before))) as claimed,
    cause,
    gap_id,
    'idle_sync' as scenario,
    operator,
    annotation,
    phase,
    waited as waited_ns
from waiting
