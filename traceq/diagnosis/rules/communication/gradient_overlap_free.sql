-- Time of the backward pass in which compute ran and no communication: what could have hidden some. Communication that overlaps compute
-- is taken to run beside the backward pass.
-- uses: busy, counted
select
    sum(b.ledger_dur) - (
        select coalesce(sum(c.overlapped), 0)
        from collective_slice as c
        inner join counted using (step)
        where c.trace_id = $trace_id and c.device = $device
    ) as free
from busy as b
inner join launch_state as l on l.trace_id = b.trace_id and l.slice_id = b.slice_id
where b.category = 'compute' and l.phase = 'backward'
