-- Time in which the device has nothing to do because a call held the host until it had none, by what the call is for (`meant`): item (a
-- value is read), shape (a size is), explicit (asked for as such). A copy to the host of up to 64 bytes, a cache line, is a value that
-- is read; of up to 4 KiB, a page, where an operator around it shows that it is a tensor of PyTorch. A call that waits and follows
-- a copy from or to the host on its thread within 20 us, the host's way from one call to the next, belongs to it.
-- uses: idle, drained_gap
with recursive
piece as (
    select *, cpu_slice_id as call_id, dur as claimed
    from idle
    where cause = 'idle_sync'
    union all
    select p.*, w.call_id, p.dur * w.share
    from idle as p
    inner join drained_gap as w using (gap_id)
    where
        p.next_slice_id is not null
        and (
            p.cause in ('idle_launch', 'idle_python', 'idle_os')
            or (p.cause = 'idle_launch_latency' and p.dur < $queued_ns)
            -- what is long has a cause of its own, though nobody recorded it
            or (p.cause in ('idle_unattributed', 'idle_cpu') and p.dur <= 20000)
        )
),

call as materialized (
    select
        slice_id,
        coalesce(operator_id, annotation_id) as around_id,
        kind, thread_id, ts, name, operator_id, annotation_id, phase_id,
        regexp_matches(name, '^(cuda|hip)DeviceSynchronize|^cuCtxSynchronize') as waits_for_device
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select call_id from piece)
),

-- What is around calls, by ids: `in` and not a join, of which DuckDB would hold all slices of the host.
outer_range (slice_id, around_id) as (
    select slice_id, around_id
    from call
    union
    select slice_id, coalesce(operator_id, annotation_id)
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select around_id from outer_range limit 3000000)
),

outer_name as materialized (
    select slice_id, kind, name
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select slice_id from outer_range limit 3000000)
),

-- the call and what is around it, from inside to outside
around (call_id, slice_id, around_id, level) as (
    select slice_id, slice_id, around_id, 0
    from call
    union all
    select a.call_id, r.slice_id, r.around_id, a.level + 1
    from around as a
    inner join outer_range as r on r.slice_id = a.around_id
    where a.level < 6
),

operator as (
    select
        call_id,
        max_by(name, level) filter (n.kind = 'op') as operator,
        bool_or(regexp_matches(name, '^aten::(item|_local_scalar_dense|is_nonzero)$')) as is_item,
        bool_or(regexp_matches(name, '^aten::(nonzero\w*|masked_select|_?unique\w*|repeat_interleave|argwhere|bincount)$')) as is_shape
    from around as a
    inner join outer_name as n on n.slice_id = a.slice_id
    group by call_id
),

copy as (
    select c.slice_id, c.thread_id, c.ts, c.ts_end, c.operator_id, o.copy_kind, max(o.bytes) as bytes
    from copy_overlap as o
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join cpu_slice as c on c.trace_id = o.trace_id and c.slice_id = g.launch_id
    where o.trace_id = $trace_id and o.copy_kind in ('h2d', 'd2h')
    group by all
),

-- A call that waits is that of a copy, or comes right after one. One that waits for all of a device is made for no copy, and
-- no operator of PyTorch needs it.
copied as (
    select c.slice_id, k.copy_kind, k.bytes
    from call as c
    asof inner join copy as k on k.thread_id = c.thread_id and c.ts >= k.ts
    where
        (c.ts - k.ts_end <= 20000 or c.operator_id = k.operator_id)
        and not c.waits_for_device
),

named as materialized (
    select slice_id, kind, name
    from cpu_slice
    where trace_id = $trace_id and slice_id in (select annotation_id from call union select phase_id from call)
),

meant as (
    select
        c.slice_id as call_id, c.ts, c.name, o.operator,
        regexp_replace(nullif(a.name, o.operator), '\d+', '#', 'g') as annotation,
        h.phase,
        case
            when o.is_shape then 'shape'
            when o.is_item or (k.copy_kind = 'd2h' and k.bytes <= if(o.operator is null, 64, 4096)) then 'item'
            when k.slice_id is null and c.kind = 'runtime' and (o.operator is null or c.waits_for_device) then 'explicit'
        end as kind
    from call as c
    left join operator as o on o.call_id = c.slice_id
    left join copied as k using (slice_id)
    left join named as a on a.slice_id = c.annotation_id
    left join named as p on p.slice_id = c.phase_id
    left join host_name as h on h.trace_id = $trace_id and h.kind = p.kind and h.name = p.name
),

-- when the device ran dry
dry as (
    select drained_by as call_id, min(ts) as ts
    from idle_gap
    where trace_id = $trace_id and device = $device and drained_by is not null
    group by drained_by
)

select
    p.step, p.ts, p.dur, p.claimed, p.cause, p.gap_id,
    p.call_id, m.name, m.operator, m.annotation, m.phase, m.kind as meant,
    d.ts - m.ts as waited
from piece as p
inner join meant as m using (call_id)
left join dry as d using (call_id)
where m.kind is not null
