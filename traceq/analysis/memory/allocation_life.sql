-- _life: allocations from the history, and those older than it from the state at its end; _memory_state: what was allocated,
-- active and reserved after each event.
-- Running sums, not counts with a filter: DuckDB's window takes quadratic time for those.
-- makes: _life, _memory_state

create or replace temp table _life as
with
touched as (
    select
        device, number, action, ts, address, bytes, stream, stack_id, compile_context,
        (sum((action = 'alloc')::integer) over (partition by device, address order by number rows unbounded preceding))::bigint as life
    from allocator_event
    where action in ('alloc', 'free_requested', 'free_completed')
),

lived as (
    select
        device, address, life,
        arg_min(bytes, number) as requested_bytes,
        arg_min(stream, number) as stream,
        any_value(number) filter (action = 'alloc') as event,
        any_value(ts) filter (action = 'alloc') as ts,
        any_value(stack_id) filter (action = 'alloc') as stack_id,
        any_value(compile_context) filter (action = 'alloc') as compile_context,
        min(number) filter (action = 'free_requested') as requested,
        min(ts) filter (action = 'free_requested') as ts_requested,
        min(number) filter (action = 'free_completed') as completed,
        min(ts) filter (action = 'free_completed') as ts_completed,
        arg_min(stack_id, number) filter (action <> 'alloc') as free_stack_id
    from touched
    group by device, address, life
),

block as (
    select s.device, b.address, b.bytes, b.requested_bytes, b.state, b.stack_id, s.stream, s.segment_id
    from allocator_block as b
    inner join allocator_segment as s using (segment_id)
    where b.state <> 'inactive'
),

-- a history can leave out actions (skip_actions)
told as (
    select
        exists (from allocator_event where action = 'free_requested') as requests,
        exists (from allocator_event where action = 'free_completed') as completions
)

select
    coalesce(l.device, b.device) as device,
    coalesce(l.address, b.address) as address,
    b.segment_id,
    b.bytes,
    coalesce(l.requested_bytes, b.requested_bytes, b.bytes) as requested_bytes,
    coalesce(l.stream, b.stream) as stream,
    l.event,
    l.ts,
    if(l.requested is null and t.completions and not t.requests, l.completed, l.requested) as event_free,
    if(l.requested is null and t.completions and not t.requests, l.ts_completed, l.ts_requested) as ts_free,
    if(l.completed is null and not t.completions, l.requested, l.completed) as event_end,
    if(l.completed is null and not t.completions, l.ts_requested, l.ts_completed) as ts_end,
    coalesce(l.stack_id, b.stack_id) as stack_id,
    l.free_stack_id, l.compile_context, b.state,
    -- neither freed in the history nor there at its end: the history ends before the snapshot, or has lost something
    b.address is null and l.completed is null and (t.completions or l.requested is null) as is_lost
from (
    select *, completed is null and life = max(life) over (partition by device, address) as may_be_there from lived
) as l
full join block as b on b.device = l.device and b.address = l.address and l.may_be_there
cross join told as t;

create or replace temp table _memory_state as
with
change as (
    select device, event as number, ts, requested_bytes as allocated, requested_bytes as active, 0 as reserved from _life where event is not null
    union all
    -- what is completed without a request was requested before the history
    select device, coalesce(event_free, event_end), coalesce(ts_free, ts_end), if(event_free is null and event is null, 0, -requested_bytes), 0, 0
    from _life
    where coalesce(event_free, event_end) is not null
    union all
    select device, event_end, ts_end, 0, -requested_bytes, 0 from _life where event_end is not null
    union all
    select device, number, ts, 0, 0, if(action in ('segment_alloc', 'segment_map'), bytes, -bytes)
    from allocator_event
    where action in ('segment_alloc', 'segment_map', 'segment_free', 'segment_unmap')
),

held as (select device, sum(bytes) as reserved from allocator_segment group by device),

older as (
    select
        device,
        sum(requested_bytes) filter (event is null and (event_free is not null or event_end is null) and state is distinct from 'active_awaiting_free') as allocated,
        sum(requested_bytes) filter (event is null) as active
    from _life
    group by device
),

-- the state before the first event: what is older, and of segments what is there at the end less what came
start as (
    select
        d.device,
        -1 as number,
        (select min(e.ts) from allocator_event as e where e.device = d.device) as ts,
        coalesce(o.allocated, 0) as allocated,
        coalesce(o.active, 0) as active,
        h.reserved - coalesce((select sum(c.reserved) from change as c where c.device = d.device), 0) as reserved
    from (select device from allocator_event union select device from allocator_segment) as d
    left join older as o using (device)
    left join held as h using (device)
),

every as (
    select device, number, min(ts) as ts, sum(allocated) as allocated, sum(active) as active, sum(reserved) as reserved
    from change
    group by device, number
    union all
    from start
)

select
    device, number, ts,
    (sum(allocated) over history)::bigint as allocated,
    (sum(active) over history)::bigint as active,
    (sum(reserved) over history)::bigint as reserved
from every
window history as (partition by device order by number rows unbounded preceding);
