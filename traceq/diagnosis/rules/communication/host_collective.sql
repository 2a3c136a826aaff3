-- Idle time in which the host was in a collective or barrier that runs on the host.
-- confidence: high
-- reason: The thread that launches the GPU's next work was inside this call while nothing ran on the GPU.
-- wrong-if: The call waits for a rank that is late anyway: then the next collective waits instead, and that rank is
--   to be mended.
-- needs: gpu, steps
-- low: 0.3
-- likely: 0.8
-- high: 1.0
-- rest: yes
-- uses: idle
-- categories: idle_communication
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id, h.library, h.op, h.bytes,
    c.dur as call_ns
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
left join host_collective as h on h.trace_id = p.trace_id and h.slice_id = p.cpu_slice_id
where p.cause = 'idle_communication'
