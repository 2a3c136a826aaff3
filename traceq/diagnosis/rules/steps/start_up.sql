-- What the training thread does in a phase of the run (start-up, or the tail), by the innermost slice, most time first.
-- title: Start-up takes most of the run
-- finds: Runs that take longer to start than to do their work: importing modules, creating the GPU context, loading and
--   compiling code, reading files, before the first step or before the analysed window.
-- matters: It makes no step longer, so it does not count as a saving; but for a program that runs briefly and often (a test, a
--   batch job, a server that scales up), it is most of the cost.
-- measured: phase_of_run.start_up over the run, both without the time in which the profiler says it initialises itself: more
--   than half. The training thread's time in it is divided by innermost slice (an OS call within a CUDA call, or within the
--   profiler's own work, is part of that). Switching a profiler on before the steps is not start-up: something that happens
--   only at start-up (initialising the profiler, a CUDA context, loading or compiling code, importing) has to be in it.
-- try: Caches that outlive the process, modules loaded when they are used, a pool of long-lived processes.
-- references: https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html
--   https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#lazy-loading
-- remark: {% if facts.is_starting and share_of(facts.phase_ns - facts.profiler_ns, facts.run_ns - facts.profiler_ns) >
--   least_share -%} {{ time(facts.phase_ns) }} of the captured {{ time(facts.run_ns) }} pass before the {% if subject.is_window
--   %}analysed window{% else %}first step{% endif %} ({{ percent(share_of(facts.phase_ns, facts.run_ns)) }} of the run; {%- if
--   facts.gpu_busy_ns %} a GPU works for {{ time(facts.gpu_busy_ns) }} of it{% else %} no GPU works in it{% endif %}). {%- if
--   facts.profiler_ns %} Initialising the profiler takes {{ time(facts.profiler_ns) }} of that, which a run without it does not
--   have. {%- endif %} At most {{ percent(share_of(facts.phase_ns - facts.profiler_ns, facts.run_ns - facts.profiler_ns)) }} of
--   such a run can be saved here. The main thread: {%- for row in (rows | selectattr('phase_share', 'ge', told_share) |
--   list)[:4] %} {{ row.what }} {%- if row.longest %} (the longest {{ row.longest | cut }}){% endif %} {{
--   percent(row.phase_share) }} {%- if not loop.last %},{% endif %}{% endfor %}. {%- endif %}
-- fix: {% set what = (rows | rejectattr('what', 'equalto', 'the profiler') | first).what -%} {% if what == 'creating the GPU
--   context and allocating' %}Keep the process alive: a pool of workers, or one process for many runs, creates the context only
--   once. `{{ program.words.visible }}` hides GPUs that are not used {%- elif what == 'compiling and loading code' %}{{
--   remedy('keep_compiled') }} {%- elif what == 'importing modules' %}Import modules where they are needed {%- if
--   program.language in ('', 'python') and program.kind not in ('xla', 'tensorrt', 'onnx') %}; `python -X importtime` shows
--   which modules take longest {%- endif %} {%- elif what == 'reading files' %}Read less, or read from a local disk{% if
--   program.is_pytorch %}: safetensors weights are mapped, not parsed (safetensors.torch.load_file(..., device="cuda")){% endif
--   %} {%- elif what == 'the profiler' or what == 'nothing traced' %}The trace does not show what takes that time: {% if
--   program.language == 'python' %}`python -X importtime` shows imports, and {% endif %}{% if program.is_amd %}rocprofv3
--   --sys-trace{% else %}nsys profile --trace=cuda,nvtx,osrt{% endif %} what the thread waits for {%- else %}Keep the process
--   alive for several runs, or keep the result of the longest part between runs {%- endif %}. For a run that takes hours, it
--   does not matter.
-- needs:
-- unknown: {% if facts is defined and not facts.is_starting and share_of(facts.phase_ns, facts.run_ns) > least_share %}nothing
--   in the trace shows that the program was starting up before the steps; the profiler may have been switched on early {%-
--   endif %}
-- settings: phase=start_up
-- threshold: least_share = 0.5: more than half of the run
-- threshold: told_share = 0.05: an activity of less is not what the time goes to
-- remarks: yes
-- captures: every
-- only-with: phase_of_run: trace_id = $trace_id and phase = $phase and (select sum(dur) from phase_of_run where trace_id = $trace_id and phase = $phase) >= $least_share * (select sum(dur) from phase_of_run where trace_id = $trace_id)
with
phase as (
    select sum(dur)::bigint as dur, min(ts) as ts, max(ts + dur) as ts_end, sum(gpu_busy)::bigint as gpu_busy
    from phase_of_run
    where trace_id = $trace_id and phase = $phase
    having count(*) > 0
),

run as (
    select sum(dur)::bigint as dur
    from phase_of_run
    where trace_id = $trace_id
),

slice as (
    select
        c.slice_id, c.parent_id, c.kind, c.name, greatest(c.ts, p.ts) as ts, least(c.ts_end, p.ts_end) as ts_end,
        h.activity, coalesce(around.context, h.context) as context
    from cpu_slice as c
    cross join phase as p
    left join cpu_slice as caller on caller.trace_id = c.trace_id and caller.slice_id = c.parent_id
    left join host_name as h on h.trace_id = c.trace_id and h.kind = c.kind and h.name = c.name
    left join cpu_slice as outer_ on outer_.trace_id = c.trace_id and outer_.slice_id = c.context_id
    left join host_name as around on around.trace_id = c.trace_id and around.kind = outer_.kind and around.name = outer_.name
    where
        c.trace_id = $trace_id
        and c.thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id)
        and c.depth is not null
        and c.ts < p.ts_end
        and c.ts_end > p.ts
        -- how the call works
        and not (c.kind = 'os' and coalesce(caller.kind, '') in ('runtime', 'overhead'))
),

