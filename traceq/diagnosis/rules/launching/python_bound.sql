-- Idle time in which the host was in Python, or in a range between operators.
-- confidence: medium
-- wrong-if: The thread waits there for something that was not traced, such as a lock or another process.
-- needs: gpu, steps
-- rules-out: annotations|python_frames
-- low: 0.2
-- likely: 0.7
-- rest: yes
-- uses: idle
-- categories: idle_python
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_python'
