-- The training thread's time in compiling functions for the first time, in a trace without GPU work.
-- title: Steps compile code for the first time (CPU)
-- finds: Time in which the training thread compiles (torch.compile) in counted steps, later versions of a function left aside, in
--   traces without GPU activity.
-- matters: It is paid once per run, and again in each process and after each restart where no cache on disk has the graphs; a short
--   job, or a capture of its begin, consists mostly of it.
-- measured: Own time of the training thread (host_time) within compilers' ranges, those of later versions left to
--   host-recompilation. Where a log of torch.compile says what caches on disk had: what the backend takes of graphs that they had
--   not is what a filled cache wins, low 0.7 and likely 0.97 of it (reading and loading remain), and high all that compiles. Without a log:
--   low 0, likely 0.5, high 1.
-- try: Keep TORCHINDUCTOR_CACHE_DIR on a disk that outlives the run, or torch.compiler.save_cache_artifacts() and
--   load_cache_artifacts(). Compile the block that repeats instead of the whole model. Compile before the steps that are measured.
-- references: https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html
--   https://docs.pytorch.org/tutorials/recipes/regional_compilation.html
-- heading: {% if facts.misses %}Fill the compiler's cache before: {% else %}Compile before the steps that count: {% endif %}{{
--   percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %} {%- if facts.place %}, most in
--   {{ cut(facts.function) }} ({{ facts.place }}){% endif %}
-- fix: {% if facts.bypassed %}Caches on disk are off ({{ cut(facts.reason or 'force_disable_caches') }}): leave out
--   TORCHINDUCTOR_FORCE_DISABLE_CACHES, or `force_disable_caches` in the program. {% elif facts.misses %}{{ plural(facts.misses,
--   'graph') }} {{ 'was' if facts.misses == 1 else 'were' }} in no cache: keep TORCHINDUCTOR_CACHE_DIR on a disk that outlives the
--   run, or carry `save_cache_artifacts()` of the compiler to the next. {% else %}Call the compiled code once with every shape
--   before the steps that count. {% endif %}It takes {{ per_step(claimed_ns) }}.
-- confidence: {% if facts.misses %}high{% else %}medium{% endif %}
-- reason: {% if facts.misses %}The log of the compiler says what its caches had. {%- else %}The compiler's ranges are in the trace,
--   what its caches had is not. {%- endif %}
-- wrong-if: The capture covers the start of the program on purpose: then this is paid once per run.
-- for: pytorch
-- needs: steps, host_alone
-- facts: compiled_first
-- low: 1
-- likely: 1
-- uses: host_time
with
compiled as (
    select
        c.log_id, c.compile_id, c.frame_compile_id,
        coalesce(c.function, 'a function') || coalesce(' (' || _short_place(c.file, c.line) || ')', '') as name,
        c.ts, c.ts + c.dur as ts_end, c.dur, c.backend_ns,
        not exists (
            from compile_cache as k
            where k.trace_id = c.trace_id and k.log_id = c.log_id and k.compile_id = c.compile_id and k.outcome = 'hit'
        ) as is_cold
    from compilation as c
    where c.trace_id = $trace_id and c.ts is not null and c.dur > 0
),

piece as (
    select
        p.*, c.name as function, c.frame_compile_id, c.is_cold,
        c.backend_ns / c.dur as backend_share
    from host_time as p
    asof left join compiled as c on p.ts >= c.ts
    where p.category = 'compile' or p.ts < c.ts_end
)

select
    step, ts, dur, coalesce(function, name) as name, slice_id, dur as claimed, category as cause, piece_id as gap_id,
    case when function is null then 0 when is_cold then 0.7 * backend_share else 0 end as goes_low,
    case when function is null then 0.5 when is_cold then least(0.97 * backend_share, 1) else 0.5 end as goes
from piece
where coalesce(frame_compile_id, 0) = 0
