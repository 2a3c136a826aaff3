-- Where memory ran out in a snapshot, the first device first: what was asked for, what there was, and who held the rest.
-- needs: allocations
-- captures: every
-- remarks: yes
with
-- stacks in which a loss is computed, forward or backward, and in which a tensor is copied into another type
known as (
    select
        stack_id,
        bool_or(regexp_matches(name, '(?i)cross_?entropy|nll_?loss|loss_function|LogSoftmaxBackward')) as is_loss,
        bool_or(regexp_matches(name, '^at::_ops::(_to_copy|to_dtype)')) as is_cast
    from allocator_stack
    where trace_id = $trace_id
    group by stack_id
),

held as (
    select
        b.device,
        arg_max({'bytes': b.requested_bytes, 'owner': s.owner, 'is_cast': coalesce(k.is_cast, false)}, b.requested_bytes) as largest,
        coalesce(sum(b.requested_bytes) filter (b.category in ('activations', 'temporary', 'inputs')), 0)::bigint as scaled_bytes,
        coalesce(sum(b.requested_bytes) filter (b.category = 'activations'), 0)::bigint as activation_bytes,
        coalesce(sum(b.requested_bytes) filter (b.category = 'optimizer'), 0)::bigint as optimizer_bytes,
        coalesce(sum(b.requested_bytes) filter (k.is_loss), 0)::bigint as loss_bytes
    from memory_failure_block as b
    left join allocation_stack as s on s.trace_id = b.trace_id and s.stack_id = b.stack_id
    left join known as k on k.stack_id = b.stack_id
    where b.trace_id = $trace_id
    group by b.device
),

owned as (
    select
        device,
        arg_max({'owner': owner, 'bytes': bytes}, bytes) filter (owner is not null) as first,
        coalesce(sum(bytes) filter (owner is null), 0)::bigint as ownerless_bytes
    from (
        select device, owner, sum(bytes)::bigint as bytes
        from memory_failure_holder
        where trace_id = $trace_id
        group by device, owner
    )
    group by device
)

select
    f.device, f.ts, f.failures, f.bytes as asked_bytes, f.owner as asked_by, f.needed as needed_bytes,
    f.device_free as free_bytes, f.short as short_bytes, f.reserved as reserved_bytes, f.used as used_bytes,
    f.awaiting as awaiting_bytes, f.idle as idle_bytes, f.idle_elsewhere as idle_elsewhere_bytes,
    f.largest_free as largest_free_bytes, f.others as others_bytes, f.is_exact, f.is_expandable,
    case
        when f.short is null or f.reserved is null then 'not known'
        when f.short = 0 then 'limit'
        when f.awaiting >= f.short then 'awaiting'
        when f.idle - f.idle_elsewhere >= f.short then if(coalesce(f.largest_free >= f.bytes, false), 'not known', 'fragmented')
        when f.idle >= f.short then 'elsewhere'
        when f.others >= f.reserved then 'others'
        else 'full'
    end as cause,
    o.first.owner as holder,
    o.first.bytes as holder_bytes,
    coalesce(o.ownerless_bytes, 0) as ownerless_bytes,
    h.largest.bytes as largest_tensor_bytes,
    h.largest.owner as largest_tensor_by,
    coalesce(h.largest.is_cast, false) as is_largest_cast,
    coalesce(h.scaled_bytes, 0) as scaled_bytes,
    coalesce(h.activation_bytes, 0) as activation_bytes,
    coalesce(h.optimizer_bytes, 0) as optimizer_bytes,
    coalesce(h.loss_bytes, 0) as loss_bytes,
    coalesce(k.is_loss, false) as is_loss,
    coalesce(k.is_cast, false) as is_cast,
    coalesce(s.phase in ('forward', 'backward', 'data') or k.is_loss, false) as is_scaled
from memory_failure as f
left join held as h using (device)
left join owned as o using (device)
left join known as k on k.stack_id = f.stack_id
left join allocation_stack as s on s.trace_id = f.trace_id and s.stack_id = f.stack_id
where f.trace_id = $trace_id
order by f.ts, f.device
