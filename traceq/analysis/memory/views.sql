-- Who holds the memory of a device at its peak, and what the allocator holds that is in no tensor.

create or replace view memory_holder as
select
    a.trace_id,
    a.device,
    a.category,
    a.phase,
    s.owner,
    count(*) as allocations,
    sum(a.requested_bytes)::bigint as bytes,
    max(a.requested_bytes) as largest
from allocation as a
left join allocation_stack as s on s.trace_id = a.trace_id and s.stack_id = a.stack_id
where a.at_peak
group by a.trace_id, a.device, a.category, a.phase, s.owner;
comment on view memory_holder is 'One row per category, phase and line of the program that has memory at the peak of a device: these add up to memory_peak.bytes.';
comment on column memory_holder.trace_id is 'Trace.';
comment on column memory_holder.device is 'Device.';
comment on column memory_holder.category is 'allocation.category; NULL: cannot tell.';
comment on column memory_holder.phase is 'allocation.phase.';
comment on column memory_holder.owner is 'allocation_stack.owner; NULL when no stack is known.';
comment on column memory_holder.allocations is 'Allocations.';
comment on column memory_holder.bytes is 'What they asked for, bytes.';
comment on column memory_holder.largest is 'The largest of them, bytes.';

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
    trace_id,
    device,
    pool,
    kind,
    count(*) as segments,
    sum(reserved)::bigint as reserved,
    sum(active)::bigint as active,
    sum(rounding)::bigint as rounding,
    coalesce(sum(inactive) filter (active = 0), 0)::bigint as free_segments,
    coalesce(sum(inactive) filter (active > 0), 0)::bigint as split_inactive,
    max(largest) as largest_free
from segment
group by trace_id, device, pool, kind;
comment on view memory_fragmentation is 'One row per device, pool and kind of segment: what the allocator held when the snapshot was taken.';
comment on column memory_fragmentation.trace_id is 'Trace.';
comment on column memory_fragmentation.device is 'Device.';
comment on column memory_fragmentation.pool is 'allocator_segment.pool.';
comment on column memory_fragmentation.kind is 'allocator_segment.kind.';
comment on column memory_fragmentation.segments is 'Segments.';
comment on column memory_fragmentation.reserved is 'Their size, bytes.';
comment on column memory_fragmentation.active is 'Blocks in use, bytes.';
comment on column memory_fragmentation.rounding is 'Part of these that nobody asked for, bytes.';
comment on column memory_fragmentation.free_segments is 'Segments of which nothing is in use, bytes: torch.cuda.empty_cache() gives them back.';
comment on column memory_fragmentation.split_inactive is 'Free blocks of segments of which something is in use, bytes: these stay reserved, and only what fits them can use them.';
comment on column memory_fragmentation.largest_free is 'The largest free block, bytes.';
