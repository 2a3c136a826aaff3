-- The traces of the database, the earliest time that anything in each of them has, and what their clocks are ahead of that of their job.
with
clock as (
    select trace_id, median(clock_offset)::bigint as clock_offset
    from job_rank
    group by trace_id
),

earliest as (
    select trace_id, min(ts) as ts
    from (
        select trace_id, ts from trace
        union all
        select trace_id, min(ts) from cpu_slice group by trace_id
        union all
        select trace_id, min(ts) from gpu_slice group by trace_id
        union all
        select trace_id, min(ts) from gpu_annotation group by trace_id
        union all
        select trace_id, min(ts) from synchronization group by trace_id
        union all
        select trace_id, min(ts) from cuda_event group by trace_id
        union all
        select trace_id, min(ts) from counter group by trace_id
        union all
        select trace_id, min(ts) from memory_timeline group by trace_id
        union all
        select trace_id, min(ts) from step group by trace_id
    )
    group by trace_id
)

select
    t.trace_id,
    t.run,
    t.rank,
    t.world_size,
    t.sha256,
    t.utc_origin_ns,
    coalesce(e.ts, 0) as ts,
    coalesce(t.ts + t.dur, e.ts, 0) as ts_end,
    coalesce(s.mean, 0) as step_ns,
    c.clock_offset
from trace as t
left join earliest as e using (trace_id)
left join step_stats as s using (trace_id)
left join clock as c using (trace_id)
order by t.trace_id
