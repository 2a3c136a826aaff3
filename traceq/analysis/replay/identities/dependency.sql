-- Both ends of an edge are slices of the trace, and its lag is the time between them as recorded.
with
edge as (
    select
        *,
        kind in ('thread', 'hand_over', 'launch') as is_from_call,
        kind not in ('launch', 'stream', 'copy_engine', 'event', 'graph', 'tensor') as is_to_call
    from dependency
    where trace_id = $trace_id
),

recorded as (
    select
        e.kind, e.source_id, e.target_id, e.lag,
        case
            when e.kind = 'launch' then s.ts
            when e.is_from_call then s.ts_end
            when e.kind = 'queue' then w.ts
            else w.ts_end
        end as since,
        case
            when not e.is_to_call then x.ts
            when e.is_from_call then t.ts
            else t.ts_end
        end as until
    from edge as e
    left join cpu_slice as s on e.is_from_call and s.trace_id = $trace_id and s.slice_id = e.source_id
    left join gpu_slice as w on not e.is_from_call and w.trace_id = $trace_id and w.slice_id = e.source_id
    left join cpu_slice as t on e.is_to_call and t.trace_id = $trace_id and t.slice_id = e.target_id
    left join gpu_slice as x on not e.is_to_call and x.trace_id = $trace_id and x.slice_id = e.target_id
)

select
    source_id,
    target_id,
    lag is distinct from until - since as is_broken,
    kind || ' from ' || source_id || ' to ' || target_id as place
from recorded
