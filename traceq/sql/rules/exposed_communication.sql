-- Communication with no compute beside it.
select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur as claimed, b.category as cause, 'communication_of_ranks' as scenario, b.slice_id as busy_id, c.op, c.bytes,
    c.group_size, c.overlapped as overlapped_ns, c.blocking as blocking_ns
from busy_piece as b
inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
where b.trace_id = $trace_id and b.device = $device and b.category = 'communication' and b.ledger_dur > 0
