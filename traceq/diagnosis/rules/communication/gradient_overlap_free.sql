-- Time of the backward pass in which compute ran and no communication: what could have hidden some. Communication that overlaps compute
-- is taken to run beside the backward pass.
-- uses: busy, counted
-- threshold: least_hidden = 0.3: assumed; the last bucket is reduced after the backward pass, whatever its size
-- threshold: most_hidden = 0.7: assumed; the first buckets are full when some of the pass is over
-- threshold: unknown_hidden = 0.5: the middle of the two
-- threshold: usual_bucket = 26214400: DDP's default bucket_cap_mb, 25 MiB
-- threshold: few_buckets = 4: a model that is reduced in so few has buckets that wait for much of the backward pass
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
