-- Communication with no compute beside it.
-- title: Exposed communication
-- finds: Communication during which the GPU computes nothing, and for which no other rule has a more specific cause.
-- matters: The GPU's arithmetic stands still while bytes move, or while the rank waits for others to arrive.
-- measured: The exposed time of all slices in collective_slice, in the counted steps. low 0, likely 0.3, high 1:
--   compute may not have been ready meanwhile (then the host or the data is what the step waits for), and part is
--   waiting for other ranks. In a trace of several GPUs the one that is in as many collectives for at most 0.75 of the
--   time is named: the others wait for it.
-- try: Start it earlier and wait for it later (async_op=True), on a stream of its own; send less, less often, or
--   together; compare the ranks to see who is late.
-- references: https://docs.pytorch.org/docs/stable/distributed.html
--   https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/index.html
-- fix: {{ remedy('start_early') }} {{ overlapped(facts) }}{{ late_device() }} The longest: {{ cut(worst.name) }}. Put
--   the traces of all ranks into one database (traceq ingest rank*) to see whether it waits for a late rank.
-- confidence: {% if facts.knows_blocking %}medium{% else %}low{% endif %}
-- reason: That the GPU computes nothing meanwhile is measured; whether compute was ready is not, or it was not.
-- wrong-if: Compute was not ready either: then the step waits for the host or the input, and this time changes
--   nothing.
-- heading: Start communication earlier, and wait later
-- needs: gpu, steps
-- about: communication
-- facts: collective_summary
-- low: 0.0
-- likely: 0.3
-- high: 1.0
-- rest: yes
-- uses: busy
-- categories: communication
select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur as claimed, b.category as cause, 'communication_overlap' as scenario, b.slice_id as busy_id, c.op, c.bytes,
    c.group_size, c.overlapped as overlapped_ns, c.blocking as blocking_ns
from busy as b
inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
where b.category = 'communication' and b.ledger_dur > 0
