-- Idle time with work queued, in pauses of one length, as a GPU has when it works for another process in turn.
-- title: The GPU is shared with another process
-- finds: Pauses of several milliseconds and similar length in which nothing runs on the GPU although work has been launched,
--   before kernels of different names: the GPU switches between processes and gives each a time slice.
-- matters: No change to this program saves that time; with its own GPU, or with the other process under MPS, it is gone. It
--   looks like waiting for the GPU, or like a slow launch, but is neither.
-- measured: Pieces of cause idle_launch_latency (idle_piece) of 1 ms and more: the launch call had already returned, no stream
--   was running anything, and no stream was told to wait. Claimed if there are at least 5, four out of five of them within a
--   quarter of their median, before at least 3 different kernels; not those in which another GPU of the trace works, which the
--   work may wait for, nor those before graphs, whose launch may upload them. Kernels that are interrupted by a switch take
--   longer instead, which does not show here. Low 0: the other process is not in the trace. Likely 1, high 1.
-- try: List the processes on the GPU, and move the others to another one; MPS, which runs kernels of several processes at once;
--   MIG. nsys profile --gpuctxsw=true records the switches.
-- references: https://docs.nvidia.com/deploy/mps/index.html
--   https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- fix: Give the program its own GPU. The trace has {{ plural(instances, 'pause') }} of about {{ time(worst.usual_ns) }} each,
--   with work queued and nothing running on any stream: the GPU takes turns with another process. {% if program.is_amd -%}
--   `amd-smi process` lists the processes on it. {%- else -%} `nvidia-smi` lists the processes on it; a display and its
--   programs count as well. If they have to share it, MPS (`nvidia-cuda-mps-control -d`) runs their kernels at the same time.
--   {%- endif %}
-- confidence: medium
-- reason: The pauses are of equal length, like a scheduler's time slices, and nothing in this program causes them; the other
--   process is not in the trace.
-- wrong-if: No other process uses the GPU while the program runs.
-- heading: Give the program its own GPU: it pauses for another process
-- needs: gpu, steps, launches
-- low: 0.0
-- likely: 1.0
-- high: 1.0
-- threshold: least_ns = 1000000: slices of time on GPUs are milliseconds; a launch takes microseconds
-- threshold: least_pauses = 5: fewer show no pattern
-- threshold: near = 0.25: of the median: the turns of one scheduler are as long each time, but for what the kernel in front still takes
-- threshold: most = 0.8: some of the pauses may have other reasons
-- threshold: least_kernels = 3: what comes before one kernel only is a matter of that kernel
-- uses: idle
-- categories: idle_launch_latency
with
pause as (
    select p.*, g.name
    from idle as p
    inner join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.next_slice_id
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.launch_slice_id
    where
        p.cause = 'idle_launch_latency'
        and p.dur >= $least_ns
        and not contains(c.name, 'GraphLaunch')
        and not exists (
            from gpu_slice as o
            where o.trace_id = p.trace_id and o.device <> p.device and o.ts < p.ts + p.dur and o.ts + o.dur > p.ts
        )
),

usual as (
    select median(dur) as dur
    from pause
),

alike as (
    select p.*, u.dur as usual_ns
    from pause as p
    cross join usual as u
    where abs(p.dur - u.dur) <= $near * u.dur
)

select step, ts, dur, name, next_slice_id as slice_id, dur * _above(usual_ns, $least_ns) as claimed, cause, gap_id, usual_ns
from alike
where
    (select count(*) from alike) >= $least_pauses
    and (select count(*) from alike) >= $most * (select count(*) from pause)
    and (select count(distinct name) from alike) >= $least_kernels
