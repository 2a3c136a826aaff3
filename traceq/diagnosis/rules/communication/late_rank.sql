-- Waiting for other ranks: what a collective took longer here than on the rank that needed least, which came last. Durations alone
-- are compared, so that clocks need not agree; traces count as of one job when run and size of the world agree and every rank is there once.
-- uses: busy, matched_collective
-- categories: communication
-- threshold: most = 0.5: of all waiting: who causes less is not the late rank
-- threshold: worth = 0.01: what is worth listing at all (WORTH_LISTING)
-- threshold: explains = 0.25: of the waiting: a cause that is smaller does not explain it
select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    -- taken to transfer alone as long as the last rank does: the least that can have been waiting
    b.ledger_dur - s.shortest as claimed,
    'communication' as cause, 'communication' as scenario, b.slice_id as busy_id, s.late_rank, s.late_trace,
    s.ranks, s.op, c.bytes, s.shortest as shortest_ns
from busy as b
inner join matched_collective as s on s.trace_id = b.trace_id and s.slice_id = b.slice_id
inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
where
    b.category = 'communication'
    and s.ranks > 1
    and s.apart < 60000000000
    and b.ledger_dur > s.shortest
