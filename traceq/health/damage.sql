-- What a trace says that cannot have happened, and how often: rows (what, count, excuses), none where it is whole. `excuses` are
-- the identities that it breaks: those that take work to start after its launch, and streams to keep their order.
with
of_stream as (
    select
        ts_end,
        max(ts_end) over (
            partition by device, context, stream order by ts, slice_id rows between unbounded preceding and 1 preceding
        ) as busy_until
    from gpu_slice
    where trace_id = $trace_id and stream is not null
),

launched as (
    select g.ts < c.ts as is_before
    from gpu_slice as g
    join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where g.trace_id = $trace_id
),

again as (
    select count(*) - 1 as more
    from cpu_slice
    where trace_id = $trace_id
    group by thread_id, name, ts, dur, kind
    having count(*) > 1
),

found as (
    -- a kernel that is launched early may begin before the one before it ends, and ends after it
    select
        'GPU slices that end while another of their stream runs' as what,
        count(*) filter (ts_end < busy_until) as count,
        ['dependency', 'critical_path', 'replay', 'replay_busy', 'replay_idle'] as excuses
    from of_stream
    union all
    select
        'GPU slices that begin before the call that launched them',
        count(*) filter (is_before),
        ['wait_debt', 'stall_cost', 'dependency', 'critical_path', 'replay', 'replay_busy', 'replay_idle']
    from launched
    union all
    select 'host slices that are there again', coalesce(sum(more), 0), ['idle_culprit_slice'] from again
)

select what, count::bigint as count, excuses from found where count > 0
