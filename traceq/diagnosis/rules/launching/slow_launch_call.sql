-- Idle time within launching calls of kernels that take many times as long as a launch does, less what a launch takes here anyway.
-- title: Launch calls take far longer than a launch should
-- finds: Calls that launch one kernel (cudaLaunchKernel and similar) and take many times as long as they should, while the GPU
--   waits for that very kernel.
-- matters: A launch takes about 5 us. One that takes hundreds is waiting for something: a driver lock held by another thread
--   (allocation, a second launching thread), memory, a CPU core that the thread lost, or the profiler.
-- measured: Idle time (idle_piece, cause idle_launch) within the launch call that ends the gap, less the median duration of
--   such calls, when the call takes more than 50 us (the limit of Holistic Trace Analysis) and more than 4 times the median.
--   Calls that find 1,000 launches queued are left out (launch_state.queue_depth): a full queue makes them wait, and the GPU
--   has work. So are graph launches, which take longer, and the very first launch if it takes less than 1 ms, in which the
--   profiler starts. Low 0.3, likely 1, high 1: the trace does not say what they waited for.
-- try: One launching thread per process and as many CPU cores as launching threads; no cudaMalloc or cudaFree at the same time;
--   pinning threads to cores of the GPU's NUMA node. nsys --trace=osrt and --sample=process-tree show locks and lost cores.
-- references: https://github.com/facebookresearch/HolisticTraceAnalysis
--   https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- fix: Find out what the slow launch calls wait for. {{ plural(occurrences, 'launch call') }} {% if occurrences == 1 %}waits{%
--   else %}wait{% endif %}: {{ worst.name }} usually takes {{ time(worst.usual_ns) }}, but up to {{ time(worst.call_ns) }}
--   here. {% if has('os_calls') %}Look at system calls and at other threads at these times. {%- elif program.is_amd
--   %}`rocprofv3 --sys-trace -- PROGRAM` shows what other threads call at these times. {%- else %}{{ way('locks', 'Capture
--   system calls, and when threads lose their core.') }} {%- endif %} If it is locks, launch from one thread and keep
--   allocation out of the steps; if the thread lost its core, {{ remedy('threads') }}.
-- confidence: medium
-- reason: The calls are in the trace; what holds them up is not.
-- wrong-if: The calls take this long only with the profiler: compare the time of a step without it.
-- heading: Find out what delays launch calls: locks, or a lost core
-- needs: gpu, steps, launches
-- low: 0.3
-- likely: 1.0
-- threshold: slow_ns = 50000: the limit of Holistic Trace Analysis; a launch takes 5 to 10 us
-- threshold: full = 1000: the queue of a stream holds 1,024 launches: calls that find it full wait, and the GPU has
--   work
-- uses: idle, counted, first_launch
-- categories: idle_launch
with
usual as (
    select median(c.dur) as dur
    from gpu_slice as g
    inner join counted using (step)
    inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where g.trace_id = $trace_id and g.device = $device and g.kind = 'kernel'
),

slow as (
    select
        p.step, p.ts, p.dur, c.name, c.slice_id, p.cause, p.gap_id,
        c.dur as call_ns, u.dur as usual_ns, t.queue_depth,
        least(i.ts_end, c.ts_end) - greatest(i.ts, c.ts) as inside_ns
    from idle as p
    inner join idle_gap as i using (trace_id, gap_id)
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.launch_slice_id
    inner join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.next_slice_id
    left join launch_state as t on t.trace_id = p.trace_id and t.slice_id = p.next_slice_id
    cross join usual as u
    where
        p.cause = 'idle_launch'
        and c.dur > greatest($slow_ns, 4 * u.dur)
        and g.kind = 'kernel'
        and regexp_matches(c.name, 'Launch(Cooperative)?Kernel')
        and coalesce(t.queue_depth, 0) < $full
        and c.slice_id not in (from first_launch)
)

select step, ts, dur, name, slice_id, least(dur, inside_ns - usual_ns) as claimed, cause, gap_id, call_ns, usual_ns, queue_depth
from slow
where inside_ns > usual_ns