-- What is open inside of each. A range may outlast what was open when it began: for the rest it is inside of what that was in.
inside as (
    with recursive
    part (outer_id, ts, ts_end) as (
        select parent_id, ts, ts_end
        from slice
        where parent_id is not null
        union all
        select o.parent_id, o.ts_end, p.ts_end
        from part as p
        inner join slice as o on o.slice_id = p.outer_id
        where p.ts_end > o.ts_end and o.parent_id is not null
    )

    select o.slice_id, sum(least(p.ts_end, o.ts_end) - p.ts) as dur
    from part as p
    inner join slice as o on o.slice_id = p.outer_id
    group by o.slice_id
),

own as (
    select
        s.name,
        s.ts_end - s.ts - coalesce(i.dur, 0) as dur,
        case
            when s.kind = 'overhead' and s.activity is null then 'the profiler'
            when 'compile' in (s.context, s.activity) then 'compiling and loading code'
            when s.context = 'data' then 'loading data'
            when s.context = 'checkpoint' then 'loading or saving a checkpoint'
            when
                s.activity = 'allocation'
                or s.kind = 'runtime' and regexp_matches(s.name, '^(cuInit|cu(Device|Ctx)|(cuda|hip)(SetDevice|GetDevice|InitDevice|Runtime))')
                then 'creating the GPU context and allocating'
            when s.kind = 'runtime' then 'other runtime calls'
            when s.kind = 'python' and regexp_matches(s.name, 'importlib') then 'importing modules'
            when s.kind = 'os' and regexp_matches(s.name, '^(p?read|readv|f?open|openat|fread|fgets|fstat|stat|mmap|close)') then 'reading files'
            when s.kind = 'os' then 'other calls of the operating system'
            when s.kind = 'op' then 'operators'
            when s.kind = 'python' then 'Python'
            else 'ranges of the program'
        end as what
    from slice as s
    left join inside as i using (slice_id)
),

activity as (
    select what, count(*) as times, sum(dur)::bigint as dur, max_by(name, dur) as longest
    from own
    where dur > 0
    group by what
    union all
    select 'nothing traced', 0, p.dur - coalesce((select sum(dur) from own where dur > 0), 0)::bigint, null
    from phase as p
)

select
    a.what,
    a.dur as total_ns,
    a.dur / nullif(p.dur, 0) as phase_share,
    a.times, a.longest, p.dur as phase_ns, r.dur as run_ns, p.gpu_busy as gpu_busy_ns,
    coalesce((select sum(dur) from activity where what = 'the profiler'), 0)::bigint as profiler_ns,
    exists (
        select what
        from activity
        where what in ('the profiler', 'compiling and loading code', 'creating the GPU context and allocating', 'importing modules')
    ) as is_starting
from activity as a
cross join phase as p
cross join run as r
where a.dur > 0
order by a.dur desc, a.what
