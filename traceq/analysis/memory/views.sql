-- Who holds the memory of a device at its peak, and what the allocator holds that is in no tensor.

--: One row per category, phase and line of the program that has memory at the peak of a device: these add up to
--: memory_peak.bytes.
create or replace view memory_holder as
select
    --: Trace.
    a.trace_id,
    --: Device.
    a.device,
    --: allocation.category; NULL: cannot tell.
    a.category,
    --: allocation.phase.
    a.phase,
    --: allocation_stack.owner; NULL when no stack is known.
    s.owner,
    --: Allocations.
    count(*) as allocations,
    --: What they asked for, bytes.
    sum(a.requested_bytes)::bigint as bytes,
    --: The largest of them, bytes.
    max(a.requested_bytes) as largest
from allocation as a
left join allocation_stack as s on s.trace_id = a.trace_id and s.stack_id = a.stack_id
where a.at_peak
group by a.trace_id, a.device, a.category, a.phase, s.owner;

--: One row per device, pool and kind of segment: what the allocator held when the snapshot was taken.
create or replace view memory_fragmentation as
with
segment as (
    select
        s.trace_id,
        s.segment_id,
        any_value(s.device) as device,
        any_value(s.pool) as pool,
        any_value(s.kind) as kind,
        any_value(s.bytes) as reserved,
        coalesce(sum(b.bytes) filter (b.state <> 'inactive'), 0) as active,
        coalesce(sum(b.bytes - b.requested_bytes) filter (b.state <> 'inactive'), 0) as rounding,
        coalesce(sum(b.bytes) filter (b.state = 'inactive'), 0) as inactive,
        coalesce(max(b.bytes) filter (b.state = 'inactive'), 0) as largest
    from allocator_segment as s
    left join allocator_block as b on b.trace_id = s.trace_id and b.segment_id = s.segment_id
    group by s.trace_id, s.segment_id
)

select
    --: Trace.
    trace_id,
    --: Device.
    device,
    --: allocator_segment.pool.
    pool,
    --: allocator_segment.kind.
    kind,
    --: Segments.
    count(*) as segments,
    --: Their size, bytes.
    sum(reserved)::bigint as reserved,
    --: Blocks in use, bytes.
    sum(active)::bigint as active,
    --: Part of these that nobody asked for, bytes.
    sum(rounding)::bigint as rounding,
    --: Segments of which nothing is in use, bytes: torch.cuda.empty_cache() gives them back.
    coalesce(sum(inactive) filter (active = 0), 0)::bigint as free_segments,
    --: Free blocks of segments of which something is in use, bytes: these stay reserved, and only what fits them can
    --: use them.
    coalesce(sum(inactive) filter (active > 0), 0)::bigint as split_inactive,
    --: The largest free block, bytes.
    max(largest) as largest_free
from segment
group by trace_id, device, pool, kind;

-- The last event in which memory ran out, by device, and what the allocator held at that moment. Blocks that were released since
-- have no size in the file: it is what was asked for, in the allocator's units of 512 bytes. Segments are asked for in units, too.

--: One row per allocation that is there when memory runs out for the last time on a device of a memory snapshot.
create or replace view memory_failure_block as
with
failure as (
    select trace_id, device, max(number) as number, count(*) as failures
    from allocator_event
    where action = 'oom'
    group by trace_id, device
)

