-- What is known of the traces. overhead_share is by how much steps were longer for being recorded, as traceq.profile and traceq record measured
-- it; the two medians are those of steps without and with it. Where no GPU works recording takes no longer than it takes CPU time of the training
-- thread: steps that were longer by more waited for something else, as for a loader whose queue was full at first. Else it is NULL where such
-- a queue (loader_queue batches, NULL otherwise) may have fed most steps without, and they were shorter by more than 5 %. A queue that was full
-- drains slowly where the loader is nearly as fast as the steps: four of them are enough. traceq record says itself whether
-- steps without were in the steady state (is_steady). recorded_ns is how long the profiler says it recorded.
with
said as (
    select
        trace_id,
        try_cast(json_extract_string(args, '/traceq/overhead_share') as double) as overhead_share,
        try_cast(json_extract_string(args, '/traceq/unprofiled_step_ns') as double) as unprofiled_step_ns,
        try_cast(json_extract_string(args, '/traceq/profiled_step_ns') as double) as profiled_step_ns,
        try_cast(json_extract_string(args, '/traceq/profiled_cpu_ns') as double)
        - try_cast(json_extract_string(args, '/traceq/unprofiled_cpu_ns') as double) as longer_cpu_ns,
        try_cast(json_extract_string(args, '/traceq/unprofiled_steps') as bigint) as unprofiled_steps,
        try_cast(json_extract_string(args, '/traceq/is_steady') as boolean) as is_steady,
        try_cast(json_extract_string(args, '/recording/dur_ns') as bigint) as recorded_ns
    from trace
),

-- PyTorch's workers prefetch two batches each where nothing else is said.
queue as (
    select w.trace_id, max(try_cast(w.value as bigint) * coalesce(try_cast(p.value as bigint), 2)) as batches
    from made_with as w
    left join made_with as p
        on p.trace_id = w.trace_id and p.topic = w.topic and p.instance = w.instance and p.name = 'prefetch_factor'
    where w.topic = 'loader' and w.name = 'num_workers'
    group by w.trace_id
),

measured as (
    select
        s.* replace (
            if(isfinite(s.overhead_share), s.overhead_share, null) as overhead_share,
            if(isfinite(s.unprofiled_step_ns), s.unprofiled_step_ns, null) as unprofiled_step_ns,
            if(isfinite(s.profiled_step_ns), s.profiled_step_ns, null) as profiled_step_ns,
            if(isfinite(s.longer_cpu_ns) and d.trace_id is null, greatest(s.longer_cpu_ns, 0), null) as longer_cpu_ns
        ),
        if(coalesce(not s.is_steady, s.overhead_share > 0.05 and s.unprofiled_steps < 4 * q.batches), q.batches, null) as loader_queue
    from said as s
    left join (select distinct trace_id from time_ledger) as d using (trace_id)
    left join queue as q using (trace_id)
)

select
    trace_id, run, path, sha256, size_bytes, format, producer, producer_version, rank, world_size, ts, dur,
    case
        when longer_cpu_ns < profiled_step_ns then least(overhead_share, longer_cpu_ns / (profiled_step_ns - longer_cpu_ns))
        when loader_queue is null then overhead_share
    end as overhead_share,
    unprofiled_step_ns,
    profiled_step_ns,
    if(longer_cpu_ns < profiled_step_ns, null, loader_queue) as loader_queue,
    recorded_ns
from trace
inner join measured using (trace_id)
order by trace_id
