-- Idle time in compilation after the first counted step, or in all counted steps when several of them compile.
-- title: Code is recompiled during steps
-- finds: Compilation (torch.compile, Triton, nvFuser, XLA) in steps that should only run compiled code: in counted
--   steps after the first, or in several of them.
-- matters: Compiling takes the host from tenths of a second to minutes, and the GPU waits. It happens again for every
--   new shape, type or Python value that the compiled code was specialized on; after
--   torch._dynamo.config.recompile_limit recompilations PyTorch gives up and runs the function eagerly.
-- measured: The pieces of cause idle_compile (idle_piece) within a range, operator or frame of context compile
--   (host_name). One counted step that compiles is not a repetition when it is the first. Loading of modules is left
--   to lazy-module-loading. At least three counted steps are needed to tell. Low 0.5, likely 1, high 1: with fixed or
--   dynamic shapes all of it disappears, apart from one more compilation of the dynamic version.
-- try: TORCH_LOGS=recompiles says which guard failed, and so does a log of torch.compile (TORCH_TRACE=DIR) beside the trace,
--   --with DIR. Pad or bucket shapes; torch._dynamo.mark_dynamic for a
--   dimension that varies; no changing Python numbers (a step count, a learning rate) in compiled code; warm up with
--   all shapes.
-- references: https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
--   https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html
-- fix: {% set again = ask('recompiled_frame') | first | default(none) -%} {% if again and again.kind %}{{
--   guard_advice(again.kind, again.source) }} {{ cut(again.function or 'A function') }} ({{ again.guard_place or again.place }})
--   was compiled again {{ plural(again.versions, 'time') }}: {{ change(again.kind, again.source, again.expected, again.actual)
--   }}. {%- if again.is_refused %} {{ limit_reached() }}{% endif %} {%- else %}{{ remedy('why_compiled') }} {%- if
--   program.is_pytorch and program.can_compile %} PyTorch's log of it names the guard: record with `TORCH_TRACE=DIR`, and
--   report with `--with DIR`. {%- endif %}{% endif %} Compilation occurs in {{ plural(steps_with_it, 'counted step') }} of {{ steps }}
--   ({{ names(pieces[:3]) }}), up to {{ time(longest_ns) }} at a time. {%- if rows %} The frame {{ cut(facts.name) }}
--   has been compiled {{ facts.version + 1 }} times. {%- endif %}
-- confidence: high
-- reason: The compiler runs, according to its ranges or frames, in steps that should have nothing left to compile.
-- wrong-if: The capture begins before warm-up has ended: capture later steps.
-- heading: Keep shapes fixed: code is recompiled within steps
-- needs: gpu, steps, several_steps
-- captures: host_only, steps, window
-- facts: recompilation_facts
-- low: 0.5
-- likely: 1.0
-- uses: counted, idle_context
-- categories: idle_compile
with
piece as (
    select *
    from idle_context
    where
        cause = 'idle_compile'
        and kind is not null
        and (is_inside or kind not in ('runtime', 'overhead'))
        and not regexp_matches(name, '(?i)autotun|do_bench|benchmark_all_configs')
)

select step, ts, dur, name, slice_id, claimed, cause, gap_id, context_ns as compile_ns
from piece
where
    (select count(distinct step) from piece) > 1
    or step > (select min(step) from counted)
