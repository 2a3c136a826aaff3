-- overhead_share and the two medians are what traceq.profile measured; recorded_ns is how long the profiler says it recorded.
with
measured as (
    select
        trace_id,
        try_cast(json_extract_string(args, '/traceq/overhead_share') as double) as overhead_share,
        try_cast(json_extract_string(args, '/traceq/unprofiled_step_ns') as double) as unprofiled_step_ns,
        try_cast(json_extract_string(args, '/traceq/profiled_step_ns') as double) as profiled_step_ns,
        try_cast(json_extract_string(args, '/recording/dur_ns') as bigint) as recorded_ns
    from trace
)

select
    trace_id, run, path, sha256, size_bytes, format, producer, producer_version, rank, world_size, ts, dur,
    case when isfinite(overhead_share) then overhead_share end as overhead_share,
    case when isfinite(unprofiled_step_ns) then unprofiled_step_ns end as unprofiled_step_ns,
    case when isfinite(profiled_step_ns) then profiled_step_ns end as profiled_step_ns,
    recorded_ns
from trace
inner join measured using (trace_id)
order by trace_id
