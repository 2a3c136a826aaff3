-- Exposed collectives that SyncBatchNorm asks for, forward and backward.
-- uses: busy
-- categories: communication
with
norm as (
    select thread_id, ts, ts_end
    from cpu_slice
    where trace_id = $trace_id and kind in ('op', 'annotation') and starts_with(name, 'SyncBatchNorm')
),

slice as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, l.thread_id, l.ts as launched
    from busy as b
    inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    where b.category = 'communication' and b.ledger_dur > 0
)

select
    s.step, s.ts, s.dur, s.name, s.slice_id, s.ledger_dur as claimed, 'communication' as cause, 'communication_of_ranks' as scenario, s.slice_id as busy_id, c.op, c.bytes,
    c.group_size
from slice as s
asof inner join norm as n on n.thread_id = s.thread_id and s.launched >= n.ts
inner join collective_slice as c on c.trace_id = $trace_id and c.slice_id = s.slice_id
where s.launched < n.ts_end
