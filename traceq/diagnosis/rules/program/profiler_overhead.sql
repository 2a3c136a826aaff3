-- Idle time in which the host did the profiler's own work.
-- confidence: high
-- reason: The profiler records this time as its own.
-- wrong-if: The step takes as long without the profiler.
-- needs: gpu, steps
-- low: 1.0
-- rest: yes
-- uses: idle
-- categories: idle_profiler
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_profiler'
