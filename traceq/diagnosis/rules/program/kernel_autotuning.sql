-- Time in which kernels are tried out: in ranges and frames of autotuners, and in convolutions that launch many times as much as
-- they mostly do (cuDNN's search), less what they would launch anyway.
-- title: Kernels are autotuned during steps
-- finds: The search for the fastest kernel in counted steps: torch.backends.cudnn.benchmark trying out convolution
--   algorithms, Triton's and Inductor's autotuners.
-- matters: Every candidate runs, some of them very slowly, with a synchronization after each. Once per shape, that pays off; if
--   shapes change, it happens again and again.
-- measured: Ranges and frames of autotuners (the patterns are in the query), and convolution operators that launch at least 8
--   GPU slices and 4 times as many as the median of their name: cuDNN's search tries from a handful to dozens of algorithms, an
--   ordinary call launches one to three. The claim is idle time that ends with work launched there (idle_piece: compile,
--   launch, sync, allocation, python, launch latency), and the time of the kernels launched there (busy_piece), in convolutions
--   less the usual share. Low 0.5, likely 1, high 1: a kernel chosen by heuristics may be slower than the best one.
-- try: Warm up with all shapes before training and before you measure. If shapes vary, pad them to a few, or set
--   torch.backends.cudnn.benchmark = False; keep Triton's and Inductor's caches between runs.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/backends.html
-- fix: {% if pieces | rejectattr('trials', 'none') | list %}{{ remedy('tune_convolutions') }} {%- else %}{{
--   remedy('tune_before') }} {%- endif %} Tuning occurs in {{ plural(steps_with_it, 'counted step') }} of {{ steps }} and takes
--   {{ time(claimed_ns) }} per step on average ({{ names(pieces[:3]) }}).
-- confidence: {% if pieces | rejectattr('trials', 'none') | list %}medium{% else %}high{% endif %}
-- reason: {% if pieces | rejectattr('trials', 'none') | list %}Inferred from convolutions that launch many times as
--   many kernels as usual.
--   {%- else %}Ranges or frames of an autotuner surround this time.
--   {%- endif %}
-- wrong-if: The capture begins before warm-up has ended: capture later steps.
-- heading: Tune kernels before you measure
-- needs: gpu, steps, launches
-- captures: host_only, steps, window
-- rules-out: operators|python_frames
-- low: 0.5
-- likely: 1.0
-- threshold: trials = 8: cuDNN's search tries from a handful to dozens of algorithms; an ordinary call launches one
--   to three
-- threshold: times = 4: an ordinary call launches one to three kernels, so that four times the median is a search
-- uses: idle, busy, host_slice_name
-- categories: idle_allocation, idle_compile, idle_launch, idle_launch_latency, idle_python, idle_sync
-- only-with: host_slice_name: regexp_matches(name, '(?i)autotun|do_bench|benchmark|triton/testing|torch/_inductor|^aten::((cudnn|miopen)_)?_?convolution')
with
named as (
    select c.slice_id, c.thread_id, c.name, c.ts, c.ts_end, 1.0 as extra_share, null::bigint as trials
    from cpu_slice as c
    inner join (
        select kind, name
        from host_slice_name
        where
            (kind in ('annotation', 'op') and regexp_matches(name, '(?i)autotun|do_bench|benchmark_all_configs'))
            or kind in ('annotation', 'op', 'python') and regexp_matches(name, '(triton/(testing|runtime/autotuner)|torch/_inductor/[\w/]+)\.py\(\d+\): (do_bench\w*|_bench|benchmark\w*|autotune\w*)$')
    ) using (kind, name)
    where c.trace_id = $trace_id
),

operator as materialized (
    select slice_id, thread_id, name, ts, ts_end
    from cpu_slice
    where
        trace_id = $trace_id
        and name in (select name from host_slice_name where regexp_matches(name, '^aten::((cudnn|miopen)_)?_?convolution'))
),

convolution as (
    select o.slice_id, o.thread_id, o.name, o.ts, o.ts_end, count(*) as trials, count(distinct l.name) as calls
    from operator as o
    inner join cpu_slice as l on l.trace_id = $trace_id and l.operator_id = o.slice_id
    inner join gpu_slice as g on g.trace_id = $trace_id and g.launch_id = l.slice_id
    where g.device = $device
    group by o.slice_id, o.thread_id, o.name, o.ts, o.ts_end
),

search as (
    select slice_id, thread_id, name, ts, ts_end, 1 - usual / trials as extra_share, trials
    from (
        select *, median(trials) over (partition by name) as usual
        from convolution
    )
    where trials >= $trials and trials >= $times * usual
),

-- The outermost of them.
tuning as (
    select slice_id, thread_id, name, ts, ts_end, extra_share, trials
    from (
        select
            *,
            max(ts_end) over (
                partition by thread_id order by ts, ts_end desc, slice_id rows between unbounded preceding and 1 preceding
            ) as covered
        from (
            from named
            union all
            from search
        )
    )
    where covered is null or ts >= covered
),

piece as (
    select
        p.step, p.ts, p.dur, p.dur as ledger_dur, p.cause, p.gap_id, null::bigint as busy_id,
        coalesce(l.thread_id, c.thread_id) as thread_id,
        -- what the host was at when it asked for the end of the gap, or when the gap began
        coalesce(l.ts, c.ts) as at
    from idle as p
    left join cpu_slice as l on l.trace_id = p.trace_id and l.slice_id = p.launch_slice_id
    left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
    where
        p.cause in ('idle_compile', 'idle_launch', 'idle_sync', 'idle_allocation', 'idle_python', 'idle_launch_latency')
        and exists (from tuning)
    union all
    select b.step, b.ts, b.dur, b.ledger_dur, b.category, null, b.slice_id, l.thread_id, l.ts
    from busy as b
    inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    where exists (from tuning)
)

select
    p.step, p.ts, p.dur, t.name, t.slice_id,
    p.ledger_dur * t.extra_share as claimed,
    p.cause, p.gap_id, p.busy_id, t.trials
from piece as p
asof inner join tuning as t on t.thread_id = p.thread_id and p.at >= t.ts
where p.at < t.ts_end
