-- Gaps that end with a kernel shorter than its launch, in loops of such kernels. Where the host also waits after every few of them,
-- the gaps behind those waits are of the same kind, and whatever the host does until the next launch.
-- title: Too many tiny kernels: launching takes longer than running (launch-bound)
-- finds: Loops of kernels that each take less time on the GPU than the host needs to launch the next, including loops that
--   synchronize after every few of them.
-- matters: The GPU is idle between any two kernels, however fast it is: the step takes as long as the host needs to launch it
--   all. A synchronization after each kernel adds a round trip to the GPU every time.
-- measured: Kernels below 10 us: launching takes 5 to 10 us by itself, and 20 to 50 with an operator of PyTorch around it. The
--   rule applies when at least half of the kernels in the counted steps are this short, there are at least 100, and their
--   median is below the median time from one launch call to the next (otherwise the host is ahead). Claimed are the pieces
--   idle_launch, idle_python, idle_cpu, idle_launch_latency and idle_unattributed (idle_piece: between two calls the host does
--   something that was not recorded) of gaps below 500 us that end with such a kernel and begin before its launch call has
--   returned; in longer gaps the host does something other than launching. Kernels of CUDA graphs are left out. Gaps that a
--   synchronizing call drained are left to the rules about those, unless they make up a quarter of these kernels: then the loop
--   launches and waits in turn, and idle_sync and idle_os count as well. Low 0.3, likely 0.8, high 1: within a graph it still
--   takes 1 to 2 us from one kernel to the next.
-- try: CUDA graphs, torch.compile(mode="reduce-overhead"), fused operators, a larger batch. In your own CUDA program: kernels
--   that do more at once, one cooperative kernel for the loop, no synchronization after each kernel.
-- references: https://docs.pytorch.org/docs/stable/notes/cuda.html
--   https://developer.nvidia.com/blog/cuda-graphs/
--   https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
-- fix: {{ remedy('launch_less') }} {% if worst.is_synchronized %}Remove the synchronization after every few kernels, or read
--   results only every few iterations. {% endif %} {{ percent(worst.tiny_kernels / worst.kernels) }} of {{
--   plural(worst.kernels, 'kernel') }} take less than {{ (tiny_ns / 1000) | round | int }} µs, while launching one takes {{
--   time(worst.launch_ns) }} and the host launches the next one every {{ time(worst.launched_every_ns) }} {%- if
--   worst.is_synchronized %}; {{ '{:,}'.format(worst.synchronized) }} of them start after the host has waited for earlier ones
--   {%- endif %}.
-- confidence: {% if subject.is_window %}medium{% else %}high{% endif %}
-- reason: Kernels, launches and the gaps between them are measured one by one{% if subject.is_window %}, but no steps are
--   marked, so work that happens only once also counts{% endif %}.
-- wrong-if: Launching is slow only because of the profiler, for instance with {{ 'Python stacks or ' if
--   program.launches_from_python }}backtraces: capture without them.
-- heading: {% if worst.is_synchronized %}Launch in one go, and synchronize rarely: too many tiny kernels (launch-bound){% else
--   %}Launch in one go: too many tiny kernels (launch-bound){% endif %}
-- same-fix: fewer-launches
-- made-by: host-preempted, synchronous-loader, too-few-workers, pageable-copy, blocking-copy, item-read, device-synchronize,
--   parameter-offload
-- needs: gpu, steps, launches
-- low: 0.3
-- likely: 0.8
-- high: 1.0
-- threshold: tiny_ns = 10000: launching a kernel takes the host 5 to 10 us by itself, so that shorter ones cannot be
--   launched in time
-- threshold: kernels = 100: fewer in all the counted steps are set-up, no loop
-- threshold: share = 0.5: the larger part of all kernels
-- threshold: longest_ns = 500000: ten times what an operator of PyTorch takes the host (20 to 50 us); in longer gaps
--   it does something else than launching
-- threshold: synchronized_share = 0.25: one wait for every four kernels: the loop launches and waits in turn
-- uses: idle, counted
-- categories: idle_cpu, idle_launch, idle_launch_latency, idle_os, idle_python, idle_sync, idle_unattributed
-- only-with: step_stats: trace_id = $trace_id and (select count(*) from gpu_slice where trace_id = $trace_id and device = $device and kind = 'kernel' and dur < $tiny_ns) >= $share * $kernels
with
kernel as (
    select
        g.slice_id, g.dur, c.dur as call_dur, c.thread_id, c.ts,
        contains(coalesce(c.name, ''), 'Graph') as is_graph
    from gpu_slice as g
    inner join counted using (step)
    left join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where
        g.trace_id = $trace_id
        and g.device = $device
        and g.kind = 'kernel'
        and not g.is_communication
),

gap as (
    select i.gap_id, i.drained_by is not null as is_drained, c.ts_end > i.ts as is_late, k.dur as kernel_ns
    from idle_gap as i
    inner join counted on counted.step = i.step
    inner join kernel as k on k.slice_id = i.next_slice_id
    inner join cpu_slice as c on c.trace_id = i.trace_id and c.slice_id = i.launch_slice_id
    where
        i.trace_id = $trace_id
        and i.device = $device
        and i.dur < $longest_ns
        and k.dur < $tiny_ns
        and not k.is_graph
),

-- Counted steps hold so many kernels, most of them tiny; of these a share waits behind a synchronizing call.
habit as (
    select
        k.kernels, k.tiny_kernels, k.launch_ns, k.launched_every_ns,
        (select count(*) filter (is_drained) from gap) as synchronized,
        (select count(*) filter (is_drained) from gap) >= $synchronized_share * k.tiny_kernels as is_synchronized
    from (
        select
            count(*) as kernels,
            count(*) filter (dur < $tiny_ns and not is_graph) as tiny_kernels,
            median(call_dur) as launch_ns,
            any_value(e.every) as launched_every_ns,
            median(dur) filter (dur < $tiny_ns and not is_graph) as tiny_dur
        from kernel
        cross join (
            select median(every) as every
            from (select ts - lag(ts) over (partition by thread_id order by ts) as every from kernel)
        ) as e
    ) as k
    where k.kernels >= $kernels and k.tiny_kernels >= $share * k.kernels and k.tiny_dur < k.launched_every_ns
)

select
    p.step, p.ts, p.dur, n.name, p.next_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id,
    g.kernel_ns, h.launch_ns, h.launched_every_ns, h.kernels, h.tiny_kernels, h.synchronized, h.is_synchronized,
    if(p.cause = 'idle_unattributed', 'host_unrecorded', p.cause) as scenario
from idle as p
inner join gap as g using (gap_id)
cross join habit as h
inner join gpu_slice as n on n.trace_id = p.trace_id and n.slice_id = p.next_slice_id
where
    g.is_late
    and (
        p.cause in ('idle_launch', 'idle_python', 'idle_cpu', 'idle_launch_latency', 'idle_unattributed') and not g.is_drained
        or h.is_synchronized and p.cause in ('idle_launch', 'idle_python', 'idle_cpu', 'idle_launch_latency', 'idle_sync', 'idle_unattributed', 'idle_os')
    )
