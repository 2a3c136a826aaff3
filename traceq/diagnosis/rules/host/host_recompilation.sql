-- The training thread's time in compiling functions again, in a trace without GPU work.
-- title: Steps compile code again (CPU)
-- finds: Time in which the training thread compiles a later version of a function (torch.compile), in traces without GPU activity.
--   A log of torch.compile beside the trace says which guard failed; without one the trace only shows that steps compile.
-- matters: A recompilation takes from tenths of a second to minutes, and happens again for every new shape, type or Python value that
--   the code was specialized on. After torch._dynamo.config.recompile_limit versions PyTorch gives up and runs the function eagerly.
-- measured: Own time of the training thread (host_time) while the log says that a later version of a frame is compiled
--   (compilation), and 1 % of that around it; without a log, within compilers' ranges in counted steps after the first. Low 1 less
--   the longest compilation, as one for all values remains; likely 1, and half of the time around; high 1.
-- try: TORCH_TRACE=DIR while it is recorded, and --with DIR, say which guard failed. torch._dynamo.mark_dynamic for a dimension that
--   varies; numbers that change as tensors; texts and lists outside of compiled code.
-- references: https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
--   https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html
-- heading: {% if rows %}Do not compile {{ cut(facts.function) }} again ({{ facts.place }}): {% else %}Keep shapes and values
--   fixed, so that nothing is compiled again: {% endif %}{{ percent(claimed_share) }} of {% if subject.is_window %}the
--   window{% else %}a step{% endif %}
-- fix: {% if not rows %}Find out which guard fails: record with `TORCH_TRACE=DIR`, and name the folder with `--with DIR`. {% else
--   %}{% if facts.kind %}{{ guard_advice(facts.kind, facts.source) }} {% if facts.guard_place %}At {{ facts.guard_place }}{%
--   else %}There{% endif %} {{ change(facts.kind, facts.source, facts.expected, facts.actual) }}{% if facts.code %} (`{{
--   cut(facts.code) }}`){% endif %}; {% endif %}{{ cut(facts.function) }} was compiled again {{ plural(facts.versions, 'time')
--   }}. {%- if facts.others > 1 %} The table recompilation has {{ plural(facts.others - 1, 'other guard') }}. {%- endif %}{% if facts.is_refused %} {{ limit_reached() }}{% endif %}{% endif %}
-- confidence: {% if rows %}high{% else %}medium{% endif %}
-- reason: {% if rows %}The log of the compiler names the guard that failed. {%- else %}The compiler's ranges lie in steps that should
--   have nothing left to compile. {%- endif %}
-- wrong-if: The values that change are few, and all of them come in the first steps: then later steps compile nothing.
-- for: pytorch
-- needs: steps, host_alone
-- facts: recompiled_frame
-- low: 1
-- likely: 1
-- threshold: around_share = 0.01: what the interpreter does around a compilation, as looking for the code and freeing memory
-- uses: counted, host_time
with
phase as (
    select log_id, compile_id, min(ts) as ts, max(ts + dur) as ts_end
    from compile_phase
    where trace_id = $trace_id and name = 'dynamo' and dur is not null and ts is not null
    group by log_id, compile_id
),

compiled as (
    select
        c.log_id, c.frame_id, c.dur,
        coalesce(c.function, 'a function') || coalesce(' (' || _short_place(c.file, c.line) || ')', '') as name,
        least(c.ts, coalesce(p.ts, c.ts)) as ts,
        greatest(c.ts + c.dur, coalesce(p.ts_end, c.ts + c.dur)) as ts_end,
        max(c.dur) over (partition by c.log_id, c.frame_id) / sum(c.dur) over (partition by c.log_id, c.frame_id) as longest_share
    from compilation as c
    inner join (
        select distinct log_id, compile_id from step_compilation where trace_id = $trace_id and is_counted
    ) as s using (log_id, compile_id)
    left join phase as p using (log_id, compile_id)
    where c.trace_id = $trace_id and c.frame_compile_id > 0 and c.ts is not null and c.dur > 0
),

logged as (
    select
        p.step, p.ts, p.dur, c.name, p.slice_id,
        least(p.ts + p.dur, c.ts_end + $around_share * c.dur) - p.ts as claimed,
        p.category as cause, p.piece_id as gap_id,
        if(p.ts between c.ts and c.ts_end, 1 - c.longest_share, 0) as goes_low,
        if(p.ts between c.ts and c.ts_end, 1, 0.5) as goes,
        row_number() over (partition by p.piece_id order by c.ts, c.log_id, c.frame_id) as number
    from host_time as p
    inner join compiled as c
        on p.ts >= c.ts - $around_share * c.dur and p.ts < c.ts_end + $around_share * c.dur
),

seen as (
    select
        p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
        1 - max(t.dur) over () / sum(p.dur) over () as goes_low,
        1 as goes
    from host_time as p
    inner join (select step, sum(dur) as dur from host_time where category = 'compile' group by step) as t using (step)
    where
        p.category = 'compile'
        and p.step > (select min(step) from counted)
        and not exists (from compilation where trace_id = $trace_id and ts is not null)
)

select step, ts, dur, name, slice_id, least(claimed, dur) as claimed, cause, gap_id, goes_low, goes
from logged
where number = 1 and claimed > 0
union all
select step, ts, dur, name, slice_id, claimed, cause, gap_id, goes_low, goes
from seen
