-- Idle time in calls that allocate, release or map memory of the device (`kind` memory) or pin memory of the host (`kind` pin).
-- uses: idle
-- categories: idle_allocation
with
operation as (
    select distinct name, if(operation in ('pin', 'unpin'), 'pin', 'memory') as kind
    from allocator_call
    where trace_id = $trace_id
),

piece as (
    select p.step, p.ts, k.dur, p.cause, p.gap_id, c.slice_id, c.name, c.parent_id, c.operator_id
    from idle as p
    inner join idle_culprit as k using (trace_id, gap_id, cause)
    inner join cpu_slice as c on c.trace_id = k.trace_id and c.slice_id = k.slice_id
    where p.cause = 'idle_allocation'
)

-- calls of the driver or the operating system within a call that allocates are how that works
select
    p.step, p.ts, p.dur,
    coalesce(outermost.name, outer_call.name, p.name) as name,
    p.slice_id, p.dur as claimed, p.cause, p.gap_id, op.name as operator
from piece as p
left join cpu_slice as c1 on c1.trace_id = $trace_id and c1.slice_id = p.parent_id
left join cpu_slice as c2 on c2.trace_id = $trace_id and c2.slice_id = c1.parent_id
left join operation as own on own.name = p.name
left join operation as outer_call on outer_call.name = c1.name
left join operation as outermost on outermost.name = c2.name
left join cpu_slice as op on op.trace_id = $trace_id and op.slice_id = p.operator_id
where coalesce(outermost.kind, outer_call.kind, own.kind) = $kind
