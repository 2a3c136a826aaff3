-- What the host is busy with in each of its slices, and in which phase: the outermost context around a slice decides, else its
-- name, else its kind. An OS call inside an API call is how that call works (ioctl in cudaMalloc). An asynchronous copy of
-- pageable memory is none: its call returns when the copy is done.
-- reads: _phase_interval
-- makes: _host_slice

-- Numbers under their names: as text they would be most of what the tables of every instant of the host hold.
create temp type if not exists host_activity as enum (
    'none', 'data', 'checkpoint', 'compile', 'synchronization', 'allocation', 'communication', 'launch', 'operator', 'annotation',
    'python', 'os', 'runtime', 'profiler', 'other', 'cpu', 'off'
);

create temp table _host_slice as
with
-- Cast here, where there are few: slices are many.
meaning as (
    select kind, name, context::host_activity as context, phase::host_phase as phase, activity::host_activity as activity
    from host_name
),

around as (
    select c.slice_id, m.context, m.phase
    from cpu_slice as c
    inner join meaning as m using (kind, name)
    where m.context is not null or m.phase is not null
),

pass as (
    select c.slice_id, p.phase
    from (
        select slice_id, thread_id, ts, ts_end
        from cpu_slice
        where phase_id is null and thread_id in (select thread_id from _phase_interval)
    ) as c
    asof inner join _phase_interval as p on p.thread_id = c.thread_id and c.ts >= p.ts
    where c.ts_end <= p.ts_end
),

waiting_copy as (
    select distinct launch_id as slice_id
    from gpu_slice
    where launch_id is not null and kind = 'memcpy' and 'pageable' in (src_memory, dst_memory)
),

-- Only the calls that OS calls are inside: joined to all slices, all calls would take more memory than all the rest.
caller as (
    select
        c.slice_id,
        if(w.slice_id is not null, 'synchronization'::host_activity, coalesce(m.activity, 'launch'::host_activity)) as activity
    from cpu_slice as c
    left join meaning as m using (kind, name)
    left join waiting_copy as w using (slice_id)
    where c.kind = 'runtime' and c.slice_id in (select parent_id from cpu_slice where kind = 'os')
),

known as (
    select
        c.slice_id, c.kind, c.name,
        coalesce(context.context, own.context) as context,
        coalesce(own.phase, phase.phase, pass.phase, 'other'::host_phase) as phase,
        if(w.slice_id is not null, 'synchronization'::host_activity, coalesce(caller.activity, own.activity)) as activity,
        -- the call or operator that says so
        if(caller.slice_id is not null, c.parent_id, c.slice_id) as acting_id
    from cpu_slice as c
    left join meaning as own on own.kind = c.kind and own.name = c.name
    left join around as context on context.slice_id = c.context_id
    left join around as phase on phase.slice_id = c.phase_id
    left join pass on pass.slice_id = c.slice_id
    left join waiting_copy as w on c.kind = 'runtime' and w.slice_id = c.slice_id
    left join caller on c.kind = 'os' and caller.slice_id = c.parent_id
)

select
    slice_id,
    coalesce(
        context,
        activity,
        case kind
            when 'op' then 'operator'::host_activity
            when 'runtime' then 'launch'::host_activity
            when 'annotation' then 'annotation'::host_activity
            when 'python' then 'python'::host_activity
            when 'os' then 'os'::host_activity
            -- not of the profiler: the driver's queue is full, and a launch waits for room in it
            when 'overhead' then if(name = 'Command Buffer Full', 'launch'::host_activity, 'profiler'::host_activity)
            else 'other'::host_activity
        end
    ) as activity,
    phase,
    -- the call or operator in which the host waits for a device, whatever the context
    if(activity = 'synchronization'::host_activity, acting_id, null) as synchronizing_id
from known;
