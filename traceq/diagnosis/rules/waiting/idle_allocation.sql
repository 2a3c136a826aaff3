-- Idle time in which the host allocates, releases or pins memory.
-- wrong-if: The calls are made once, before training begins.
-- needs: gpu, steps, calls
-- low: 0.2
-- likely: 1.0
-- rest: yes
-- uses: idle
-- categories: idle_allocation
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_allocation'
