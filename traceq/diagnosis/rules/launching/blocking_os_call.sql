-- Idle time in which the launching thread was in a call of the operating system.
-- confidence: medium
-- reason: The call is in the trace; why the program makes it is not.
-- wrong-if: The thread has nothing to do then but to wait for work, as a server between requests.
-- needs: gpu, steps, os_calls
-- low: 0.3
-- likely: 1.0
-- rest: yes
-- uses: idle
-- categories: idle_os
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id, c.dur as call_ns
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_os'
