-- Communication with no compute beside it.
-- reason: That the GPU computes nothing meanwhile is measured; whether compute was ready is not, or it was not.
-- wrong-if: Compute was not ready either: then the step waits for the host or the input, and this time changes
--   nothing.
-- needs: gpu, steps
-- about: communication
-- low: 0.0
-- likely: 0.3
-- high: 1.0
-- rest: yes
-- uses: busy
-- categories: communication
select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur as claimed, b.category as cause, 'communication_of_ranks' as scenario, b.slice_id as busy_id, c.op, c.bytes,
    c.group_size, c.overlapped as overlapped_ns, c.blocking as blocking_ns
from busy as b
inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
where b.category = 'communication' and b.ledger_dur > 0
