-- Idle time in which code was loaded onto the GPU: in calls that do, and in slow first launches of kernels, which do it inside.
-- title: CUDA modules are loaded during steps
-- finds: Calls that load modules or libraries of kernels (cuModuleLoadData, cuLibraryLoadData, nsys' "Lazy Function Loading"
--   and "Runtime Triggered Module Loading"), and first launches of kernels that take many times as long as a normal launch.
-- matters: By default a kernel is loaded when it is first used (CUDA_MODULE_LOADING=LAZY): the first launch of each takes
--   milliseconds, may wait until the GPU is idle, and delays what follows.
-- measured: The pieces of cause idle_compile whose call loads and is in no compilation (idle_piece), and the idle time within
--   the launch call (idle_launch) of a kernel whose name was not seen before, when the call takes at least 100 us: a launch
--   takes 5 to 10 us, with a profiler up to 50; except the very first launch if it takes less than 1 ms, in which the profiler
--   starts. Work that was launched before such a call and has not started during it counts as well (idle_launch_latency of 100
--   us and more): loading a kernel may need the GPU to be idle. Low 0.5, likely 1, high 1.
-- try: Run the step once with every shape before you measure (warm-up), including parts that run rarely (evaluation).
--   CUDA_MODULE_LOADING=EAGER (AMD: HIP_ENABLE_DEFERRED_LOADING=0) loads everything at the start, at the cost of start-up time
--   and memory.
-- references: https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html
-- fix: Run everything once, with every shape, before you measure, including rarely used parts (evaluation, logging). Or set {{
--   remedy('eager_loading') }}, which loads all code at the start. {% if steps == 1 %}The {% if subject.is_window %}trace{%
--   else %}step{% endif %} has {{ plural(occurrences, 'such wait') }} {%- else %}{{ steps_with_it }} of {{ steps }} counted
--   steps {% if steps_with_it == 1 %}loads{% else %}load{% endif %} code {%- endif %}, {{ time(longest_ns) }} at worst ({{
--   names(pieces[:3]) }}).
-- confidence: {% if pieces | selectattr('is_named') | list %}high{% else %}medium{% endif %}
-- reason: {% if pieces | selectattr('is_named') | list %}The trace shows the calls that load modules. {%- else %}Inferred from
--   first launches of kernels in the trace that take at least {{ slow_ns // 1000 }} µs. {%- endif %}
-- wrong-if: The capture begins with the program: then this is paid once, and a warm-up moves it out of the measurement.
-- same-fix: code-loading
-- needs: gpu, steps, calls
-- low: 0.5
-- likely: 1.0
-- threshold: slow_ns = 100000: a launch takes 5 to 10 us, with a profiler up to 50: twice that is loading code
-- uses: idle, first_launch
-- categories: idle_compile, idle_launch, idle_launch_latency
-- heading: Load GPU code before you measure
with
loading as (
    select p.step, p.ts, k.dur, c.name, c.slice_id, k.dur as claimed, p.cause, p.gap_id, true as is_named
    from idle as p
    inner join idle_culprit as k using (trace_id, gap_id, cause)
    inner join cpu_slice as c on c.trace_id = k.trace_id and c.slice_id = k.slice_id
    where
        p.cause = 'idle_compile'
        and c.context_id is null
        and c.kind in ('runtime', 'overhead')
        and not contains(c.name, 'Launch')
),

slow as (
    select p.step, p.ts, p.dur, p.cause, p.gap_id, c.slice_id, g.name, g.ts as started, g.device, least(g.ts, c.ts_end) - greatest(i.ts, c.ts) as inside_dur
    from idle as p
    inner join idle_gap as i using (trace_id, gap_id)
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.launch_slice_id
    inner join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.next_slice_id
    where
        p.cause = 'idle_launch'
        and c.dur >= $slow_ns
        and g.kind = 'kernel'
        and regexp_matches(c.name, 'Launch(Cooperative)?Kernel')
),

first_start as (
    select name, min(ts) as started
    from gpu_slice
    where trace_id = $trace_id and device = $device and name in (select name from slow)
    group by name
),

-- Work that had been launched and did not start while a kernel was loaded: loading may need the GPU to itself.
long_wait as (
    select * from idle where cause = 'idle_launch_latency' and dur >= $slow_ns
),

first_of_kernel as (
    select min_by(launch_id, ts) as slice_id, name
    from gpu_slice
    where trace_id = $trace_id and device = $device and kind = 'kernel' and exists (from long_wait)
    group by name
),

held as (
    select p.step, p.ts, p.dur, k.name, c.slice_id, least(p.ts + p.dur, c.ts_end) - greatest(p.ts, c.ts) as claimed, p.cause, p.gap_id
    from long_wait as p
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.ts < p.ts + p.dur and c.ts_end > p.ts
    inner join first_of_kernel as k using (slice_id)
    where c.dur >= $slow_ns and regexp_matches(c.name, 'Launch(Cooperative)?Kernel')
    -- of several threads that load at once one counts
    qualify row_number() over (partition by p.gap_id, p.cause, p.ts order by claimed desc, c.slice_id) = 1
)

from (select *, null as scenario from loading)
union all
select step, ts, dur, 'first launch of ' || name, slice_id, least(dur, inside_dur), cause, gap_id, false, null
from slow
inner join first_start using (name, started)
where inside_dur > 0 and slice_id not in (from first_launch)
union all
select step, ts, dur, 'first launch of ' || name, slice_id, claimed, cause, gap_id, false, 'idle_compile'
from held
