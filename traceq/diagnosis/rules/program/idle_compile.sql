-- Idle time in which the host compiled or loaded code, with the outermost range that says so.
-- confidence: high
-- reason: A range, frame or call of a compiler or loader is open while the GPU is idle.
-- wrong-if: The capture covers the start of the program on purpose: then this is paid once per run.
-- needs: gpu, steps
-- low: 0.5
-- likely: 1.0
-- rest: yes
-- uses: idle_context
-- categories: idle_compile
select step, ts, dur, name, slice_id, claimed, cause, gap_id, context_ns as compile_ns
from idle_context
where cause = 'idle_compile'
