-- Idle time in which the host saved a checkpoint, with the outermost range that says so.
-- confidence: high
-- reason: The range or frame around this time says that it saves.
-- wrong-if: The capture happens to hold a save that a long run makes rarely: then its share of the run is smaller.
-- needs: gpu, steps
-- low: 0.5
-- likely: 1.0
-- rest: yes
-- uses: idle_context
-- categories: idle_checkpoint
select step, ts, dur, name, slice_id, claimed, cause, gap_id, context_ns as save_ns
from idle_context
where cause = 'idle_checkpoint'
