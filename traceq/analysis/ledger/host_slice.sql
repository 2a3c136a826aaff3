-- What the host is busy with in each of its slices, and in which phase: the outermost context around a slice decides, else its
-- name, else its kind. An OS call inside an API call is how that call works (ioctl in cudaMalloc). An asynchronous copy of
-- pageable memory is none: its call returns when the copy is done.

-- Numbers under their names: as text they would be most of what the tables of every instant of the host hold.
create temp type if not exists host_activity as enum (
    'none', 'data', 'checkpoint', 'compile', 'synchronization', 'allocation', 'communication', 'launch', 'operator', 'annotation',
    'python', 'os', 'runtime', 'profiler', 'other', 'cpu', 'off'
);

create temp table _host_slice as
with
meaning as (
    select c.slice_id, h.context, h.phase, h.activity
    from cpu_slice as c
    inner join host_name as h on h.kind = c.kind and h.name = c.name
),

waiting_copy as (
    select distinct launch_id as slice_id
    from gpu_slice
    where launch_id is not null and kind = 'memcpy' and 'pageable' in (src_memory, dst_memory)
),

call as (
    select
        c.slice_id,
        case when w.slice_id is not null then 'synchronization' else coalesce(m.activity, 'launch') end as activity
    from cpu_slice as c
    left join meaning as m using (slice_id)
    left join waiting_copy as w using (slice_id)
    where c.kind = 'runtime'
)

select
    c.slice_id,
    coalesce(context.context, own.context, call.activity, caller.activity, own.activity, kind.activity)::host_activity as activity,
    coalesce(own.phase, phase.phase, if(c.ts_end <= pass.ts_end, pass.phase, null), 'other')::host_phase as phase,
    -- the call or operator in which the host waits for a device, whatever the context
    case 'synchronization'
        when coalesce(call.activity, own.activity) then c.slice_id
        when caller.activity then c.parent_id
    end as synchronizing_id
from cpu_slice as c
cross join lateral (
    select case
        when c.kind = 'op' then 'operator'
        -- not of the profiler: the driver's queue is full, and a launch waits for room in it
        when c.kind = 'overhead' and c.name = 'Command Buffer Full' then 'launch'
        when c.kind = 'overhead' then 'profiler'
        else c.kind
    end as activity
) as kind
left join meaning as own on own.slice_id = c.slice_id
left join meaning as context on context.slice_id = c.context_id
left join meaning as phase on phase.slice_id = c.phase_id
asof left join _phase_interval as pass on pass.thread_id = c.thread_id and c.ts >= pass.ts
left join call on call.slice_id = c.slice_id
left join call as caller on c.kind = 'os' and caller.slice_id = c.parent_id;
