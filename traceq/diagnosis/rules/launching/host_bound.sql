-- Idle time in which the host launched, or was inside an operator.
-- confidence: high
-- reason: The calls and operators that the GPU waits for are in the trace.
-- wrong-if: The profiler slows the host down more than it seems: compare the time of a step without it.
-- needs: gpu, steps, calls
-- low: 0.2
-- likely: 0.6
-- high: 1.0
-- rest: yes
-- uses: idle
-- categories: idle_launch
select
    p.step,
    p.ts,
    p.dur,
    regexp_replace(coalesce(o.name, c.name), ', (seq|op_id) = .*', '') as name,
    p.cpu_slice_id as slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
left join cpu_slice as o on o.trace_id = c.trace_id and o.slice_id = if(c.kind = 'op', c.slice_id, c.operator_id)
where p.cause = 'idle_launch'
