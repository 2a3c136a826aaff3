-- A host slice starts while its parent runs on the same thread, one deeper than it, and at depth 0 where it has none.
-- Where slices overlap, one that was around a parent when it started may have ended before the child does: no depth then.
select
    child.slice_id,
    case
        when child.parent_id is null then coalesce(child.depth <> 0, false)
        when parent.slice_id is null then true
        else
            parent.thread_id <> child.thread_id
            or child.ts < parent.ts
            or child.ts > parent.ts_end
            or (child.depth is distinct from parent.depth + 1 and not n.overlap)
    end as is_broken,
    'cpu_slice ' || child.slice_id as place
from cpu_slice as child
left join cpu_slice as parent on parent.trace_id = child.trace_id and parent.slice_id = child.parent_id
cross join (
    select count(*) > 0 as overlap
    from import_note
    where trace_id = $trace_id and code = 'overlapping_slices'
) as n
where child.trace_id = $trace_id
