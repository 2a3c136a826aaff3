-- Idle time in compilation after the first counted step, or in all counted steps when several of them compile.
-- confidence: high
-- reason: Ranges or frames of the compiler are open in steps that should have nothing left to compile.
-- wrong-if: The capture begins before warm-up has ended: capture later steps.
-- needs: gpu, steps, several_steps
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