select
    --: Trace.
    f.trace_id,
    --: Device.
    f.device,
    --: allocator_event.number of the failure.
    f.number,
    --: allocation.allocation_id.
    a.allocation_id,
    --: Where it starts.
    a.address,
    --: Size of its block, bytes; at least so much of a block that is not there at the end.
    coalesce(a.bytes, 512 * ((greatest(a.requested_bytes, 1) + 511) // 512))::bigint as bytes,
    --: What was asked for, bytes.
    a.requested_bytes,
    --: allocation.category.
    a.category,
    --: Stack that asked for it; NULL when none is known.
    a.stack_id,
    --: Whether the program has released it, and another stream may still use it.
    coalesce(a.event_free < f.number, false) as is_awaiting
from failure as f
inner join allocation as a using (trace_id, device)
where coalesce(a.event, -1) < f.number and coalesce(a.event_end, f.number) >= f.number;

--: One row per device of a memory snapshot on which memory ran out: the last time, and what was held then.
create or replace view memory_failure as
with
failure as (
    select
        e.trace_id,
        e.device,
        max(e.number) as number,
        count(*) as failures,
        arg_max(e.ts, e.number) as ts,
        arg_max(e.bytes, e.number) as bytes,
        arg_max(coalesce(e.device_free, -1), e.number) as device_free,
        arg_max(coalesce(e.stream, -1), e.number) as stream,
        arg_max(coalesce(e.stack_id, -1), e.number) as stack_id
    from allocator_event as e
    where e.action = 'oom'
    group by e.trace_id, e.device
),

later as (
    select
        f.trace_id,
        f.device,
        count(e.number) filter (e.action <> 'snapshot') as events,
        coalesce(
            sum(
                case
                    when e.action in ('segment_alloc', 'segment_map') then e.bytes
                    when e.action in ('segment_free', 'segment_unmap') then -e.bytes
                end
            ),
            0
        ) as reserved
    from failure as f
    left join allocator_event as e on e.trace_id = f.trace_id and e.device = f.device and e.number > f.number
    group by f.trace_id, f.device
),

held as (
    select trace_id, device, sum(bytes) as reserved, bool_or(is_expandable) as is_expandable
    from allocator_segment
    group by trace_id, device
),

block as (
    select
        trace_id,
        device,
        sum(requested_bytes) as used,
        sum(bytes) as active,
        sum(bytes) filter (is_awaiting) as awaiting
    from memory_failure_block
    group by trace_id, device
),

-- of each address what came next: a segment that is released was there, one that is asked for was not
next_of_segment as (
    select
        f.trace_id, f.device, e.address,
        arg_min(e.action, e.number) as action,
        arg_min(e.bytes, e.number) as bytes,
        arg_min(e.stream, e.number) as stream
    from failure as f
    inner join allocator_event as e on e.trace_id = f.trace_id and e.device = f.device and e.number > f.number
    where e.action in ('segment_alloc', 'segment_free')
    group by f.trace_id, f.device, e.address
),

segment as (
    select f.trace_id, f.device, s.address, s.bytes, s.stream, s.pool, s.kind
    from failure as f
    inner join later as l using (trace_id, device)
    inner join allocator_segment as s using (trace_id, device)
    left join next_of_segment as n on n.trace_id = s.trace_id and n.device = s.device and n.address = s.address
    -- a segment that grows is as it was only where nothing came later
    where n.address is null and (not s.is_expandable or l.events = 0)
    union all
    select n.trace_id, n.device, n.address, n.bytes, n.stream, null as pool, null as kind
    from next_of_segment as n
    where n.action = 'segment_free'
),

edge as (
    select trace_id, device, address, address as address_end from segment
    union all
    select trace_id, device, address, address + bytes from memory_failure_block
    union all
    select trace_id, device, address + bytes, address + bytes from segment
),

stretch as (
    select
        trace_id,
        device,
        max(address_end) over earlier as address,
        address - max(address_end) over earlier as bytes
    from edge
    window earlier as (
        partition by trace_id, device order by address, address_end rows between unbounded preceding and 1 preceding
    )
),

free_block as (
    select
        s.trace_id, s.device, s.bytes,
        -- a request is served from the pool of its size, and its own stream and pool
        coalesce(g.stream = f.stream, true) and coalesce(g.pool = '0.0', true) as is_usable,
        coalesce((g.kind = 'small') = (f.bytes <= 1048576), true) as is_of_size
    from stretch as s
    inner join failure as f using (trace_id, device)
    asof inner join segment as g on g.trace_id = s.trace_id and g.device = s.device and s.address >= g.address
    where s.bytes > 0 and s.address < g.address + g.bytes
),

free as (
    select
        trace_id,
        device,
        max(bytes) filter (is_usable and is_of_size) as largest,
        coalesce(sum(bytes) filter (not is_usable), 0) as elsewhere
    from free_block
    group by trace_id, device
),

told as (
    select
        f.*,
        case
            when f.bytes <= 1048576 then 2097152
            when f.bytes < 10485760 then 20971520
            else 2097152 * ((f.bytes + 2097151) // 2097152)
        end as needed,
        if(p.most_reserved is null, null, h.reserved - l.reserved) as reserved,
        b.used, b.active, b.awaiting,
        coalesce(h.is_expandable, false) as is_expandable,
        r.largest,
        coalesce(r.elsewhere, 0) as elsewhere,
        l.events = 0 as is_exact,
        d.memory_bytes as capacity
    from failure as f
    inner join later as l using (trace_id, device)
    left join memory_peak as p using (trace_id, device)
    left join held as h using (trace_id, device)
    left join block as b using (trace_id, device)
    left join free as r using (trace_id, device)
    left join device as d using (trace_id, device)
)

select
    --: Trace.
    t.trace_id,
    --: Device.
    t.device,
    --: allocator_event.number of the failure.
    t.number,
    --: When, ns; NULL where events have no times.
    t.ts,
    --: How often memory ran out in the history.
    t.failures,
    --: What was asked for, bytes, in the allocator's units of 512.
    t.bytes,
    --: allocation_stack.owner of who asked.
    s.owner,
    --: The segment that the allocator asked the device for, bytes: 2 MiB for up to 1 MiB, 20 MiB for less than 10 MiB,
    --: else a multiple of 2 MiB.
    t.needed::bigint as needed,
    --: What the device had left then, bytes.
    nullif(t.device_free, -1) as device_free,
    --: needed less device_free, bytes; 0 where the device had enough: a limit of the process, then. NULL where
    --: device_free is not known.
    if(t.device_free < 0, null, greatest(t.needed - t.device_free, 0))::bigint as short,
    --: What the allocator held then, bytes; NULL when segments and events contradict each other.
    t.reserved::bigint as reserved,
    --: What allocations that were there had asked for, bytes.
    coalesce(t.used, 0)::bigint as used,
    --: Blocks of it that the program had released, and another stream might still use, bytes.
    coalesce(t.awaiting, 0)::bigint as awaiting,
    --: Reserved and in no block, bytes; where not is_exact, at most so much. NULL as reserved.
    if(t.reserved is null, null, greatest(t.reserved - coalesce(t.active, 0), 0))::bigint as idle,
    --: Part of idle in segments of other streams or pools, which the request could not use, bytes.
    if(t.reserved is null, null, least(t.elsewhere, greatest(t.reserved - coalesce(t.active, 0), 0)))::bigint as idle_elsewhere,
    --: The longest free stretch of the others, bytes; where not is_exact, at most so much. NULL where none is known.
    if(t.reserved is null, null, t.largest)::bigint as largest_free,
    --: Whether the snapshot shows the state at that moment: nothing came later.
    t.is_exact,
    --: Whether segments can grow (expandable_segments).
    t.is_expandable,
    --: Memory of the device that was neither reserved nor free: other processes, the CUDA context, NCCL, bytes; NULL
    --: where the size of the device is not known.
    if(t.device_free < 0 or t.reserved is null or t.capacity is null, null, greatest(t.capacity - t.reserved - t.device_free, 0))::bigint as others,
    --: Stack that asked; NULL when none was recorded.
    nullif(t.stack_id, -1) as stack_id
from told as t
left join allocation_stack as s on s.trace_id = t.trace_id and s.stack_id = t.stack_id;

--: One row per line of the program and category that has memory when memory runs out: these add up to
--: memory_failure.used.
create or replace view memory_failure_holder as
select
    --: Trace.
    b.trace_id,
    --: Device.
    b.device,
    --: allocation_stack.owner; NULL when no stack is known.
    s.owner,
    --: allocation.category; NULL: cannot tell.
    b.category,
    --: Allocations.
    count(*) as allocations,
    --: What they asked for, bytes.
    sum(b.requested_bytes)::bigint as bytes,
    --: The largest of them, bytes.
    max(b.requested_bytes) as largest
from memory_failure_block as b
left join allocation_stack as s on s.trace_id = b.trace_id and s.stack_id = b.stack_id
group by b.trace_id, b.device, s.owner, b.category;
